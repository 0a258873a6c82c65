#!/usr/bin/env python3
"""The questions of bench/dictionaries.cpp asked of Polars, over categoricals: peers.py ROWS FOLDER [THREADS]"""
import os
import sys
import time

rows, folder = int(sys.argv[1]), sys.argv[2]
os.environ["POLARS_MAX_THREADS"] = sys.argv[3] if len(sys.argv) > 3 else "2"

import polars as pl  # noqa: E402
import pyarrow as pa  # noqa: E402



def read(name, of):
    data = pa.memory_map(f"{folder}/{name}").read_buffer()
    return pa.Array.from_buffers(of, rows, [None, data])


columns = {}
for name, entries, digits in (("few", 100, 3), ("other", 100, 3), ("many", 100_000, 10)):
    columns[name] = pa.DictionaryArray.from_arrays(read(name, pa.int32()), [f"id{e + 1:0{digits}}" for e in range(entries)])
columns["n"] = read("n", pa.int64())
t = pl.from_arrow(pa.table(columns))
labels = pl.DataFrame({"item": [f"id{e + 1:010}" for e in range(0, 100_000, 2)],
                       "weight": [e % 10 for e in range(0, 100_000, 2)]})
as_strings = labels.lazy()
labels = labels.with_columns(pl.col("item").cast(t["many"].dtype)).lazy()
lazy = t.lazy()
total = pl.col("n").sum().alias("sum")
questions = {
    "group 100": lambda: lazy.group_by("few").agg(total).collect()["sum"].sum(),
    "group 100 x 100": lambda: lazy.group_by("few", "other").agg(total).collect()["sum"].sum(),
    "group 100,000": lambda: lazy.group_by("many").agg(total).collect()["sum"].sum(),
    "equals, sum": lambda: lazy.filter(pl.col("few") == "id042").select(total).collect()["sum"][0],
    "prefix, sum": lambda: lazy.filter(pl.col("many").cast(pl.String).str.starts_with("id000000")).select(total).collect()["sum"][0],
    "equals, count": lambda: lazy.filter(pl.col("many") == "id0000000042").select(pl.len()).collect()["len"][0],
    "join 50,000": lambda: lazy.join(labels, left_on="many", right_on="item")
                               .select((pl.col("n") * pl.col("weight")).sum().alias("sum")).collect()["sum"][0],
    "semi join 50,000": lambda: lazy.join(labels, left_on="many", right_on="item", how="semi").select(total).collect()["sum"][0],
    "distinct 100,000": lambda: lazy.select(pl.col("many").n_unique()).collect()["many"][0],
}
for name, ask in questions.items():
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - begin) * 1e3)
    print(f"{name:22} polars {times[0]:7.1f} {min(times[1:]):7.1f} ms, answer {answer}")
