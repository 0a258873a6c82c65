#!/usr/bin/env python3
"""Writes docs/paper.md and docs/paper.svg from what bench/paper/run found.

    page.py FOLDER [RESULTS.json...]     FOLDER has results.json and machine.json; more results are of the same machine, other sizes or ways
"""
import json
import subprocess
import sys
import textwrap
from pathlib import Path

from table import SIZES, Results, lines_of_code

ROOT = Path(__file__).resolve().parents[2]
TITLES = {"kmeans": "k-means", "page_rank": "PageRank", "sky_server": "SkyServer Q18", "black_scholes": "Black-Scholes",
          "tera_sort": "TeraSort", "decision_tree": "decision tree", "bm25": "BM25F"}
ROWS = {"kmeans": "points", "page_rank": "pages", "sky_server": "neighbors", "black_scholes": "options",
        "tera_sort": "records of 100 bytes", "decision_tree": "examples", "bm25": "documents"}
CHECKED = {"kmeans": "numpy, and the distance of each point to its center", "page_rank": "scipy's sparse matrices", "sky_server": "DuckDB",
           "black_scholes": "scipy, in 64-bit numbers", "tera_sort": "numpy's sort of whole records",
           "decision_tree": "scikit-learn's tree by entropy", "bm25": "the formula, word by word, in Python"}
DETAILS = {("kmeans", "small"): "20 dimensions, 10 centers", ("kmeans", "middle"): "20 dimensions, 10 centers",
           ("kmeans", "large"): "40 dimensions, 80 centers", ("decision_tree", "small"): "100 attributes",
           ("decision_tree", "middle"): "1,000 attributes", ("decision_tree", "large"): "100 attributes"}
WAYS = {"cpu": "CPU", "gpu": "GPU", "resident": "resident", "gpu_all": "GPU alone", "resident_all": "resident, GPU alone"}
# Dandelion: a compiler and runtime for heterogeneous systems (SOSP 2013): its speeds are over sequential C#, on machines of its time.
PAPER = {"cpu": "3.1 x", "gpu": "6.1 x", "resident": "over 30 x"}
TO_REACH = {"cpu": 9, "gpu": 12, "resident": 80}


def name(way):
    return WAYS.get(way, f"cluster `{way}`" if ":" in way else way)


def count(program, size, rows):
    detail = DETAILS.get((program, size))
    return f"{rows:,} {ROWS[program]}" + (f", {detail}" if detail else "")


def milliseconds(seconds):
    if seconds is None:
        return ""
    ms = 1e3 * seconds
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 1 else f"{ms:.2f}"


def times(speed):
    return "" if speed is None else f"{speed:.0f} x" if speed >= 100 else f"{speed:.1f} x" if speed >= 1 else f"{speed:.2f} x"


def cell(results, program, size, way, text):
    """With a mark where the library chose the CPU, or an answer is missing."""
    run = results.runs.get((program, size, way))
    if run is None:
        return ""
    if not run["agree"]:
        return "**wrong**" if "query_seconds" in run else "failed"
    return text + (" (C)" if way.startswith(("gpu", "resident")) and run["steps_on_gpu"] == 0 else "")


def times_table(results, size, ways):
    yield "| program | rows | by hand | " + " | ".join(map(name, ways)) + " |"
    yield "|---|---|--:|" + "--:|" * len(ways)
    for p in results.programs(size):
        cells = (cell(results, p, size, w, milliseconds(results.seconds(p, size, w))) for w in ways)
        rows = count(p, size, results.rows.get((p, size), 0))
        yield f"| {TITLES[p]} | {rows} | {milliseconds(results.loop(p, size))} | " + " | ".join(cells) + " |"


def speeds_table(results, size, ways):
    yield "| program | " + " | ".join(map(name, ways)) + " |"
    yield "|---|" + "--:|" * len(ways)
    for p in results.programs(size):
        cells = (cell(results, p, size, w, times(results.speed(p, size, w))) for w in ways)
        yield f"| {TITLES[p]} | " + " | ".join(cells) + " |"
    means = {w: results.mean(size, w) for w in ways}
    all_programs = len(results.programs(size))
    shown = (times(m) + (f" (of {n})" if m and n < all_programs else "") for m, n in means.values())
    yield "| **geometric mean** | " + " | ".join(shown) + " |"
    yield "| the paper's, over sequential C# | " + " | ".join(PAPER.get(w, "") for w in ways) + " |"
    yield "| our goal on 16 cores and one H200 | " + " | ".join(f"{TO_REACH[w]} x" if w in TO_REACH else "" for w in ways) + " |"


def losses(results, size):
    """Sentences about what is slower than the loop, or than the CPU engine."""
    for p in results.programs(size):
        cpu = results.seconds(p, size, "cpu")
        slow = [name(w) for w in ("cpu", "gpu", "resident") if (s := results.speed(p, size, w)) and s < 1]
        if slow:
            yield f"- {TITLES[p]} is slower than the loop: {', '.join(slow)}."
        for w in ("gpu", "resident"):
            seconds = results.seconds(p, size, w)
            if seconds and cpu and seconds > 1.1 * cpu:
                where = "although the library chose the CPU" if results.runs[p, size, w]["steps_on_gpu"] == 0 else "on the GPU"
                yield f"- {TITLES[p]}, {name(w)}: {seconds / cpu:.1f} times the CPU engine's time, {where}."


