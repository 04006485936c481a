"""From the raw samples of bench_peers to ratios, a table and verdicts."""
import math

import numpy as np

from contender import OURS, PEERS

TINY_NS = 200_000  # ONNX Runtime takes less for a tiny net
CLASSES = {  # class: models (None: tiny nets), contender (None: ours), speedup over ONNX Runtime at least
    "BERT-base": (("bert-base",), None, 1.12),
    "MiniLM": (("minilm",), None, 1.3),
    "ResNet-50": (("resnet-50", "light_resnet50"), None, 1.25),
    "MobileNet-like": (("mobilenet-v3", "efficientnet-b0", "openseeface-landmarks0", "ppocr-cls"), None, 1.35),
    "tiny nets": (None, None, 2.5),
    "decode step": (("gpt2-decode", "llama-decode"), None, 1.2),
    "decode step, f16 weights": (("gpt2-decode", "llama-decode"), "gopt-f16", 1.7),
    "decode step, int8 weights": (("gpt2-decode", "llama-decode"), "gopt-int8", 2.5),
}
COMPILES = (("mobilenet-v3", "cold", 1.0), ("bert-base", "cold", 5.0), (None, "warm", 0.1))


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def paired(top, bottom):
    """How many times longer the first takes: median over the rounds, with a 95 % bootstrap interval."""
    logs = np.array([math.log(np.median(a) / np.median(b)) for a, b in zip(top, bottom)])
    random = np.random.default_rng(1)
    medians = np.median(random.choice(logs, (2000, len(logs))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return [math.exp(x) for x in (np.median(logs), low, high)]


class Result:
    """One case: figures by contender, None where one has none."""

    def __init__(self, raw):
        self.model, self.threads, self.got = raw["model"], raw["threads"], raw["contenders"]
        self.timed = [n for n, got in self.got.items() if got.get("rounds") and "failed" not in got]

    def ns(self, name):
        return float(np.median([np.median(r) for r in self.got[name]["rounds"]])) if name in self.timed else None

    def speedup(self, name, over):
        """[median, low, high]"""
        if name not in self.timed or over not in self.timed:
            return None
        return paired(self.got[over]["rounds"], self.got[name]["rounds"])

    def fresh(self, name, what):
        """Median over the fresh processes."""
        got = self.got.get(name, {})
        return float(np.median([f[what] for f in got["fresh"]])) if got.get("fresh") and "failed" not in got else None

    def best_peer(self, name):
        """The peer that is quickest, and the speedup over it."""
        found = [(self.speedup(name, p), p) for p in PEERS if p in self.timed and name in self.timed]
        return min(found, default=None)

    def ours(self):
        return next((n for n in OURS if n in self.timed), None)

    def compiled(self, cache):
        return (self.got.get("gopt", {}).get("prepare") or {}).get(f"{cache}_s")


class Bars:
    """What must hold, each with the figure it is judged by: unknown where nothing was measured."""

    def __init__(self):
        self.rows = []

    def least(self, what, value, bar):
        self.add(what, value, f"at least {bar:g}", value is not None and value >= bar)

    def most(self, what, value, bar):
        self.add(what, value, f"at most {bar:g}", value is not None and value <= bar)

    def add(self, what, value, bar, holds):
        self.rows.append({"what": what, "value": value, "bar": bar, "holds": holds if value is not None else None})


def worst(pairs, pick):
    """The value that is furthest off, and the model it is of."""
    known = [(value, model) for value, model in pairs if value is not None]
    return pick(known, default=(None, "no model"))


def over(results, name=None):
    """Speedups over ONNX Runtime, of ours or of the contender named."""
    found = ((r.speedup(name or r.ours(), "onnxruntime"), r.model) for r in results)
    return [(s[0], model) for s, model in found if s]


def judge_classes(bars, results, suffix):
    for what, (models, name, bar) in CLASSES.items():
        if models:
            some = [r for r in results if r.model in models]
        else:
            some = [r for r in results if (r.ns("onnxruntime") or math.inf) < TINY_NS]
        values = over(some, name)
        bars.least(f"{what}{suffix} ({', '.join(m for _, m in values) or 'no model'})", geomean([v for v, _ in values]),
                   bar)


def ratio(a, b):
    return a / b if a is not None and b is not None else None


def judge_loading(bars, results, suffix):
    """Against every peer on every model."""
    pairs = [(r, p) for r in results for p in PEERS if r.ours()]
    load, model = worst([(ratio(r.fresh(p, "load_ns"), r.fresh(r.ours(), "load_ns")), f"{r.model}, {p}")
                         for r, p in pairs], min)
    bars.least(f"least ratio of load times{suffix} ({model})", load, 10)
    memory, model = worst([(ratio(r.fresh(r.ours(), "peak_bytes"), r.fresh(p, "peak_bytes")), f"{r.model}, {p}")
                           for r, p in pairs], max)
    bars.most(f"largest ratio of memory{suffix} ({model})", memory, 1)


def judge(results):
    bars = Bars()
    for threads in sorted({r.threads for r in results}):
        some = [r for r in results if r.threads == threads]
        suffix = f", {threads} thread" + "s" * (threads > 1)
        speedups = over(some)
        bars.least(f"geometric mean over onnxruntime{suffix}", geomean([v for v, _ in speedups]), 1.5)
        best = [r.best_peer(r.ours()) for r in some]
        bars.least(f"geometric mean over the best peer{suffix}", geomean([b[0][0] for b in best if b]), 1.3)
        least, model = worst(speedups, min)
        bars.least(f"least over onnxruntime{suffix} ({model})", least, 0.98)
        judge_classes(bars, some, suffix)
        judge_loading(bars, some, suffix)
        for model, cache, bar in COMPILES:
            seconds, which = worst([(r.compiled(cache), r.model) for r in some if model in (None, r.model)], max)
            bars.most(f"seconds to compile {model or which}, {cache} cache{suffix}", seconds, bar)
    return bars.rows
