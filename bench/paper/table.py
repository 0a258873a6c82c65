#!/usr/bin/env python3
"""The tables of bench/paper/run: medians in ms, and how many times as fast as the loop by hand.

    table.py RESULTS.json    reads the lines that the programs printed, and prints a table for each size
"""
import json
import math
import sys
from pathlib import Path
from statistics import median

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "paper"
SIZES = ("large", "middle", "small", "test", "real")


def lines_between(text, begin, end):
    """Lines of code between two marks; comments, empty lines and lines of a single bracket do not count."""
    part = text.split(f"// {begin}\n")[1].split(f"// {end}\n")[0]
    stripped = (line.split("//")[0].strip() for line in part.splitlines())
    return sum(1 for line in stripped if line.strip("{}();"))


def lines_of_code(program):
    text = (PROGRAMS / f"{program}.cpp").read_text()
    return lines_between(text, "query:begin", "query:end"), lines_between(text, "loop:begin", "loop:end")


class Results:
    """What one run of bench/paper/run found: seconds by program, size and way."""

    def __init__(self, lines):
        self.runs = {}
        self.loops = {}
        for run in map(json.loads, lines):
            key = run["program"], run["size"]
            self.loops.setdefault(key, []).extend(run["loop_seconds"])
            if run["way"] != "sequential":
                self.runs[key + (run["way"],)] = run
        self.ways = list(dict.fromkeys(way for _, _, way in self.runs))
        self.rows = {(p, s): run["rows"] for (p, s, _), run in self.runs.items()}

    def sizes(self):
        found = dict.fromkeys(size for _, size in self.loops)
        return [s for s in SIZES if s in found] + [s for s in found if s not in SIZES]

    def programs(self, size):
        return [p for p, s in self.loops if s == size]

    def loop(self, program, size):
        return median(self.loops[program, size])

    def seconds(self, program, size, way):
        """Of a right answer, or None."""
        run = self.runs.get((program, size, way))
        return median(run["query_seconds"]) if run and run["agree"] else None

    def speed(self, program, size, way):
        seconds = self.seconds(program, size, way)
        return self.loop(program, size) / seconds if seconds else None

    def mean(self, size, way):
        """Geometric, of the programs that ran; how many those are."""
        speeds = [s for p in self.programs(size) if (s := self.speed(p, size, way))]
        return (math.exp(sum(map(math.log, speeds)) / len(speeds)) if speeds else None), len(speeds)

    def cell(self, program, size, way):
        run = self.runs.get((program, size, way))
        if not run:
            return ""
        if not run["agree"]:
            return "**wrong**" if "query_seconds" in run else "**failed**"
        on_cpu = way.startswith(("gpu", "resident")) and run["steps_on_gpu"] == 0
        placed = " (CPU)" if on_cpu else " (both)" if way in ("gpu", "resident") and run["not_on_gpu"] else ""
        return f"{1e3 * self.seconds(program, size, way):,.1f} ({self.speed(program, size, way):.2f} x){placed}"

    def table(self, size):
        yield "| program | rows | loop by hand | " + " | ".join(self.ways) + " |"
        yield "|---|--:|--:|" + "--:|" * len(self.ways)
        for program in self.programs(size):
            cells = " | ".join(self.cell(program, size, way) for way in self.ways)
            rows = self.rows.get((program, size), 0)
            yield f"| {program} | {rows:,} | {1e3 * self.loop(program, size):,.1f} | {cells} |"
        means = (f"{mean:.2f} x of {n}" if mean else "" for mean, n in (self.mean(size, way) for way in self.ways))
        yield "| geometric mean | | | " + " | ".join(means) + " |"


def main():
    results = Results(Path(sys.argv[1]).read_text().splitlines())
    for size in results.sizes():
        print(f"{size}: ms (times as fast as the loop), medians\n")
        print("\n".join(results.table(size)) + "\n")


if __name__ == "__main__":
    main()
