"""ONNX Runtime's side of a comparison: peer.py count|time|memory|symbols|inputs:FOLDER MODEL SIZES FILL prints one JSON
object. SIZES are those of symbolic dimensions (the D-th of input X is X_dD where it has no name), FILL the values of the
inputs that are not all zero, both as JSON."""
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


def symbols(model, shape):
    """Names of symbolic dimensions of the inputs, each with a size of 2."""
    import onnx

    inputs = onnx.load(model, load_external_data=False).graph.input
    return {d.dim_param: shape.get(d.dim_param, 2) for i in inputs for d in i.type.tensor_type.shape.dim if d.dim_param}


def main():
    task, model, shape, fill = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
    tasks = {"count": count, "time": measure_time, "symbols": symbols}
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


main()
