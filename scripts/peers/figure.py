"""The figure of bench_peers: speedups over the reference, models sorted, one line per contender with its name at its
end."""
import math
import subprocess

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
APART = 0.05  # of the height, between names

HEAD = """set terminal svg size {width},{height} font 'sans-serif,11' background 'white'
set output '{out}'
set multiplot layout {panels},1
set logscale y
set yrange [{low}:{high}]
set ytics ({ticks})
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set xtics rotate by 45 right font ',9'
set lmargin 16
set rmargin 16
set bmargin 9
unset key
"""


def quoted(text):
    """In a string of gnuplot, marks of its enhanced text taken literally."""
    return text.replace("\\", "").replace("'", "''").replace("_", "\\_")


def spread(ends, low, high):
    """Heights for names near those of the ends, none too near another; as shares of the height."""
    at, floor = {}, -1.0
    for name, y in sorted(ends.items(), key=lambda e: e[1]):
        at[name] = floor = max(math.log(y / low) / math.log(high / low), floor + APART)
    over = max(floor - 1, 0)
    return {name: y - over for name, y in at.items()}


def panel(results, names, reference, low, high):
    """Sorted by what ours gains; a contender that lacks a model leaves a gap."""
    def gain(r):
        s = r.speedup(r.ours(), reference)
        return s[0] if s else math.inf

    ordered = sorted(results, key=gain)
    lines, plots, ends = [], ["1 lc rgb '#888888' dt 2 lw 1"], {}
    for k, name in enumerate(n for n in names if n != reference):
        points = [(x, r.speedup(name, reference)) for x, r in enumerate(ordered)]
        known = [(x, s) for x, s in points if s]
        if not known:
            continue
        block = f"$c{k}"
        lines.append(f"{block} << EOD")
        lines += [f"{x} {s[0]} {s[1]} {s[2]}" if s else "" for x, s in points]
        lines.append("EOD")
        color = COLORS[k % len(COLORS)]
        plots.append(f"{block} using 1:2 with lines lc rgb '{color}' lw 1.5")
        plots.append(f"{block} using 1:2:3:4 with yerrorbars lc rgb '{color}' pt 7 ps 0.5")
        ends[name] = (known[-1][1][0], color)
    lines.append("unset label")
    for name, y in spread({n: e[0] for n, e in ends.items()}, low, high).items():
        lines.append(f"set label '{quoted(name)}' at graph 1.01, graph {y:.4f} tc rgb '{ends[name][1]}'")
    ticks = ", ".join(f"'{quoted(r.model)}' {x}" for x, r in enumerate(ordered))
    lines.append(f"set xtics ({ticks})\nset xrange [-0.5:{len(ordered) - 0.5}]")
    threads = ordered[0].threads
    lines.append(f"set title 'times as fast as {quoted(reference)}, {threads} thread{'s' * (threads > 1)}'")
    return lines + ["plot " + ", ".join(plots)]


def draw(results, names, reference, out):
    """Of the cases with something to compare; False where gnuplot is not installed."""
    results = [r for r in results if any(n != reference and r.speedup(n, reference) for n in names)]
    if not results:
        return True
    values = [s for r in results for n in names if (s := r.speedup(n, reference))]
    low = min([0.8, *(s[1] for s in values)]) / 1.1
    high = max([1.25, *(s[2] for s in values)]) * 1.1
    ticks = [t * 10.0**e for e in range(-4, 5) for t in (1, 2, 5) if low <= t * 10.0**e <= high]
    counts = sorted({r.threads for r in results})
    most = max(sum(r.threads == t for r in results) for t in counts)
    script = [HEAD.format(out=str(out).replace("'", "''"), width=max(600, 280 + 22 * most), height=420 * len(counts),
                          panels=len(counts), low=low, high=high, ticks=", ".join(f"'{t:g}' {t:g}" for t in ticks))]
    for t in counts:
        script += panel([r for r in results if r.threads == t], names, reference, low, high)
    try:
        subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True, capture_output=True)
    except FileNotFoundError:
        return False
    return True
