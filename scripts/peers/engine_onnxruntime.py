"""ONNX Runtime as its documents advise for latency: all optimizations, static shapes, threads that spin, and inputs and
outputs bound once."""
import numpy as np
import onnxruntime as ort


def is_plain(port):
    """A tensor of numbers."""
    return port.type.startswith("tensor(") and port.type != "tensor(string)"


class Engine:
    def __init__(self, case):
        self.case = case
        self.inputs = dict(np.load(case["inputs"]))

    def prepare(self):
        return {}  # all it does is done when a session is made

    def load(self):
        o = ort.SessionOptions()
        o.log_severity_level = 4
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        o.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        o.intra_op_num_threads = self.case["threads"]
        o.inter_op_num_threads = 1
        o.add_session_config_entry("session.intra_op.allow_spinning", "1")
        for name, size in self.case["sizes"].items():
            o.add_free_dimension_override_by_name(name, size)
        self.session = ort.InferenceSession(self.case["model"], o, providers=["CPUExecutionProvider"])
        self.names = [p.name for p in self.session.get_outputs() if p.type.startswith("tensor(")]
        self.feed = {p.name: self.inputs[p.name] for p in self.session.get_inputs()}
        self.bound = None
        self.run = self.run_unbound
        if all(map(is_plain, (*self.session.get_inputs(), *self.session.get_outputs()))):
            self.bind()

    def bind(self):
        """Inputs where they lie; outputs where the first run puts them, for their sizes are known only then."""
        self.bound = self.session.io_binding()
        self.owners = [ort.OrtValue.ortvalue_from_numpy(array) for array in self.feed.values()]
        for name, value in zip(self.feed, self.owners):
            self.bound.bind_ortvalue_input(name, value)
        for name in self.names:
            self.bound.bind_output(name)
        self.run = self.run_first

    def run_first(self):
        self.session.run_with_iobinding(self.bound)
        self.values = self.bound.get_outputs()
        self.bound.clear_binding_outputs()
        for name, value in zip(self.names, self.values):
            self.bound.bind_ortvalue_output(name, value)
        session, bound = self.session._sess, self.bound._iobinding  # past the wrapper, which costs a microsecond
        self.run = lambda: session.run_with_iobinding(bound, None)

    def run_unbound(self):
        self.values = self.session.run(self.names, self.feed)

    def outputs(self):
        arrays = [v.numpy() for v in self.values] if self.bound else map(np.asarray, self.values)
        return {name: a.astype("U") if a.dtype == object else a for name, a in zip(self.names, arrays)}
