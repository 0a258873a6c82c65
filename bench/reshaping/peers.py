"""The questions of bench/reshaping.cpp by DuckDB and Polars with 2 threads.  usage: peers.py FILE ROWS

FILE is what `reshaping ROWS FILE` wrote. A line an answer: peer, milliseconds, processor milliseconds, sum.
Polars has no rollup and no cube: it groups once for each set.
"""
import os
import sys
from itertools import combinations
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
                           ([(k, numpy.int32) for k in ("year", "month", "shop")] + [(k, numpy.float64) for k in "abcd"])})
duck = duckdb.connect()
duck.execute("set threads = 2")
duck.execute("create table r as select * from df")

total = polars.col("a").sum().alias("s")


def by_sets(*sets):
    parts = [df.lazy().group_by(keys).agg(total) if keys else df.lazy().select(total) for keys in sets]
    return polars.concat(parts, how="diagonal").collect()


def cube(keys):
    return [list(c) for n in range(len(keys), -1, -1) for c in combinations(keys, n)]


questions = {
    "group by year, month": ("select year, month, sum(a) s from r group by year, month",
                             lambda: df.lazy().group_by("year", "month").agg(total).collect()),
    "rollup year, month": ("select year, month, sum(a) s from r group by rollup (year, month)",
                           lambda: by_sets(["year", "month"], ["year"], [])),
    "rollup year, shop": ("select year, shop, sum(a) s from r group by rollup (year, shop)",
                          lambda: by_sets(["year", "shop"], ["year"], [])),
    "cube year, month, shop": ("select year, month, shop, sum(a) s from r group by cube (year, month, shop)",
                               lambda: by_sets(*cube(["year", "month", "shop"]))),
    "unpivot four": ("select shop, name, s from (select shop, a, b, c, d from r) unpivot (s for name in (a, b, c, d))",
                     lambda: df.unpivot(on=list("abcd"), index="shop", value_name="s")),
    "pivot shop by month": ("select * exclude (\"1\"), \"1\" s from (pivot (select shop, month, a from r) "
                            f"on month in {tuple(range(1, 13))} using sum(a) group by shop)",
                            lambda: df.pivot("month", index="shop", values="a", aggregate_function="sum").rename({"1": "s"})),
}

for question, (sql, of_polars) in questions.items():
    answer("DuckDB, " + question, lambda: duck.sql(sql).to_arrow_table())
    answer("Polars, " + question, of_polars)
