#!/usr/bin/env python3
"""The same questions asked of a peer over the tables that `operators ROWS FOLDER` wrote.

    peers.py FOLDER duckdb|polars|datafusion THREADS    prints the same JSON lines as the program operators
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from engines import ask

folder = Path(sys.argv[1])
ROWS = (folder / "t.k.i4").stat().st_size // 4
TABLES = ["t", "one", "large", "ten", "hundred", "thousand"]
KEYS = {"100": "hundred", "10,000": "thousands", "a million": "million", "a key a row": "each", "Zipf": "zipf", "sorted": "sorted",
        "clustered": "clustered"}
JOINS = {"join 1,000": ("one", "hundred", ROWS), "join as large": ("large", "each", ROWS),
         "join, 10 matches": ("ten", "hundred", ROWS // 10),
         "join, 100 matches": ("hundred", "hundred", ROWS // 100), "join, 1,000 matches": ("thousand", "hundred", ROWS // 1000)}
LAST = 100

SQL = {
    "filter+sum": ("SELECT sum(d) AS d FROM t WHERE k < 500000000 AND d > 50", ["d"]),
    "filter": ("SELECT k, d FROM t WHERE d > 50", ["k", "d"]),
    **{"group " + name: (f"SELECT {k} AS key, sum(d) AS s, count(*) AS n FROM t GROUP BY {k}", ["key", "s", "n"])
       for name, k in KEYS.items()},
    **{name: (f"SELECT l.{k} AS key, l.d, r.v FROM (SELECT * FROM t LIMIT {n}) l JOIN {side} r ON l.{k} = r.key", ["key", "d", "v"])
       for name, (side, k, n) in JOINS.items()},
    "sort numbers": ("SELECT d FROM t ORDER BY d", ["d"]),
    "sort rows": ("SELECT k, d FROM t ORDER BY k", ["k", "d"]),
    "sort by three keys": ("SELECT hundred, thousands, k, d FROM t ORDER BY hundred, thousands, k", ["hundred", "thousands", "k", "d"]),
    "sort strings": ("SELECT text, d FROM t ORDER BY text", ["d"]),
    "top 100": ("SELECT d FROM t ORDER BY d DESC LIMIT 100", ["d"]),
    "distinct": ("SELECT DISTINCT million AS key FROM t", ["key"]),
    "distinct strings": ("SELECT DISTINCT text FROM t", []),
    "median": ("SELECT thousands AS key, median(d) AS m FROM t GROUP BY thousands", ["key", "m"]),
    "window": (f"SELECT s FROM (SELECT sum(d) OVER (ORDER BY i ROWS BETWEEN {LAST - 1} PRECEDING AND CURRENT ROW) AS s, i FROM "
               f"(SELECT d, row_number() OVER () AS i FROM t)) WHERE i >= {LAST}", ["s"]),
}


def plans(t):
    import polars

    c = polars.col
    rows = t["t"]
    return {
        "filter+sum": (rows.filter((c("k") < 500_000_000) & (c("d") > 50)).select(c("d").sum()), ["d"]),
        "filter": (rows.filter(c("d") > 50).select("k", "d"), ["k", "d"]),
        **{"group " + name: (rows.group_by(c(k).alias("key")).agg(c("d").sum().alias("s"), polars.len().alias("n")), ["key", "s", "n"])
           for name, k in KEYS.items()},
        **{name: (rows.head(n).select(c(k).alias("key"), "d").join(t[side], on="key"), ["key", "d", "v"])
           for name, (side, k, n) in JOINS.items()},
        "sort numbers": (rows.select("d").sort("d"), ["d"]),
        "sort rows": (rows.select("k", "d").sort("k"), ["k", "d"]),
        "sort by three keys": (rows.select("hundred", "thousands", "k", "d").sort("hundred", "thousands", "k"),
                               ["hundred", "thousands", "k", "d"]),
        "sort strings": (rows.select("text", "d").sort("text"), ["d"]),
        "top 100": (rows.select("d").top_k(100, by="d"), ["d"]),
        "distinct": (rows.select(c("million").alias("key")).unique(), ["key"]),
        "distinct strings": (rows.select("text").unique(), []),
        "median": (rows.group_by(c("thousands").alias("key")).agg(c("d").median().alias("m")), ["key", "m"]),
        "window": (rows.select(c("d").rolling_sum(LAST).alias("s")).slice(LAST - 1), ["s"]),
    }


ask(folder, sys.argv[2], int(sys.argv[3]), TABLES, SQL, plans)
