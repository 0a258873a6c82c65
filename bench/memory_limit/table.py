#!/usr/bin/env python3
"""Compares the answers in FOLDER/query.json and FOLDER/duckdb.json and prints the times as a Markdown table: medians.

    table.py FOLDER ROWS THREADS
"""
import json
import math
import statistics
import sys
from importlib.metadata import version
from pathlib import Path

folder, rows, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
runs = {e: {(r["question"], r["share"]): r for r in map(json.loads, (folder / f"{e}.json").read_text().splitlines())}
        for e in ("query", "duckdb")}
processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown processor")
print(f"{rows:,} rows, {threads} threads, {processor}; duckdb {version('duckdb')}. Milliseconds, medians of three.\n")
print("| question | memory | limit, MiB | query | DuckDB | DuckDB / query | in memory / query | in files, MiB |")
print("|---|---|---|---|---|---|---|---|")
wrong, ratios, kept = 0, {}, {}
for (question, share), ours in runs["query"].items():
    peer, whole = runs["duckdb"][question, share], runs["query"][question, 1]
    if ours["answer"] and peer["answer"] and not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(ours["answer"], peer["answer"])):
        print(f"{question}, 1/{share}: DuckDB answers {peer['answer']}, query {ours['answer']}", file=sys.stderr)
        wrong += 1
    if ours["answer"] and whole["answer"] and ours["answer"] != whole["answer"]:
        print(f"{question}, 1/{share}: {ours['answer']}, in memory {whole['answer']}", file=sys.stderr)
        wrong += 1
    ms = {e: statistics.median(r["ms"]) if r["ms"] else None for e, r in (("query", ours), ("duckdb", peer), ("whole", whole))}
    text = {e: f"{v:.0f}" if v else runs.get(e, runs["query"])[question, share]["error"] for e, v in ms.items()}
    against = f"{ms['duckdb'] / ms['query']:.2f}" if ms["query"] and ms["duckdb"] else ""
    slower = f"{ms['whole'] / ms['query']:.2f}" if ms["query"] and ms["whole"] else ""
    if against:
        ratios.setdefault(share, []).append(ms["duckdb"] / ms["query"])
    part = "all" if share == 1 else f"1/{share}"
    print(f"| {question} | {part} | {ours['limit'] / 2**20:.0f} | {text['query']} | {text['duckdb']} | {against} | {slower} | "
          f"{ours['in_files'] or ''} |")
for share, of in ratios.items():
    part = "all memory" if share == 1 else f"1/{share}"
    print(f"\nGeometric mean of DuckDB / query, {part}: {statistics.geometric_mean(of):.2f} of {len(of)} questions")
sys.exit(1 if wrong else 0)
