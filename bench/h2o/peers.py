#!/usr/bin/env python3
"""The same questions asked of a peer over the tables that `h2o ROWS FOLDER` wrote.

    peers.py FOLDER duckdb|polars|datafusion THREADS    prints the same JSON lines as the program h2o
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from engines import ask

SQL = {
    "q1": ("SELECT id1, sum(v1) AS v1 FROM g GROUP BY id1", ["v1"]),
    "q2": ("SELECT id1, id2, sum(v1) AS v1 FROM g GROUP BY id1, id2", ["v1"]),
    "q3": ("SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM g GROUP BY id3", ["v1", "v3"]),
    "q4": ("SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM g GROUP BY id4", ["v1", "v2", "v3"]),
    "q5": ("SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM g GROUP BY id6", ["v1", "v2", "v3"]),
    "q6": ("SELECT id4, id5, median(v3) AS m, stddev(v3) AS s FROM g GROUP BY id4, id5", ["m", "s"]),
    "q7": ("SELECT id3, max(v1) - min(v2) AS r FROM g GROUP BY id3", ["r"]),
    "q8": ("SELECT id6, v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS place FROM g) "
           "WHERE place <= 2", ["v3"]),
    "q9": ("SELECT id2, id4, power(corr(v1, v2), 2) AS r2 FROM g GROUP BY id2, id4", ["r2"]),
    "q10": ("SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS n FROM g "
            "GROUP BY id1, id2, id3, id4, id5, id6", ["v3", "n"]),
    "j1": ("SELECT x.*, small.id4 AS small_id4, v2 FROM x JOIN small ON x.id1 = small.id1", ["v1", "v2"]),
    "j2": ("SELECT x.*, medium.id1 AS m1, medium.id4 AS m4, medium.id5 AS m5, v2 FROM x JOIN medium "
           "ON x.id2 = medium.id2", ["v1", "v2"]),
    "j3": ("SELECT x.*, medium.id1 AS m1, medium.id4 AS m4, medium.id5 AS m5, v2 FROM x LEFT JOIN medium "
           "ON x.id2 = medium.id2", ["v1", "v2"]),
    "j4": ("SELECT x.*, medium.id1 AS m1, medium.id2 AS m2, medium.id4 AS m4, v2 FROM x JOIN medium "
           "ON x.id5 = medium.id5", ["v1", "v2"]),
    "j5": ("SELECT x.*, big.id1 AS b1, big.id2 AS b2, big.id4 AS b4, big.id5 AS b5, big.id6 AS b6, v2 FROM x "
           "JOIN big ON x.id3 = big.id3", ["v1", "v2"]),
    "filter": ("SELECT id3, v1 FROM x WHERE v1 > 50", ["v1"]),
    "filter_sum": ("SELECT sum(v1) AS v1 FROM x WHERE id1 < 6 AND v1 > 50", ["v1"]),
}


def plans(t):
    import polars

    c = polars.col
    g, x, small, medium, big = (t[n] for n in TABLES)
    return {
        "q1": (g.group_by("id1").agg(c("v1").sum()), ["v1"]),
        "q2": (g.group_by("id1", "id2").agg(c("v1").sum()), ["v1"]),
        "q3": (g.group_by("id3").agg(c("v1").sum(), c("v3").mean()), ["v1", "v3"]),
        "q4": (g.group_by("id4").agg(c("v1").mean(), c("v2").mean(), c("v3").mean()), ["v1", "v2", "v3"]),
        "q5": (g.group_by("id6").agg(c("v1").sum(), c("v2").sum(), c("v3").sum()), ["v1", "v2", "v3"]),
        "q6": (g.group_by("id4", "id5").agg(c("v3").median().alias("m"), c("v3").std().alias("s")), ["m", "s"]),
        "q7": (g.group_by("id3").agg((c("v1").max() - c("v2").min()).alias("r")), ["r"]),
        "q8": (g.group_by("id6").agg(c("v3").top_k(2)).explode("v3"), ["v3"]),
        "q9": (g.group_by("id2", "id4").agg((polars.corr("v1", "v2") ** 2).alias("r2")), ["r2"]),
        "q10": (g.group_by("id1", "id2", "id3", "id4", "id5", "id6").agg(c("v3").sum(), polars.len().alias("n")), ["v3", "n"]),
        "j1": (x.join(small, on="id1"), ["v1", "v2"]),
        "j2": (x.join(medium, on="id2"), ["v1", "v2"]),
        "j3": (x.join(medium, on="id2", how="left"), ["v1", "v2"]),
        "j4": (x.join(medium, on="id5"), ["v1", "v2"]),
        "j5": (x.join(big, on="id3"), ["v1", "v2"]),
        "filter": (x.filter(c("v1") > 50).select("id3", "v1"), ["v1"]),
        "filter_sum": (x.filter((c("id1") < 6) & (c("v1") > 50)).select(c("v1").sum()), ["v1"]),
    }


TABLES = ["g", "x", "small", "medium", "big"]
ask(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), TABLES, SQL, plans)
