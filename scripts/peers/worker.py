"""One contender of bench_peers in a process of its own: worker.py ENGINE CASE (JSON). A request is one JSON object per
line of stdin, its answer one per line of stdout: {"failed": why}, or

    {"do": "prepare"}               what need be done once: compile, tune. Answers what the engine tells of it
    {"do": "load"}                  session and first inference: load_ns, first_ns, peak_bytes over what was held before
    {"do": "check", "path": FILE}   the outputs into an .npz
    {"do": "block", "span": S}      some runs to warm up, then samples: ns per inference, each lasting 1 ms or more

ENGINE is engine_ENGINE.py with a class Engine: made from the case, prepare(), load(), run(), outputs() by name."""
import ctypes
import importlib
import json
import os
import signal
import sys
import time

import numpy as np

PR_SET_PDEATHSIG = 1
SAMPLE_NS = 1_000_000
WARM = 0.2  # share of a block


def resident(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def forget_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def prepare(engine):
    begin = time.perf_counter()
    told = engine.prepare()
    return {"wall_s": time.perf_counter() - begin} | told


def load(engine):
    forget_peak()
    before, begin = resident("VmRSS"), time.perf_counter_ns()
    engine.load()
    loaded = time.perf_counter_ns()
    engine.run()
    ran = time.perf_counter_ns()
    return {"load_ns": loaded - begin, "first_ns": ran - loaded, "peak_bytes": resident("VmHWM") - before}


def check(engine, path):
    np.savez(path, **engine.outputs())
    return {}


def repeat(run, times):
    """ns per inference."""
    clock = time.perf_counter_ns
    begin = clock()
    for _ in range(times):
        run()
    return (clock() - begin) / times


def block(engine, span):
    """How long one inference takes shows while warming up, and with it how many a sample needs."""
    run, begin = engine.run, time.perf_counter()
    one, times = repeat(run, 1), 1
    while time.perf_counter() - begin < WARM * span:
        one = repeat(run, times)
        times = max(1, round(SAMPLE_NS / one + 0.5))
    samples = [repeat(run, times)]
    while time.perf_counter() - begin < span:
        samples.append(repeat(run, times))
    return {"ns": samples}


TASKS = {"prepare": prepare, "load": load, "check": check, "block": block}


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # asleep it would not see the end of who started it
    said = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    engine = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if engine is None:
                sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
                engine = importlib.import_module(f"engine_{sys.argv[1]}").Engine(json.loads(sys.argv[2]))
            answer = TASKS[request.pop("do")](engine, **request)
        except Exception as e:  # whatever the peer throws is its answer
            answer = {"failed": " ".join(str(e).split())[:500] or type(e).__name__}
        os.write(said, (json.dumps(answer) + "\n").encode())


main()
