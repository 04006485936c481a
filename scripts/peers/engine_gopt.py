"""gopt as a deployment sees it: a bundle or manifest, served through gopt.h."""
import ctypes
import os
import subprocess
import time
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int64, c_uint64, c_void_p

import numpy as np

DTYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
          10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}
RANK_MAX = 12


class Err(Structure):
    _fields_ = [("msg", c_char * 512)]


class Tensor(Structure):
    _fields_ = [("dtype", c_int), ("rank", c_int), ("dim", c_int64 * RANK_MAX), ("data", c_void_p)]


class Port(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int), ("rank", c_int), ("dim", c_int64 * RANK_MAX)]


class Usage(Structure):
    _fields_ = [("runs", c_uint64), ("fallbacks", c_uint64), ("refused", c_uint64), ("notice", c_char_p)]


def library(path):
    lib = ctypes.CDLL(path)
    out, model, session, error = POINTER(c_void_p), c_void_p, c_void_p, POINTER(Err)
    for name, kind, arguments in (
            ("model_open", c_int, (out, c_char_p, c_void_p, error)),
            ("model_inputs", c_int, (model, POINTER(POINTER(Port)))),
            ("model_outputs", c_int, (model, POINTER(POINTER(Port)))),
            ("model_usage", None, (model, POINTER(Usage))),
            ("session_new", c_int, (out, model, error)),
            ("session_bind", c_int, (session, c_int, POINTER(Tensor), error)),
            ("session_run", c_int, (session, error)),
            ("session_output", POINTER(Tensor), (session, c_int))):
        function = getattr(lib, f"gopt_{name}")
        function.restype, function.argtypes = kind, arguments
    return lib


def tensor_of(array, dtype):
    """With what owns the data; a string is a pointer."""
    owner = np.array(array, DTYPES[dtype], order="C")
    return Tensor(dtype, array.ndim, (c_int64 * RANK_MAX)(*array.shape), owner.ctypes.data), owner


def array_of(tensor):
    shape = tuple(tensor.dim[:tensor.rank])
    dtype = np.dtype(DTYPES[tensor.dtype])
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(ctypes.string_at(tensor.data, size), dtype).reshape(shape)


class Engine:
    def __init__(self, case):
        self.case, self.work = case, case["work"]
        self.lib = library(case["library"])
        self.inputs = dict(np.load(case["inputs"]))
        tuned = case["budget"] and case.get("tuned")
        self.path = f"{self.work}/tuned/manifest.yaml" if tuned else f"{self.work}/model.gopt"

    # ---- once

    def command(self, program, *more):
        """Seconds it took."""
        shape = ",".join(f"{name}={size}" for name, size in self.case["sizes"].items())
        command = [f"{self.case['bin']}/{program[0]}", *program[1:], self.case["model"], *more]
        command += ["--shape", shape] if shape else []
        env = {**os.environ, "GOPT_CACHE_DIR": f"{self.work}/cache"}
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
            raise RuntimeError(said.replace(f"gopt: {self.case['model']}: ", ""))
        return time.perf_counter() - begin

    def prepare(self):
        precision, threads = self.case.get("precision"), self.case["threads"]
        if self.path.endswith(".yaml"):
            fewer = ["--precision", precision, "--tolerance", str(self.case["tolerance"])] if precision else []
            some = ",".join(str(t) for t in range(1, threads + 1))
            return {"tune_s": self.command(
                ["gopt-tune"], "--budget", f"{self.case['budget']}s", "--threads", some, "--quiet", "--out",
                f"{self.work}/tuned", *fewer)}
        fewer, told = ["--set", f"precision.weights={precision}"] if precision else [], {}
        for cache in ("cold", "warm"):
            told[f"{cache}_s"] = self.command(["gopt", "compile"], "-o", self.path, "--threads", str(threads), *fewer)
        return told

    # ---- served

    def ask(self, name, *arguments):
        e = Err()
        if getattr(self.lib, f"gopt_{name}")(*arguments, byref(e)):
            raise RuntimeError(e.msg.decode())

    def ports(self, which):
        found = POINTER(Port)()
        count = getattr(self.lib, f"gopt_model_{which}")(self.model, byref(found))
        return [(found[k].name.decode(), found[k].dtype) for k in range(count)]

    def load(self):
        self.model, self.session = c_void_p(), c_void_p()
        self.ask("model_open", byref(self.model), self.path.encode(), None)
        self.ask("session_new", byref(self.session), self.model)
        self.kept = []
        for k, (name, dtype) in enumerate(self.ports("inputs")):
            tensor, owner = tensor_of(self.inputs[name], dtype)
            self.ask("session_bind", self.session, k, byref(tensor))
            self.kept.append(owner)

    def run(self):
        if self.lib.gopt_session_run(self.session, None):
            self.ask("session_run", self.session)  # for the message

    def outputs(self):
        usage = Usage()
        self.lib.gopt_model_usage(self.model, byref(usage))
        if usage.notice:
            raise RuntimeError(f"the fallback serves: {usage.notice.decode()}")
        return {name: array_of(self.lib.gopt_session_output(self.session, k)[0])
                for k, (name, dtype) in enumerate(self.ports("outputs")) if dtype in DTYPES}
