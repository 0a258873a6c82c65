#!/usr/bin/env python3
"""The same questions asked of a peer over the file that `files ROWS FOLDER` wrote.

    peers.py FOLDER duckdb|polars|datafusion THREADS    prints the same JSON lines as the program files
"""
import json
import os
import sys
import time

folder, engine, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.environ["POLARS_MAX_THREADS"] = str(threads)
path = folder + "/trades.parquet"

import pyarrow.compute
import pyarrow.parquet

LATE = pyarrow.parquet.read_metadata(path).num_rows
LATE -= LATE // 20
GROUP = "SELECT symbol, sum(price * quantity) AS volume, count(*) AS trades FROM t {} GROUP BY symbol"
SQL = {
    "group": (GROUP.format(""), ["volume", "trades"]),
    "filter_group": (GROUP.format("WHERE price > 900 AND venue < 8"), ["volume", "trades"]),
    "recent_group": (GROUP.format(f"WHERE time >= {LATE}"), ["volume", "trades"]),
    "two_columns": ("SELECT venue, sum(quantity) AS quantity FROM t GROUP BY venue", ["venue", "quantity"]),
    "filter": ("SELECT time, price FROM t WHERE price > 1000", ["time", "price"]),
}


def duckdb_questions():
    import duckdb

    db = duckdb.connect(":memory:", config={"threads": threads})
    db.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
    for name, (query, fields) in SQL.items():
        yield name, lambda query=query: db.sql(query).to_arrow_table(), fields


def polars_questions():
    import polars

    t, c = polars.scan_parquet(path), polars.col

    def by_symbol(rows):
        return rows.group_by("symbol").agg((c("price") * c("quantity")).sum().alias("volume"), polars.len().alias("trades"))

    plans = {
        "group": by_symbol(t),
        "filter_group": by_symbol(t.filter((c("price") > 900) & (c("venue") < 8))),
        "recent_group": by_symbol(t.filter(c("time") >= LATE)),
        "two_columns": t.group_by("venue").agg(c("quantity").cast(polars.Int64).sum()),
        "filter": t.filter(c("price") > 1000).select("time", "price"),
    }
    for name, plan in plans.items():
        yield name, lambda plan=plan: plan.collect(), SQL[name][1]


def datafusion_questions():
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(threads))
    context.register_parquet("t", path)
    for name, (query, fields) in SQL.items():
        yield name, lambda query=query: pyarrow.Table.from_batches(context.sql(query).collect()), fields


def sums(answer, fields):
    rows = answer if isinstance(answer, pyarrow.Table) else answer.to_arrow()
    columns = [pyarrow.compute.cast(rows[f], pyarrow.float64()) for f in fields]
    return [float(rows.num_rows)] + [pyarrow.compute.sum(c).as_py() for c in columns]


QUESTIONS = {"duckdb": duckdb_questions, "polars": polars_questions, "datafusion": datafusion_questions}
for name, question, fields in QUESTIONS[engine]():
    times = []
    for _ in range(4):
        answer = None
        begin = time.perf_counter()
        answer = question()
        times.append(round((time.perf_counter() - begin) * 1e3, 2))
    print(json.dumps({"engine": engine, "question": name, "ms": times, "answer": sums(answer, fields)}), flush=True)
