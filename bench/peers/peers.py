"""DuckDB and Polars on the rows of cases.cpp. Prints: system, case, median ms, answer.

Usage: peers.py ROWS THREADS ROUNDS
"""
import os
import statistics
import sys
import time

rows, threads, rounds = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
os.environ["POLARS_MAX_THREADS"] = str(threads)
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa


def mixed(first, count):
    i = np.arange(first, first + count, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    i = (i ^ (i >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    i = (i ^ (i >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return i ^ (i >> np.uint64(31))


def timed(system, case, run):
    times = []
    answer = run()
    for _ in range(rounds):
        begin = time.perf_counter()
        answer = run()
        times.append((time.perf_counter() - begin) * 1e3)
    print(f"{system},{case},{statistics.median(times):.2f},{answer!r}", flush=True)


def both(case, tables, sql, with_polars, to_answer):
    # DuckDB on tables of its own: its storage is what it is fastest on.
    db = duckdb.connect(config={"threads": threads})
    for name, columns in tables.items():
        db.register("incoming", pa.table(columns))
        db.execute(f"create table {name} as select * from incoming")
        db.unregister("incoming")
    timed("duckdb", case, lambda: to_answer(db.sql(sql).to_arrow_table()))
    db.close()
    frames = {name: pl.DataFrame(columns) for name, columns in tables.items()}
    timed("polars", case, lambda: to_answer(with_polars(frames)))


def as_table(result):
    if isinstance(result, pl.DataFrame):
        return result.to_arrow()
    return result if isinstance(result, pa.Table) else result.read_all()


def single(result):
    return float(as_table(result).column(0)[0].as_py())


np.seterr(over="ignore")
value = lambda at: (mixed(at, rows) >> np.uint64(40)).astype(np.float64) * 0.01

both("filter_sum", {"t": {"qty": (mixed(0, rows) % np.uint64(100)).astype(np.int32), "price": value(rows)}},
     "select sum(price * qty) from t where qty > 50",
     lambda f: f["t"].lazy().filter(pl.col("qty") > 50).select((pl.col("price") * pl.col("qty")).sum()).collect(), single)

def group_answer(result):
    t = as_table(result)
    return float(np.dot(np.asarray(t.column("key"), dtype=np.float64), np.asarray(t.column("s"))))

both("group_by_1k", {"t": {"key": (mixed(0, rows) % np.uint64(1000)).astype(np.int64), "value": value(rows)}},
     "select key, sum(value) s, count(*) n from t group by key",
     lambda f: f["t"].lazy().group_by("key").agg(pl.col("value").sum().alias("s"), pl.len().alias("n")).collect(), group_answer)

def sort_answer(result):
    x = as_table(result).column(0)
    return x[rows // 2].as_py() + x[rows // 10].as_py() + x[0].as_py() + x[rows - 1].as_py()

both("order_by_doubles", {"t": {"x": (mixed(0, rows) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53}},
     "select x from t order by x", lambda f: f["t"].sort("x"), sort_answer)

m = 1_000_000
items = {"key": (np.arange(m, dtype=np.int64) * 2) % (2 * m), "weight": (mixed(2 * rows, m) % np.uint64(1000)).astype(np.float64)}
both("join_1m", {"s": {"key": (mixed(0, rows) % np.uint64(2 * m)).astype(np.int64), "value": value(rows)}, "i": items},
     "select sum(s.value * i.weight) from s join i on s.key = i.key",
     lambda f: f["s"].lazy().join(f["i"].lazy(), on="key").select((pl.col("value") * pl.col("weight")).sum()).collect(), single)
