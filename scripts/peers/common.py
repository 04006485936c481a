"""What the comparisons with ONNX Runtime share. Imports of onnx and onnxruntime happen in processes of their own: they are
slow, and large."""
import json
import os
import subprocess
import sys


class Failed(Exception):
    """A program said why it could not."""


def run_json(command, seconds=300):
    """What the command prints, which is one JSON object."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"took over {seconds} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Failed(lines[-1] if lines else f"exit code {done.returncode}")
    return json.loads(done.stdout)


def trace(folder, model):
    """All passes of the default pipeline on the model; the last step describes what is run. Sizes of symbolic dimensions
    are gopt's own."""
    return run_json([f"{folder}/gopt", "trace", "--json", "--seconds", "0.005", str(model)])


def sizes(shape):
    """The NAME=SIZE list that gopt prints, as a dictionary."""
    return {name: int(size) for name, size in (part.rsplit("=", 1) for part in shape.split(",") if part)}


def peer(task, model, shape, fill=None):
    """One of the tasks of peer.py, in a process of its own. `fill`: values of inputs that are not all zero, by name."""
    here = os.path.dirname(os.path.abspath(__file__))
    return run_json([sys.executable, f"{here}/peer.py", task, str(model), json.dumps(shape),
                     json.dumps(fill or {})])


def peak_bytes(command):
    """Most memory that the command held at once, as GNU time sees it: a process begins with the peak of whoever started
    it, and time is small."""
    try:
        done = subprocess.run(["time", "-f", "%M", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        raise Failed("needs GNU time (apt install time)") from None
    if done.returncode:
        raise Failed(f"{command[0]} {command[1]}: exit code {done.returncode}")
    return int(done.stderr.split()[-1]) * 1024


def mib(size):
    return "n/a" if size is None else f"{size / 2**20:.1f}"
