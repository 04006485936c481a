"""What bench_peers measures: models with inputs and sizes, and when outputs are the same."""
import hashlib
import json
import tarfile
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import common
import peer

# Error allowed, of an output's largest value; ten times as much of each value, and a hundredth as much in any case.
TOLERANCES = {"float32": 1e-4, "float16": 1e-2, "quantized": 2e-2}


class Case:
    """A model file, what is known of its inputs from files beside it, and what it computes in."""

    def __init__(self, path, data):
        self.path, self.name, self.data = path, path.stem, data
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception as e:  # of protobuf, which has several
            raise common.Failed(f"{path}: no ONNX model: {' '.join(str(e).split())}") from None
        own = {i.name for i in model.graph.initializer}
        self.ports = [i for i in model.graph.input if i.name not in own]
        self.dims = peer.dims_of(model)
        quantized = any("Quantize" in n.op_type or "Integer" in n.op_type for n in model.graph.node)
        self.tolerance = TOLERANCES["quantized" if quantized else "float16" if peer.is_half(model) else "float32"]

    def tell(self, folder):
        """Sizes of symbolic dimensions: those of the data, else those told beside the model, else gopt's proposal."""
        told, beside = {}, self.path.with_name(f"{self.name}.inputs.json")
        if beside.exists():
            told = json.loads(beside.read_text())
        sizes = {name: size for name, size in self.known(told) if name in self.dims}
        if self.dims.keys() - sizes.keys():
            inspected = common.run_json([f"{folder}/gopt", "inspect", "--json", str(self.path)])
            sizes = common.sizes(inspected.get("shape") or "") | sizes
        return {name: sizes.get(name, 1) for name in self.dims}, told

    def known(self, told):
        for spec in told.values():
            yield from ((d.split("=")[0], int(d.split("=")[1])) for d in spec["shape"] if isinstance(d, str))
        for name, places in self.dims.items():
            found = [self.data[i].shape[axis] for i, axis in places if i in self.data]
            if found:
                yield name, max(found)

    def inputs(self, sizes, told):
        """The data where there is some; else normal numbers, and integers within the range told, by the name alone."""
        made = {}
        for port in self.ports:
            if port.name in self.data:
                made[port.name] = self.data[port.name]
                continue
            kind = port.type.tensor_type
            dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
            shape = [d.dim_value if d.dim_value > 0 else sizes[peer.symbol(d, port.name, k)]
                     for k, d in enumerate(kind.shape.dim)]
            random = np.random.default_rng([1, zlib.crc32(port.name.encode())])
            low, high = told.get(port.name, {}).get("integers") or (0, 2)
            values = random.standard_normal(shape) if dtype.kind == "f" else random.integers(low, high, shape)
            made[port.name] = np.asarray(values).astype("U" if dtype == object else dtype)
        return made


def storable(array):
    """Strings as numpy writes them without pickling."""
    return array.astype("U") if array.dtype == object else array


def goldens(folder):
    """Inputs of the models in a folder, from its golden.tar.xz, by model and name."""
    found = {}
    if (folder / "golden.tar.xz").exists():
        with tarfile.open(folder / "golden.tar.xz") as tar:
            for member in tar:
                model, data_set, file = (*Path(member.name).parts, "", "", "")[:3]
                if data_set == "test_data_set_0" and file.startswith("input_"):
                    tensor = onnx.TensorProto.FromString(tar.extractfile(member).read())
                    found.setdefault(model, {})[tensor.name] = storable(numpy_helper.to_array(tensor))
    return found


def find(paths):
    """Cases of files, and of all models in folders; what is no model is left out, and said."""
    files = [f for p in paths for f in (sorted(p.glob("*.onnx")) if p.is_dir() else [p])]
    data = {folder: goldens(folder) for folder in {f.parent for f in files}}
    found = {}
    for f in files:
        try:
            if f.stem in found:
                raise common.Failed(f"{f}: there is another {f.stem}")
            found[f.stem] = Case(f.resolve(), data[f.parent].get(f.stem, {}))
        except common.Failed as e:
            print(f"left out: {e}", flush=True)
    return list(found.values())


def difference(got, want):
    """Largest error, of the largest value, and the largest share of what `tolerance` allows that it takes."""
    if got.shape != want.shape:
        return float("inf"), float("inf")
    if want.dtype.kind not in "fV" or got.dtype.kind not in "fV":
        wrong = float(np.mean(got != want)) if want.size else 0.0
        return wrong, float("inf") if wrong else 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        off = np.where(same, 0.0, np.abs(got - want))
        finite = np.abs(want[np.isfinite(want)])
        largest = finite.max() if finite.size else 0.0
        allowed = largest + 10 * np.abs(want) + 0.01
        share = np.where(same, 0.0, off / allowed)
    share[np.isnan(share)] = np.inf
    return (float(off.max() / largest) if largest else float(off.max())) if off.size else 0.0, float(share.max(initial=0))


def compare(got, want, tolerance):
    """The largest error over the outputs; raises common.Failed when it is more than the tolerance allows."""
    errors = []
    for name, value in want.items():
        if name not in got:
            raise common.Failed(f"wrong: gives no output {name}")
        error, share = difference(got[name], value)
        if share > tolerance:
            raise common.Failed(f"wrong: output {name} is off by {error:.2g} of its largest value")
        errors.append(error)
    return max(errors, default=0.0)


def digest(*paths):
    """Of the files' contents."""
    h = hashlib.sha256()
    for path in paths:
        h.update(Path(path).read_bytes())
    return h.hexdigest()
