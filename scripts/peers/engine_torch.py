"""torch.compile of an export's module, its weights those of the ONNX file: the initializers say which parameter they
are."""
import os
from pathlib import Path

import numpy as np


def parameters(model):
    """The values in the file, by the names of the module's parameters: see fill in export_models."""
    from onnx import numpy_helper

    for tensor in model.graph.initializer:
        if tensor.doc_string:
            name, *flags = tensor.doc_string.split()
            value = numpy_helper.to_array(tensor)
            yield name, value.T if "transposed" in flags else value


class Engine:
    def __init__(self, case):
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{case['work']}/cache"
        import torch

        import torch_models

        self.torch, self.case = torch, case
        torch.set_num_threads(case["threads"])
        name = Path(case["model"]).stem
        if name not in torch_models.MODELS:
            raise RuntimeError("has no definition in torch_models.py")
        self.build, self.ports, _ = torch_models.MODELS[name]
        inputs = np.load(case["inputs"])
        self.inputs = [torch.from_numpy(inputs[port[0]]) for port in self.ports]

    def prepare(self):
        self.load()
        self.run()
        return {}

    def load(self):
        import onnx

        torch = self.torch
        torch._inductor.config.freezing = True
        model, module = onnx.load(self.case["model"]), self.build().eval()
        own = dict(module.named_parameters())
        with torch.no_grad():
            for name, value in parameters(model):
                own[name].copy_(torch.from_numpy(np.array(value)))
        self.names = [o.name for o in model.graph.output]
        self.compiled = torch.compile(module, mode="max-autotune")

    def run(self):
        with self.torch.no_grad():
            self.values = self.compiled(*self.inputs)

    def outputs(self):
        values = self.values if isinstance(self.values, (tuple, list)) else [self.values]
        return {name: value.numpy() for name, value in zip(self.names, values)}
