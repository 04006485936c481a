"""What the comparisons with ONNX Runtime share. Imports of onnx and onnxruntime happen in processes of their own: they are
slow, and large."""
import json
import os
import resource
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


def trace(folder, model, shape=None):
    """All passes of the default pipeline on the model; the last step describes what is run. Sizes of symbolic dimensions
    are gopt's own unless given."""
    command = [f"{folder}/gopt", "trace", "--json", "--seconds", "0.005", str(model)]
    if shape:
        command += ["--shape", ",".join(f"{name}={size}" for name, size in shape.items())]
    return run_json(command)


def sizes(shape):
    """The NAME=SIZE list that gopt prints, as a dictionary."""
    return {name: int(size) for name, size in (part.rsplit("=", 1) for part in shape.split(",") if part)}


def peer(task, model, shape):
    """One of the tasks of peer.py, in a process of its own."""
    here = os.path.dirname(os.path.abspath(__file__))
    return run_json([sys.executable, f"{here}/peer.py", task, str(model), json.dumps(shape)])


def peak_bytes(command):
    """Most memory that the command and what it waits for held at once. Never less than this process's own: its memory
    is the command's until that is loaded."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise Failed(f"{command[0]} {command[1]}: exit code {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss * 1024


def own_peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def mib(size):
    return "n/a" if size is None else f"{size / 2**20:.1f}"
