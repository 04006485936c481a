"""ONNX Runtime's side of a comparison: peer.py count|time|memory|inputs:FOLDER MODEL SIZES FILL prints one JSON object.
SIZES are those of symbolic dimensions (the D-th of input X is X_dD where it has no name), FILL the values of the inputs
that are not all zero, both as JSON. peer.py survey LIST {} {} prints one for the models that a file names, one a line
with the folder of its data or nothing."""
import json
import os
import sys
import tempfile
import time


def options(ort, shape, level):
    o = ort.SessionOptions()
    o.intra_op_num_threads = 1
    o.log_severity_level = 4
    o.graph_optimization_level = level
    for name, size in shape.items():
        o.add_free_dimension_override_by_name(name, size)
    return o


def session(ort, model, o):
    return ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])


def nodes(graph):
    """With the nodes of bodies."""
    return sum(1 + sum(nodes(a.g) for a in n.attribute if a.HasField("g")) for n in graph.node)


def count(model, shape):
    """Nodes in the file, and after all of ONNX Runtime's optimizations."""
    import onnx
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        o = options(ort, shape, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
        o.optimized_model_filepath = f"{folder}/optimized.onnx"
        session(ort, model, o)
        after = nodes(onnx.load(o.optimized_model_filepath, load_external_data=False).graph)
    return {"before": nodes(onnx.load(model, load_external_data=False).graph), "after": after}


def best_seconds(ort, model, shape, level):
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        session(ort, model, options(ort, shape, level))
        best = min(best, time.perf_counter() - begin)
    return best


def measure_time(model, shape):
    """Seconds that making a session takes longer because it optimizes."""
    import onnxruntime as ort

    level = ort.GraphOptimizationLevel
    return {"seconds": best_seconds(ort, model, shape, level.ORT_ENABLE_ALL)
                       - best_seconds(ort, model, shape, level.ORT_DISABLE_ALL)}


TYPES = {"float": "float32", "double": "float64", "bool": "bool"}


def make_inputs(s, shape, fill):
    import numpy as np

    made = {}
    for i in s.get_inputs():
        name = i.type[len("tensor("):-1]
        dims = [d if isinstance(d, int) else shape.get(d or f"{i.name}_d{k}", 1) for k, d in enumerate(i.shape)]
        made[i.name] = np.full(dims, fill.get(i.name, 0), TYPES.get(name, name))
    return made


def resident(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def measure_memory(model, shape, fill):
    """Most memory while a session is made and run once, less what the process held before."""
    import numpy  # noqa: F401 (counted before)
    import onnxruntime as ort

    before = resident("VmRSS")
    s = session(ort, model, options(ort, shape, ort.GraphOptimizationLevel.ORT_ENABLE_ALL))
    s.run(None, make_inputs(s, shape, fill))
    return {"bytes": resident("VmHWM") - before}


def write_inputs(model, shape, fill, folder):
    import numpy as np
    import onnxruntime as ort

    s = session(ort, model, options(ort, {}, ort.GraphOptimizationLevel.ORT_DISABLE_ALL))
    files = {}
    for k, (name, value) in enumerate(make_inputs(s, shape, fill).items()):
        files[name] = f"{folder}/{k}.npy"
        np.save(files[name], value)
    return files


def symbol(dim, name, axis):
    """What gopt calls a symbolic dimension of an input: one without a name after its place."""
    return dim.dim_param if dim.dim_param not in ("", "?") else f"{name}_d{axis}"


def dims_of(model):
    """Names of symbolic dimensions, each with its places: an input that is no initializer, and an axis."""
    import collections

    own = {i.name for i in model.graph.initializer}
    places = collections.defaultdict(list)
    for i in (v for v in model.graph.input if v.name not in own):
        for axis, d in enumerate(i.type.tensor_type.shape.dim):
            if d.dim_param or d.dim_value <= 0:
                places[symbol(d, i.name, axis)].append((i.name, axis))
    return places


def data_shapes(folder):
    """Shapes of the inputs in a test_data_set_*, by their names."""
    import onnx

    shapes = {}
    for name in os.listdir(folder):
        if name.startswith("input_"):
            with open(f"{folder}/{name}", "rb") as f:
                tensor = onnx.TensorProto.FromString(f.read())
            shapes[tensor.name] = list(tensor.dims)
    return shapes


def is_half(model):
    """Somewhere it computes in 16 bits."""
    from onnx import TensorProto

    half = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
    return (any(i.data_type in half for i in model.graph.initializer)
            or any(v.type.tensor_type.elem_type in half for v in (*model.graph.input, *model.graph.output))
            or any(a.i in half for n in model.graph.node if n.op_type == "Cast" for a in n.attribute))


def look(path, data):
    """Sizes for symbolic dimensions (those of the data, else 2), whether the model computes in 16 bits, nodes that ONNX
    Runtime leaves, None: it cannot load the model."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    shapes = data_shapes(data) if data else {}
    sizes = {}
    for name, places in dims_of(model).items():
        known = [shapes[i][axis] for i, axis in places if len(shapes.get(i, [])) > axis]
        sizes[name] = max(known, default=2)
    try:
        after = count(path, sizes)["after"]
    except Exception:  # whatever it throws
        after = None
    return {"sizes": sizes, "half": is_half(model), "after": after}


def survey(listing, _):
    with open(listing) as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return {path: look(path, data) for path, data in rows}


def main():
    task, model, shape, fill = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
    tasks = {"count": count, "time": measure_time, "survey": survey}
    said = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no part of the answer
    try:
        if task.startswith("inputs:"):
            answer = write_inputs(model, shape, fill, task.split(":", 1)[1])
        elif task == "memory":
            answer = measure_memory(model, shape, fill)
        else:
            answer = tasks[task](model, shape)
    except Exception as e:  # whatever the peer throws is its answer
        sys.exit(" ".join(str(e).split()) or type(e).__name__)
    os.write(said, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
