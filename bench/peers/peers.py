"""Our cases (cases.cpp), DuckDB and Polars on the same rows, interleaved: each round runs all three, so that a noisy moment
meets all alike. Prints medians, the median of each round's ratio of the faster peer to us, the same ratio by CPU time (which
neighbours on the same cores disturb less), and whether the answers agree.

Usage: peers.py CASES_PROGRAM ROWS THREADS ROUNDS [CASE...]
"""
import os
import statistics
import subprocess
import sys
import time

program, rows, threads, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
wanted = sys.argv[5:]
os.environ["POLARS_MAX_THREADS"] = str(threads)
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

np.seterr(over="ignore")


def mixed_of(i):
    i = i + np.uint64(0x9E3779B97F4A7C15)
    i = (i ^ (i >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    i = (i ^ (i >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return i ^ (i >> np.uint64(31))


def mixed(first, count):
    # In pieces: at 50M rows the temporaries would be larger than the rows.
    out = np.empty(count, dtype=np.uint64)
    for at in range(0, count, 1 << 20):
        end = min(count, at + (1 << 20))
        out[at:end] = mixed_of(np.arange(first + at, first + end, dtype=np.uint64))
    return out


def below(limit, first, count):
    return mixed(first, count) % np.uint64(limit)


def values():
    return (mixed(rows, rows) >> np.uint64(40)).astype(np.float64) * 0.01


def column(table, name):
    return np.asarray(table.column(name))


def single(table):
    return float(table.column(0)[0].as_py())


def group_answer(table):
    return float(np.dot(np.fmod(column(table, "key"), 1000).astype(np.float64), column(table, "s")))


def sort_answer(table):
    x = table.column(0)
    return x[rows // 2].as_py() + x[rows // 10].as_py() + x[0].as_py() + x[rows - 1].as_py()


def group_case(keys):
    return ({"t": {"key": keys, "value": values()}},
            "select key, sum(value) s, count(*) n from t group by key",
            lambda f: f["t"].lazy().group_by("key").agg(pl.col("value").sum().alias("s"), pl.len().alias("n")).collect(), group_answer)


def filter_sum():
    return ({"t": {"qty": below(100, 0, rows).astype(np.int32), "price": values()}},
            "select sum(price * qty) from t where qty > 50",
            lambda f: f["t"].lazy().filter(pl.col("qty") > 50).select((pl.col("price") * pl.col("qty")).sum()).collect(), single)


def order_by_doubles():
    return ({"t": {"x": (mixed(0, rows) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53}},
            "select x from t order by x", lambda f: f["t"].sort("x"), sort_answer)


def join_1m():
    m = 1_000_000
    items = {"key": np.arange(m, dtype=np.int64) * 2, "weight": below(1000, 2 * rows, m).astype(np.float64)}
    return ({"s": {"key": below(2 * m, 0, rows).astype(np.int64), "value": values()}, "i": items},
            "select sum(s.value * i.weight) from s join i on s.key = i.key",
            lambda f: f["s"].lazy().join(f["i"].lazy(), on="key").select((pl.col("value") * pl.col("weight")).sum()).collect(), single)


cases = {
    "filter_sum": filter_sum,
    "group_by_1k": lambda: group_case(below(1000, 0, rows).astype(np.int64)),
    "group_by_1k_int32": lambda: group_case(below(1000, 0, rows).astype(np.int32)),
    "group_by_1k_spread": lambda: group_case(mixed_of(below(1000, 0, rows) + np.uint64(7)).view(np.int64)),
    "order_by_doubles": order_by_doubles,
    "join_1m": join_1m,
}


class Ours:
    def __init__(self):
        self.process = subprocess.Popen([program, str(rows), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{program} ended at: {order}")
        return answer

    def run(self):
        ms, share, answer = self.ask("run").split(",")
        return float(ms), float(share), float(answer)


def timed(run):
    begin, cpu = time.perf_counter(), time.process_time()
    answer = run()
    wall = time.perf_counter() - begin
    return wall * 1e3, (time.process_time() - cpu) / wall, answer


def as_table(result):
    return result.to_arrow() if isinstance(result, pl.DataFrame) else result


def differ(a, b):
    return abs(a - b) > 1e-9 * max(abs(a), abs(b))


def race(case, ours):
    tables, sql, with_polars, to_answer = cases[case]()
    # DuckDB on tables of its own: its storage is what it is fastest on.
    db = duckdb.connect(config={"threads": threads})
    for name, columns in tables.items():
        incoming = pa.table(columns)
        db.register("incoming", incoming)
        db.execute(f"create table {name} as select * from incoming")
        db.unregister("incoming")
        del incoming
    frames = {name: pl.DataFrame(columns) for name, columns in tables.items()}
    ours.ask("case " + case)
    systems = {"query": ours.run, "duckdb": lambda: timed(lambda: as_table(db.sql(sql).to_arrow_table())),
               "polars": lambda: timed(lambda: as_table(with_polars(frames)))}
    took, share, answers = {s: [] for s in systems}, {s: [] for s in systems}, {}
    for i in range(rounds + 1):  # the first one warms up
        for name, run in systems.items():
            ms, cpu, answer = run()
            if i == 0:
                answers[name] = answer if name == "query" else to_answer(answer)
                continue
            took[name].append(ms)
            share[name].append(cpu)
    db.close()
    median = {s: statistics.median(took[s]) for s in systems}
    ratio = statistics.median(min(d, p) / q for q, d, p in zip(took["query"], took["duckdb"], took["polars"]))
    spent = {s: statistics.median(ms * cpu for ms, cpu in zip(took[s], share[s])) for s in systems}
    by_cpu = min(spent["duckdb"], spent["polars"]) / spent["query"]
    cpus = "/".join(f"{statistics.median(share[s]):.2f}" for s in systems)
    times = f"{median['query']:9.1f} {median['duckdb']:9.1f} {median['polars']:9.1f}"
    print(f"{case:<20} {times} {ratio:20.2f} {by_cpu:12.2f}   {cpus}", flush=True)
    bad = [s for s in ("duckdb", "polars") if differ(answers["query"], answers[s])]
    if bad:
        print(f"answers differ: {case}: {answers}", flush=True)
    return not bad


print(f"{rows} rows, {threads} threads, {rounds} rounds, medians in ms; DuckDB {duckdb.__version__}, Polars {pl.__version__}")
print(f"{'case':<20} {'query':>9} {'duckdb':>9} {'polars':>9} {'faster peer / query':>20} {'by CPU time':>12}   cpu/wall of each")
ours = Ours()
agreed = [race(case, ours) for case in wanted or cases]
ours.process.stdin.close()
ours.process.wait()
sys.exit(0 if all(agreed) else 1)
