"""The questions of bench/sketches.cpp by DuckDB and Polars with 2 threads.  usage: peers.py FILE ROWS

FILE is what `sketches ROWS FILE` wrote. A line an answer: peer, milliseconds, processor milliseconds, sum.
Polars has no approximate quantile and no approximate list of frequent values: it is asked for exact ones.
DuckDB lists frequent values without their counts.
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
    visits = polars.DataFrame({name: numpy.fromfile(file, kind, rows) for name, kind in
                               (("g", numpy.int32), ("user", numpy.int64), ("page", numpy.int64), ("x", numpy.float64))})
duck = duckdb.connect()
duck.execute("set threads = 2")
duck.execute("create table t as select * from visits")

c = polars.col
aggregates = {
    "count_distinct": ("count(distinct user)", c("user").n_unique()),
    "approx_count_distinct": ("approx_count_distinct(user)", c("user").approx_n_unique()),
    "quantile 0.99": ("quantile_cont(x, 0.99)", c("x").quantile(0.99, "linear")),
    "approx_quantile 0.99": ("approx_quantile(x, 0.99)", None),
}
for question, (sql, of_polars) in aggregates.items():
    answer("DuckDB, " + question, lambda: duck.sql(f"select {sql}::double s from t").to_arrow_table())
    if of_polars is not None:
        answer("Polars, " + question, lambda: visits.lazy().select(of_polars.cast(polars.Float64).alias("s")).collect())
for question, (sql, of_polars) in aggregates.items():
    answer(f"DuckDB, {question}, 1,000 groups", lambda: duck.sql(f"select {sql}::double s from t group by g").to_arrow_table())
    if of_polars is not None:
        answer(f"Polars, {question}, 1,000 groups",
               lambda: visits.lazy().group_by("g").agg(of_polars.cast(polars.Float64).alias("s")).select("s").collect())
answer("DuckDB, top_k_frequent 10", lambda: duck.sql("select unnest(approx_top_k(page, 10))::double s from t").to_arrow_table())
answer("Polars, top_k_frequent 10, exact",
       lambda: visits.lazy().group_by("page").agg(polars.len().cast(polars.Float64).alias("s")).top_k(10, by="s").select("s").collect())
