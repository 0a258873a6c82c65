#!/usr/bin/env python3
"""The table of bench/paper/run: medians in ms, and how many times as fast as the loop by hand.

    table.py RESULTS.json    reads the lines that the programs printed
"""
import json
import math
import sys
from pathlib import Path
from statistics import median

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "paper"


def lines_between(text, begin, end):
    """Lines of code between two marks; comments, empty lines and lines of a single bracket do not count."""
    part = text.split(f"// {begin}\n")[1].split(f"// {end}\n")[0]
    stripped = (line.split("//")[0].strip() for line in part.splitlines())
    return sum(1 for line in stripped if line.strip("{}();"))


def lines_of_code(program):
    text = (PROGRAMS / f"{program}.cpp").read_text()
    return lines_between(text, "query:begin", "query:end"), lines_between(text, "loop:begin", "loop:end")


def engine_of(run):
    return run["cluster"] or run["engine"]


def cell(run, loop):
    if not run:
        return ""
    if not run["agree"]:
        return "**wrong**"
    ms = 1e3 * median(run["query_seconds"])
    placed = " (on the CPU)" if run["engine"] in ("gpu", "resident") and not run["on_gpu"] else ""
    return f"{ms:.1f} ({loop / ms:.2f} x){placed}"


def main():
    runs = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    engines = list(dict.fromkeys(engine_of(r) for r in runs))
    print("ms (times as fast as the loop), medians\n")
    print("| program | size | rows | loop by hand | " + " | ".join(engines) + " | lines: query | loop |")
    print("|---|---|--:|--:|" + "--:|" * (len(engines) + 2))
    speeds = {engine: [] for engine in engines}
    for program, size in dict.fromkeys((r["program"], r["size"]) for r in runs):
        of = {engine_of(r): r for r in runs if (r["program"], r["size"]) == (program, size)}
        loop = 1e3 * median(s for r in of.values() for s in r["loop_seconds"])
        for engine, run in of.items():
            if run["agree"]:
                speeds[engine].append(loop / 1e3 / median(run["query_seconds"]))
        query, by_hand = lines_of_code(program)
        cells = " | ".join(cell(of.get(e), loop) for e in engines)
        print(f"| {program} | {size} | {next(iter(of.values()))['rows']:,} | {loop:.1f} | {cells} | {query} | {by_hand} |")
    means = (f"{math.exp(sum(map(math.log, s)) / len(s)):.2f} x" if s else "" for s in speeds.values())
    print("| geometric mean | | | | " + " | ".join(means) + " | | |")


if __name__ == "__main__":
    main()
