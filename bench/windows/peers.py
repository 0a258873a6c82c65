"""The questions of bench/windows.cpp by DuckDB and Polars with 2 threads.  usage: peers.py FILE ROWS

FILE is what `windows ROWS GROUPS FILE` wrote. A line an answer: peer, milliseconds, processor milliseconds, sum.
Rows with equal times in a group come in any order in DuckDB: its running sums may differ a little.
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
    df = polars.DataFrame({name: numpy.fromfile(file, kind, rows) for name, kind in
                           (("key", numpy.int32), ("time", numpy.int32), ("x", numpy.float64))})
duck = duckdb.connect()
duck.execute("set threads = 2")
duck.execute("create table r as select * from df")

by_time = "partition by key order by time"
x = polars.col("x")
in_group = dict(partition_by="key", order_by="time")
questions = {
    "lag, sum, rank, mean of 7": (
        f"select lag(x, 1, 0) over w l, sum(x) over (w rows unbounded preceding) s, rank() over w r, "
        f"avg(x) over (w rows 6 preceding) m from r window w as ({by_time})",
        lambda: df.select(x.shift(1, fill_value=0.0).over(**in_group).alias("l"), x.cum_sum().over(**in_group).alias("s"),
                          polars.col("time").rank("min").over("key").alias("r"),
                          x.rolling_mean(7, min_samples=1).over(**in_group).alias("m"))),
    "running sum": (f"select sum(x) over ({by_time} rows unbounded preceding) s from r",
                    lambda: df.select(x.cum_sum().over(**in_group).alias("s"))),
    "sum of a range": (f"select sum(x) over ({by_time} range 1000000 preceding) s from r", None),
    "running sum, no key": ("select sum(x) over (order by time rows unbounded preceding) s from r",
                            lambda: df.with_row_index("i").sort("time").select("i", x.cum_sum().alias("s")).sort("i")),
    "sum of the group": ("select sum(x) over (partition by key) s from r", lambda: df.select(x.sum().over("key").alias("s"))),
}

for question, (sql, of_polars) in questions.items():
    answer("DuckDB, " + question, lambda: duck.sql(sql).to_arrow_table())
    if of_polars:
        answer("Polars, " + question, of_polars)
