#!/usr/bin/env python3
"""The questions of memory_limit.cpp asked of DuckDB, under the limits that query ran under.

    peer.py FOLDER QUERY.JSON THREADS    prints JSON lines like those of the program memory_limit

The tables lie in a database file, so that they need not stay in memory; answers are read batch by batch, and never kept.
"""
import json
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy
import pyarrow

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

folder, limits, threads = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
SQL = {
    "groups of a key a row": ("SELECT sum(v1) FROM x GROUP BY id3", False),
    "groups of 100,000 strings": ("SELECT sum(v3), id3, count(*) FROM g GROUP BY id3", False),
    "medians of 100,000 groups": ("SELECT median(v3) FROM g GROUP BY id6", False),
    "sort by an integer": ("SELECT v1, id1, id2, id3, id4, id5, id6 FROM x ORDER BY id3", True),
    "sort by a double": ("SELECT v1, id1, id2, id3, id4, id5, id6 FROM x ORDER BY v1", True),
    "sort by strings": ("SELECT v1, id1, id2, id3, id4, id5, id6 FROM x ORDER BY id5, id3", True),
    "join with a table as large": ("SELECT x.v1 + big.v2 FROM x JOIN big ON x.id3 = big.id3", False),
    "distinct integers": ("SELECT DISTINCT id3::DOUBLE FROM x", False),
}


def load(path):
    from columns import table

    with duckdb.connect(path) as db:
        for name in "g", "x", "big":
            db.register("given", table(folder, name))
            db.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            db.unregister("given")


def ask(db, sql, ordered):
    n, total, places = 0, 0.0, 0.0
    for batch in db.sql(sql).to_arrow_reader(100_000):
        values = batch.column(0).to_numpy(zero_copy_only=False)
        total += values.sum()
        if ordered:
            places += (values * (numpy.arange(n, n + len(values)) % 1009)).sum()
        n += len(values)
    return [float(n), float(total), float(places)]


with tempfile.TemporaryDirectory() as work:
    path = str(Path(work) / "tables.duckdb")
    load(path)
    for line in map(json.loads, limits.read_text().splitlines()):
        question, limit = line["question"], line["limit"]
        sql, ordered = SQL[question]
        # The rows of equal keys have no order in SQL: the sum by places is compared where keys differ, or rows are the same.
        times, answer, error = [], [], ""
        try:
            with duckdb.connect(path, read_only=True, config={
                    "threads": threads, "memory_limit": f"{limit}B", "temp_directory": str(Path(work) / "spill")}) as db:
                for _ in range(3):
                    begin = time.perf_counter()
                    answer = ask(db, sql, ordered)
                    times.append(round((time.perf_counter() - begin) * 1e3, 2))
        except (duckdb.OutOfMemoryException, OSError) as e:  # the reader of its batches wraps it
            if "out of memory" not in str(e).lower():
                raise
            times, answer, error = [], [], "out of memory"
        print(json.dumps({"engine": "duckdb", "question": question, "share": line["share"], "limit": limit, "error": error,
                          "ms": times, "answer": answer}), flush=True)
