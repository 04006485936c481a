"""One case of bench_peers, a model with a number of threads: everybody prepared, loaded in fresh processes, checked, and
timed in rounds."""
import random
import shutil

import numpy as np

import common
from cases import compare
from contender import CONTENDERS, Worker

FRESH = 5  # processes for the medians of load time, first inference and memory
PATIENCE = 900  # seconds for anything but tuning


class Contest:
    """What comes of it is `raw`, one entry per contender."""

    def __init__(self, case, told, names, folder, log, setting):
        """`told`: what every engine is told. `log`: what the file names of logs begin with. `setting`: rounds and seconds
        of a block."""
        self.case, self.told, self.log, self.setting = case, told, log, setting
        self.raw = {name: {} for name in names}
        self.folder, self.workers = folder, {}
        self.random = random.Random(f"{case.name} {told['threads']}")

    def alive(self):
        return [name for name, got in self.raw.items() if "failed" not in got]

    def shuffled(self):
        names = self.alive()
        self.random.shuffle(names)
        return names

    def fail(self, name, why):
        self.raw[name]["failed"] = str(why)
        self.stop(name)

    def stop(self, name):
        if name in self.workers:
            self.workers.pop(name).end()

    def ask(self, name, task, seconds=PATIENCE, **more):
        """None when it failed, which is then noted."""
        try:
            return self.workers[name].ask(task, seconds, **more)
        except common.Failed as e:
            self.fail(name, e)
            return None

    def start(self, name):
        self.stop(name)
        work = self.folder / name
        work.mkdir(parents=True, exist_ok=True)
        with open(f"{self.log}.{name}.txt", "ab") as log:
            self.workers[name] = Worker(name, self.told | {"work": str(work)}, log)

    def prepare(self):
        for name in self.raw:
            self.start(name)
            self.raw[name]["prepare"] = self.ask(name, "prepare", PATIENCE + 2 * self.told["budget"])
            self.stop(name)

    def load(self):
        """The last process stays, for the rounds."""
        for _ in range(FRESH):
            for name in self.shuffled():
                self.start(name)
                self.raw[name].setdefault("fresh", []).append(self.ask(name, "load"))

    def check(self):
        """Against the first that gives outputs, ONNX Runtime where it takes part; who is wrong is out."""
        want = None
        for name in sorted(self.alive(), key=lambda n: n != "onnxruntime"):
            path = self.folder / name / "outputs.npz"
            if self.ask(name, "check", path=str(path)) is None:
                continue
            got = dict(np.load(path))
            want = got if want is None else want
            tolerance = CONTENDERS[name][2].get("tolerance", self.case.tolerance)
            try:
                self.raw[name]["error"] = compare(got, want, tolerance)
            except common.Failed as e:
                self.fail(name, e)

    def time(self):
        for _ in range(self.setting["rounds"]):
            for name in self.shuffled():
                answer = self.ask(name, "block", span=self.setting["block"])
                if answer:
                    self.raw[name].setdefault("rounds", []).append(answer["ns"])

    def run(self):
        try:
            self.prepare()
            self.load()
            self.check()
            self.time()
        finally:
            for name in list(self.workers):
                self.stop(name)
        shutil.rmtree(self.folder)
        return self.raw