def refusals(results, size):
    """What `gpu_all` leaves on the CPU, and why."""
    for p in results.programs(size):
        run = results.runs.get((p, size, "gpu_all"))
        for reason in run["not_on_gpu"] if run and "not_on_gpu" in run else []:
            verb, why = reason.split(": cpu: ", 1) if ": cpu: " in reason else (reason, "")
            yield f"| {TITLES[p]} | `{' '.join(verb.split()[1:])}` | {why.removeprefix('not on gpu: ')} |"


def page(results, machine):
    sizes = [s for s in results.sizes() if s in SIZES and s not in ("real", "test")]
    ways = [w for w in ("cpu", "gpu", "resident") if w in results.ways]
    clusters = [w for w in results.ways if ":" in w]
    forced = [w for w in ("gpu_all", "resident_all") if w in results.ways]
    gpu = machine["gpu"].split(",")[0]
    where = f"{machine['cores']} cores of {machine['processor']}" + (f", one {gpu}" if gpu else ", no GPU")
    largest = sizes[0]
    lines = sorted(lines_of_code(p)[0] for p in TITLES)
    out = [f"""# The seven programs of the Dandelion paper

After reading this page, you know how fast seven programs run that are written with this library, and how to run them
yourself. They are the benchmarks of "Dandelion: a compiler and runtime for heterogeneous systems" (SOSP 2013), which
brought LINQ to GPUs and clusters. Each program is one query of {lines[0]} to {lines[-1]} lines, and each is compared with a loop that
is written by hand ([examples/paper](../examples/paper)).

```sh
bench/paper/run --sizes small                       # builds the programs, runs them in all ways, prints a table
bench/paper/run --sizes "large real" --limit 600 page_rank bm25
bench/paper/check                                   # compares answers with those of other libraries
```

Machine: {where}.
All numbers are medians of one run of `bench/paper/run` on {machine['date']}, commit {machine['commit']},
{machine['compiler']}{", CUDA " + machine["cuda"].lstrip("V") if gpu else ""}. `bench/paper/page.py` wrote this page.
{textwrap.fill(machine.get("note", ""), 120)}

## Times, largest sizes

Milliseconds. "By hand" is a loop in one thread. "CPU" is the CPU engine with all cores. "GPU" begins and ends with rows
in host memory. "Resident" begins and ends with rows in GPU memory. (C): the library chose the CPU for all steps.
""", "\n".join(times_table(results, largest, ways)), """
![Times of the seven programs](paper.svg)

## How many times as fast as the loop
""", "\n".join(speeds_table(results, largest, ways)), """
The paper compares with sequential C#, which is slower than the C++ loops here. It also reports 1.6 to 7 times the time
of CUDA written by hand for k-means.
"""]
    lost = list(losses(results, largest))
    out += ["Not everything is faster:\n" if lost else "", "\n".join(lost), ""] if lost else []
    if not gpu:
        out += ["This machine has no GPU, so this page has no figures of GPUs.\n"]
    if forced:
        out += ["## Everything on the GPU\n\nThe same, if the library may not choose the CPU (`gpu_min_rows = 0`).\n",
                "\n".join(list(speeds_table(results, largest, forced))[:-2]), ""]
        refused = list(dict.fromkeys(refusals(results, largest)))
        if refused:
            out += ["These steps have no form for the GPU:\n", "| program | step | reason |\n|---|---|---|", "\n".join(refused), ""]
    for size in sizes[1:]:
        out += [f"## Size `{size}`\n", "\n".join(times_table(results, size, ways + clusters)), "",
                "\n".join(list(speeds_table(results, size, ways + clusters))[:-2]), ""]
    if "real" in results.sizes():
        out += ["""## Real rows

PageRank over Debian's packages and their dependencies, and BM25F over their names, sections and descriptions
([where they are from](../examples/data/README.md#the-packages-of-debian)). Milliseconds.
""", "\n".join(times_table(results, "real", ways)), ""]
    out += ["""## Lines of code

Without records, comments, empty lines and lines of a single bracket. The paper's k-means has 38 lines.

| program | query | loop by hand |
|---|--:|--:|"""]
    out += [f"| {title} | {lines_of_code(p)[0]} | {lines_of_code(p)[1]} |" for p, title in TITLES.items()]
    out += ["""
## Answers

Each run compares the query's answer with the loop's. `bench/paper/check` compares both with other libraries:

| program | checked against |
|---|---|"""]
    out += [f"| {title} | {CHECKED[p]} |" for p, title in TITLES.items()]
    return "\n".join(out) + "\n"


def main():
    folder = Path(sys.argv[1])
    lines = [line for f in (folder / "results.json", *map(Path, sys.argv[2:])) for line in f.read_text().splitlines() if line]
    machine = json.loads((folder / "machine.json").read_text())
    docs = ROOT / "docs"
    (docs / "paper.md").write_text(page(Results(lines), machine))
    subprocess.run([sys.executable, ROOT / "bench" / "plot.py", docs / "paper.md", docs / "paper.svg", "1", "ms", "by hand"], check=True)


if __name__ == "__main__":
    main()
