"""The table of bench_peers, as text and as JSON."""
import common
from ratios import geomean, judge


def show(value, form="{:.2f}", scale=1):
    return "n/a" if value is None else form.format(value / scale)


def speedup(s):
    return f"{s[0]:.2f} [{s[1]:.2f}, {s[2]:.2f}]" if s else "n/a"


def aligned(rows):
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))).rstrip()


def label(r):
    return f"{r.model} x{r.threads}"


def latency(results, names, reference):
    """Speedups over the reference, and ours over the quickest peer."""
    rows = [["model x threads", f"{reference} ms", *(n for n in names if n != reference), "ours over best peer"]]
    for r in results:
        best = r.best_peer(r.ours())
        rows.append([label(r), show(r.ns(reference), "{:.3f}", 1e6),
                     *(speedup(r.speedup(n, reference)) for n in names if n != reference),
                     f"{speedup(best[0])} {best[1]}" if best else "n/a"])
    for threads in sorted({r.threads for r in results}):
        some = [r for r in results if r.threads == threads]
        cells = []
        for n in (n for n in names if n != reference):
            values = [s[0] for r in some if (s := r.speedup(n, reference))]
            cells.append(f"{show(geomean(values))} of {len(values)}")
        best = [b[0][0] for r in some if (b := r.best_peer(r.ours()))]
        rows.append([f"geometric mean x{threads}", "", *cells, f"{show(geomean(best))} of {len(best)}"])
    return rows


def costs(results, names):
    """What one has to pay before, and the largest error."""
    rows = [["model x threads", "contender", "load ms", "first ms", "peak MiB", "prepare s", "warm s", "error"]]
    for r in results:
        for n in (n for n in names if r.fresh(n, "load_ns") is not None):
            told = r.got[n]["prepare"]
            once = next((told[k] for k in ("tune_s", "cold_s", "wall_s") if k in told), None)
            rows.append([label(r), n, show(r.fresh(n, "load_ns"), "{:.2f}", 1e6),
                         show(r.fresh(n, "first_ns"), "{:.2f}", 1e6), common.mib(r.fresh(n, "peak_bytes")),
                         show(once, "{:.3f}"), show(told.get("warm_s"), "{:.3f}"), show(r.got[n].get("error"), "{:.1e}")])
    return rows


def verdicts(bars):
    words = {True: "holds", False: "MISSED", None: "unknown"}
    return [[b["what"], show(b["value"], "{:.3g}"), b["bar"], words[b["holds"]]] for b in bars]


def text(results, names, reference):
    failures = [f"{label(r)}: {n}: {got['failed']}" for r in results for n, got in r.got.items() if "failed" in got]
    bars = judge(results)
    held = sum(b["holds"] is True for b in bars)
    parts = [
        f"Speedups over {reference}: medians of ratios paired by round, with 95 % intervals",
        *aligned(latency(results, names, reference)), "",
        "Medians over fresh processes; peak memory of load and first inference, over what the process held before",
        *aligned(costs(results, names)), "",
        "Bars",
        *aligned(verdicts(bars)), "",
        f"{held} hold, {sum(b['holds'] is False for b in bars)} missed, {sum(b['holds'] is None for b in bars)} unknown",
        *(["", "Not timed", *failures] if failures else []),
    ]
    return "\n".join(parts) + "\n"


def data(results, names, reference):
    def figures(r, n):
        best = r.best_peer(n)
        return {"ns": r.ns(n), "speedup": r.speedup(n, reference), "load_ns": r.fresh(n, "load_ns"),
                "first_ns": r.fresh(n, "first_ns"), "peak_bytes": r.fresh(n, "peak_bytes"),
                "prepare": r.got[n].get("prepare"), "error": r.got[n].get("error"), "failed": r.got[n].get("failed"),
                "best_peer": best and {"name": best[1], "speedup": best[0]}}

    cases = [{"model": r.model, "threads": r.threads,
              "contenders": {n: figures(r, n) for n in names if n in r.got}} for r in results]
    return {"reference": reference, "cases": cases, "bars": judge(results)}
