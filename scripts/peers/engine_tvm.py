"""Apache TVM: the ONNX file through Relax, tuned by MetaSchedule for the budget with weights laid out for it, as TVM's
static_shape_tuning_pipeline documents for CPUs; budget 0 leaves its default schedules."""
import json
import os
import subprocess
import sys

import numpy as np
import tvm
from tvm import relax

TRIALS = 1_000_000  # the budget ends it, not their number


def target(case):
    return tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(),
                              "num-cores": case["threads"]})


def imported(case):
    import onnx
    from tvm.relax.frontend.onnx import from_onnx

    shapes = {name: list(array.shape) for name, array in np.load(case["inputs"]).items()}
    module = from_onnx(onnx.load(case["model"]), shapes, keep_params_in_input=True)
    return relax.frontend.detach_params(module)


def pipeline(case, trials):
    return relax.get_pipeline("static_shape_tuning", total_trials=trials, target=target(case),
                              work_dir=f"{case['work']}/tuning", cpu_weight_prepack=True)


def tune(case):
    """In a process of its own until the budget is over; what was measured is in the database by then, but for a line that
    may be cut."""
    import psutil

    child = subprocess.Popen([sys.executable, __file__, json.dumps(case)])
    try:
        if child.wait(case["budget"]):
            raise RuntimeError(f"tuning ended with exit code {child.returncode}")
    except subprocess.TimeoutExpired:
        for process in (*psutil.Process(child.pid).children(recursive=True), child):
            process.kill()
        child.wait()
    for name in ("workload", "tuning_record"):
        path = f"{case['work']}/tuning/database_{name}.json"
        with open(path, "rb+") as f:
            f.truncate(f.read().rfind(b"\n") + 1)


class Engine:
    def __init__(self, case):
        os.environ["TVM_NUM_THREADS"] = str(case["threads"])
        self.case, self.path = case, f"{case['work']}/model.so"
        self.inputs = dict(np.load(case["inputs"]))

    def prepare(self):
        if self.case["budget"]:
            tune(self.case)
        module, params = imported(self.case)
        module = pipeline(self.case, 0)(module)
        tvm.compile(module, target=target(self.case)).export_library(self.path)
        names = [p.name for p in module["main"].params]
        with open(f"{self.case['work']}/ports.json", "w") as f:
            json.dump(names, f)
        tvm.runtime.save_param_dict_to_file({str(k): p for k, p in enumerate(params["main"])}, f"{self.path}.params")
        return {}

    def load(self):
        loaded = tvm.runtime.load_param_dict_from_file(f"{self.path}.params")
        vm = relax.VirtualMachine(tvm.runtime.load_module(self.path), tvm.cpu())
        with open(f"{self.case['work']}/ports.json") as f:
            names = [n for n in json.load(f) if n in self.inputs]
        weights = vm["main_transform_params"]([loaded[str(k)] for k in range(len(loaded))])
        vm.set_input("main", *(tvm.runtime.tensor(self.inputs[n]) for n in names), *weights)
        self.vm = vm

    def run(self):
        self.vm.invoke_stateful("main")

    def outputs(self):
        import onnx

        made = self.vm.get_outputs("main")
        model = onnx.load(self.case["model"], load_external_data=False)
        made = [made] if isinstance(made, tvm.runtime.Tensor) else list(made)
        return {o.name: value.numpy() for o, value in zip(model.graph.output, made)}


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    os.environ["TVM_NUM_THREADS"] = str(told["threads"])
    pipeline(told, TRIALS)(imported(told)[0])
