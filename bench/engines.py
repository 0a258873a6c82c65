"""Asks DuckDB, Polars and DataFusion the questions of a benchmark, over tables in files (columns.py).

Each answer stays in the engine's own columns; the first of four rounds warms up. A JSON line a question, as the programs print them:
{"engine": "duckdb", "question": "j2", "ms": [...], "answer": [...]}, where the answer is the number of rows and sums of columns.

    ask(folder, engine, threads, names of tables, sql, plans)

sql: {question: (query, [columns to sum])}; plans: a function of the tables as Polars' lazy frames, which gives the same of plans.
"""
import json
import os
import time

import pyarrow
import pyarrow.compute

from columns import table


def duckdb_questions(tables, threads, sql, _):
    import duckdb

    db = duckdb.connect(":memory:", config={"threads": threads})
    for name, rows in tables.items():
        db.register("given", rows)
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        db.unregister("given")
    for name, (query, fields) in sql.items():
        def ask(query=query):
            db.execute("DROP TABLE IF EXISTS answer")
            db.execute("CREATE TEMP TABLE answer AS " + query)
            return "answer"

        def check(_, fields=fields):
            return db.execute("SELECT " + ", ".join(["count(*)"] + [f"sum({f})" for f in fields]) + " FROM answer").fetchone()
        yield name, ask, check


def datafusion_questions(tables, threads, sql, _):
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(threads))
    for name, rows in tables.items():
        context.from_arrow(rows, name)
    for name, (query, fields) in sql.items():
        def ask(query=query):
            return pyarrow.Table.from_batches(context.sql(query).collect())

        def check(answer, fields=fields):
            return [answer.num_rows] + [sum_of(answer[f]) for f in fields]
        yield name, ask, check


def sum_of(values):
    return pyarrow.compute.sum(pyarrow.compute.cast(values, pyarrow.float64())).as_py()


def polars_questions(tables, _, __, plans):
    import polars

    frames = {name: polars.from_arrow(rows).rechunk().lazy() for name, rows in tables.items()}
    for name, (plan, fields) in plans(frames).items():
        def check(answer, fields=fields):
            return [answer.height] + [answer[f].cast(polars.Float64).sum() for f in fields]
        yield name, plan.collect, check


QUESTIONS = {"duckdb": duckdb_questions, "polars": polars_questions, "datafusion": datafusion_questions}


def ask(folder, engine, threads, names, sql, plans):
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    for name, question, check in QUESTIONS[engine]({n: table(folder, n) for n in names}, threads, sql, plans):
        times = []
        for _ in range(4):
            answer = None
            begin = time.perf_counter()
            answer = question()
            times.append(round((time.perf_counter() - begin) * 1e3, 2))
        print(json.dumps({"engine": engine, "question": name, "ms": times, "answer": [float(v) for v in check(answer)]}), flush=True)
