#!/usr/bin/env python3
"""Compares the answers in FOLDER/*.json and prints the times as a Markdown table: medians of the last three rounds.

    table.py FOLDER ROWS THREADS
"""
import json
import math
import statistics
import sys
from importlib.metadata import version
from pathlib import Path

folder, rows, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
PEERS = ["duckdb", "polars", "datafusion"]
runs = {e: {r["question"]: r for r in map(json.loads, (folder / f"{e}.json").read_text().splitlines())} for e in ["query"] + PEERS}


def same(a, b):
    return len(a) == len(b) and all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-6) for x, y in zip(a, b))


wrong = [(q, p) for q, ours in runs["query"].items() for p in PEERS if not same(ours["answer"], runs[p][q]["answer"])]
for question, peer in wrong:
    print(f"{question}: {peer} answers {runs[peer][question]['answer']}, query {runs['query'][question]['answer']}", file=sys.stderr)
processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown processor")
print(f"{rows:,} rows, {threads} threads, {processor}; " + ", ".join(f"{p} {version(p)}" for p in PEERS) + ". Milliseconds.\n")
print("| question | query | " + " | ".join(PEERS) + " | fastest peer / query |")
print("|---|---|" + "---|" * len(PEERS) + "---|")
ratios = {}
for question in runs["query"]:
    ms = {e: statistics.median(runs[e][question]["ms"][1:]) for e in runs}
    ratios[question] = min(ms[p] for p in PEERS) / ms["query"]
    print(f"| {question} | {ms['query']:.1f} | " + " | ".join(f"{ms[p]:.1f}" for p in PEERS) + f" | {ratios[question]:.2f} |")
for what in "q", "j":
    of = [r for q, r in ratios.items() if q.startswith(what)]
    print(f"\nGeometric mean of {what}: {statistics.geometric_mean(of):.2f}, worst {min(of):.2f}")
sys.exit(1 if wrong else 0)
