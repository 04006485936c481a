"""The contenders of bench_peers: what they are, and the worker process of one."""
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import common

CONTENDERS = {  # name: engine_NAME.py, module it needs, what the case tells it besides
    "gopt": ("gopt", None, {}),
    "gopt-tuned": ("gopt", None, {"tuned": True}),
    "gopt-f16": ("gopt", None, {"tuned": True, "precision": "f16", "tolerance": 0.01}),
    "gopt-int8": ("gopt", None, {"tuned": True, "precision": "int8", "tolerance": 0.1}),
    "onnxruntime": ("onnxruntime", "onnxruntime", {}),
    "openvino": ("openvino", "openvino", {}),
    "tvm": ("tvm", "tvm", {}),
    "torch": ("torch", "torch", {}),
}
OURS = ("gopt-tuned", "gopt")  # what is judged, the first that there is
PEERS = tuple(name for name, (engine, _, _) in CONTENDERS.items() if engine != "gopt")


def absent(name):
    """The module that is not installed, or None."""
    module = CONTENDERS[name][1]
    return module if module and not importlib.util.find_spec(module) else None


class Worker:
    """A process that loads and runs one contender, asleep unless asked: a pool that spins would take the others' cores."""

    def __init__(self, name, case, log):
        engine, _, more = CONTENDERS[name]
        here = Path(__file__).resolve().parent
        self.name, self.unread = name, b""
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(here / "worker.py"), engine, json.dumps(case | more)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=log, start_new_session=True)

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def ask(self, task, seconds, **more):
        """The answer; common.Failed says why there is none."""
        self.signal(signal.SIGCONT)
        try:
            self.process.stdin.write((json.dumps({"do": task} | more) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise common.Failed(self.died()) from None
        answer = json.loads(self.line(task, seconds))
        self.signal(signal.SIGSTOP)
        if "failed" in answer:
            raise common.Failed(answer["failed"])
        return answer

    def line(self, task, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise common.Failed(f"{task} took over {seconds:.0f} s")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                raise common.Failed(self.died())
            self.unread += part
        line, self.unread = self.unread.split(b"\n", 1)
        return line

    def died(self):
        code = self.process.wait()
        return f"died of signal {-code}" if code < 0 else f"ended with exit code {code}"

    def end(self):
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
