"""The questions of bench/asof.cpp by DuckDB and Polars with 2 threads.  usage: peers.py FILE ROWS

FILE is what `asof ROWS SYMBOLS FILE` wrote. A line an answer: peer, milliseconds, processor milliseconds, sum.
Polars' tables are sorted by time, which its join_asof asks for; DuckDB gives rows in any order.
"""
import os
import sys
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "2"
import duckdb
import numpy
import polars

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from best_times import answer

rows = int(sys.argv[2])
with open(sys.argv[1], "rb") as file:
    trades, quotes = (polars.DataFrame({name: numpy.fromfile(file, kind, rows) for name, kind in
                                        (("symbol", numpy.int32), ("time", numpy.int64), (price, numpy.float64))})
                      .with_columns(polars.col("time").set_sorted()) for price in ("x", "s"))
duck = duckdb.connect()
duck.execute("set threads = 2")
duck.execute("create table t as select * from trades")
duck.execute("create table q as select * from quotes")

by_symbol = dict(on="time", by="symbol")
columns = ["x", polars.col("s").fill_null(0.0)]
select = "select t.x, coalesce(q.s, 0) s from t asof left join q on"
questions = {
    "before, by symbol": (f"{select} t.symbol = q.symbol and t.time >= q.time",
                          lambda: trades.join_asof(quotes, **by_symbol, check_sortedness=False).select(columns)),
    "after, by symbol": (f"{select} t.symbol = q.symbol and t.time <= q.time",
                         lambda: trades.join_asof(quotes, **by_symbol, strategy="forward", check_sortedness=False).select(columns)),
    "before, no key": (f"{select} t.time >= q.time", lambda: trades.join_asof(quotes, on="time").select(columns)),
}

for question, (sql, of_polars) in questions.items():
    answer("DuckDB, " + question, lambda: duck.sql(sql).to_arrow_table())
    answer("Polars, " + question, of_polars)
