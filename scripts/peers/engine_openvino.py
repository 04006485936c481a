"""OpenVINO with the latency hint, float32 kept, static shapes, and its cache of compiled models."""
import numpy as np
import openvino as ov
from openvino._pyopenvino import InferRequest


class Engine:
    def __init__(self, case):
        self.case, self.inputs = case, dict(np.load(case["inputs"]))

    def compile(self):
        core = ov.Core()
        model = core.read_model(self.case["model"])
        self.ports = {next(n for n in p.names if n in self.inputs): k for k, p in enumerate(model.inputs)}
        if model.is_dynamic():
            model.reshape({name: list(self.inputs[name].shape) for name in self.ports})
        return core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": self.case["threads"], "CACHE_DIR": f"{self.case['work']}/cache"})

    def prepare(self):
        self.compile()
        return {}

    def load(self):
        compiled = self.compile()
        self.request = compiled.create_infer_request()
        for name, k in self.ports.items():
            self.request.set_input_tensor(k, ov.Tensor(self.inputs[name], shared_memory=True))
        self.names = [p.names for p in compiled.outputs]

    def run(self):
        InferRequest.infer(self.request, {}, True, False)  # past the wrapper, which costs 6 microseconds

    def outputs(self):
        return {name: self.request.get_output_tensor(k).data.copy() for k, names in enumerate(self.names) for name in names}
