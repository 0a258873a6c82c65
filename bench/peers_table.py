#!/usr/bin/env python3
"""Compares the answers in FOLDER/*.json and prints the times as a Markdown table: medians of the last three rounds.

    peers_table.py FOLDER ROWS THREADS [PREFIX...]    geometric means of the questions whose names begin so; q and j unless said otherwise
"""
import json
import math
import statistics
import sys
from importlib.metadata import version
from pathlib import Path

folder, rows, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
PEERS = ["duckdb", "polars", "datafusion"]
BY_HAND = ["tbb"] if (folder / "tbb.json").exists() else []
runs = {e: {r["question"]: r for r in map(json.loads, (folder / f"{e}.json").read_text().splitlines())}
        for e in ["query"] + BY_HAND + PEERS}


def same(a, b):
    return len(a) == len(b) and all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-6) for x, y in zip(a, b))


wrong = [(q, p) for q, ours in runs["query"].items() for p in BY_HAND + PEERS
         if q in runs[p] and not same(ours["answer"], runs[p][q]["answer"])]
for question, peer in wrong:
    print(f"{question}: {peer} answers {runs[peer][question]['answer']}, query {runs['query'][question]['answer']}", file=sys.stderr)
processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown processor")
print(f"{rows:,} rows, {threads} threads, {processor}; " + ", ".join(f"{p} {version(p)}" for p in PEERS) + ". Milliseconds.\n")
print("| question | query | " + " | ".join(BY_HAND + PEERS) + " | fastest peer / query |" + " by hand / query |" * len(BY_HAND))
print("|---|---|" + "---|" * len(BY_HAND + PEERS) + "---|" + "---|" * len(BY_HAND))
ratios = {}
for question in runs["query"]:
    ms = {e: statistics.median(runs[e][question]["ms"][1:]) for e in runs if question in runs[e]}
    ratios[question] = min(ms[p] for p in PEERS) / ms["query"]
    by_hand = [f" {ms[h] / ms['query']:.2f} |" if h in ms else " |" for h in BY_HAND]
    print(f"| {question} | {ms['query']:.1f} | " + " | ".join(f"{ms[p]:.1f}" if p in ms else "" for p in BY_HAND + PEERS) +
          f" | {ratios[question]:.2f} |" + "".join(by_hand))
for what in sys.argv[4:] or ["q", "j"]:
    of = [r for q, r in ratios.items() if q.startswith(what)]
    print(f"\nGeometric mean of {what}: {statistics.geometric_mean(of):.2f}, worst {min(of):.2f}")
sys.exit(1 if wrong else 0)
