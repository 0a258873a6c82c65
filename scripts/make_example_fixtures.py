#!/usr/bin/env python3
"""Computes the figures that check the examples, independently of this library.

    python3 -m venv VENV && VENV/bin/pip install duckdb pandas numpy
    VENV/bin/python scripts/make_example_fixtures.py [--data DIR] [--out DIR] [--check]

Every figure is computed twice, with DuckDB (SQL) and with pandas/numpy, from the files of
examples/data; the two must agree (counts, text and order exactly, floating point to a
relative 1e-9) or nothing is written.  --check compares with the files already there instead
of writing.  tests/examples/fixtures/README.md describes the files; keep it in step.
"""
import argparse
import csv
import io
import lzma
import math
import pathlib
import tempfile

import duckdb
import numpy as np
import pandas as pd

TABLES = ("airlines", "airports", "planes", "weather", "flights")

# DuckDB column types; what is not listed is VARCHAR.
TYPES = {
    "airports": {"lat": "DOUBLE", "lon": "DOUBLE", "alt": "INTEGER", "tz": "INTEGER"},
    "planes": {"year": "INTEGER", "engines": "INTEGER", "seats": "INTEGER", "speed": "INTEGER"},
    "weather": {"year": "INTEGER", "month": "INTEGER", "day": "INTEGER", "hour": "INTEGER",
                "temp": "DOUBLE", "dewp": "DOUBLE", "humid": "DOUBLE", "wind_dir": "INTEGER",
                "wind_speed": "DOUBLE", "wind_gust": "DOUBLE", "precip": "DOUBLE",
                "pressure": "DOUBLE", "visib": "DOUBLE"},
    "flights": {c: "INTEGER" for c in (
        "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time",
        "sched_arr_time", "arr_delay", "flight", "air_time", "distance", "hour", "minute")},
}

KMEANS_FEATURES = ("dep_delay", "arr_delay", "air_time", "distance", "sched_dep_minute", "month")
KMEANS_K = 8
KMEANS_EPSILON = 1e-4
KMEANS_MAX_ITERATIONS = 100


# ---------------------------------------------------------------- loading

def load(data: pathlib.Path):
    frames = {}
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    with tempfile.TemporaryDirectory() as temporary:
        for name in TABLES:
            raw = lzma.decompress((data / f"{name}.csv.xz").read_bytes())
            # pandas: text columns as object, every number as float64 (exact for these integers).
            header = raw[:raw.index(b"\n")].decode().split(",")
            types = TYPES.get(name, {})
            frames[name] = pd.read_csv(
                io.BytesIO(raw), na_values=[""], keep_default_na=False,
                dtype={c: (float if c in types else object) for c in header})
            # DuckDB: its own reader.
            path = pathlib.Path(temporary) / f"{name}.csv"
            path.write_bytes(raw)
            columns = ", ".join(f"'{c}': '{types.get(c, 'VARCHAR')}'" for c in header)
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_csv('{path}', header = true, "
                f"delim = ',', quote = '\"', nullstr = '', auto_detect = false, "
                f"columns = {{{columns}}})")
    return connection, frames


# ---------------------------------------------------------------- the queries, in SQL

SQL = {
    "flights_a_carriers": (
        "carrier,name,flights,mean_dep_delay,mean_arr_delay,cancelled", """
        SELECT f.carrier, a.name, count(*), avg(dep_delay), avg(arr_delay),
               count(*) - count(dep_time)
        FROM flights f JOIN airlines a USING (carrier)
        GROUP BY f.carrier, a.name ORDER BY avg(arr_delay) DESC, a.name"""),
    "flights_b_routes": (
        "origin,dest,dest_name,flights,mean_air_time", """
        WITH r AS (SELECT origin, dest, count(*) AS n, avg(air_time) AS t FROM flights GROUP BY ALL)
        SELECT r.origin, r.dest, p.name, r.n, r.t
        FROM r LEFT JOIN airports p ON p.faa = r.dest
        ORDER BY r.n DESC, r.origin, r.dest LIMIT 10"""),
    "flights_b_routes_unmatched": (
        "origin,dest,dest_name,flights,mean_air_time", """
        WITH r AS (SELECT origin, dest, count(*) AS n, avg(air_time) AS t FROM flights GROUP BY ALL)
        SELECT r.origin, r.dest, p.name, r.n, r.t
        FROM r LEFT JOIN airports p ON p.faa = r.dest WHERE p.faa IS NULL
        ORDER BY r.n DESC, r.origin, r.dest"""),
    "flights_c_planes": (
        "tailnum,flights,miles,manufacturer,model,year", """
        WITH m AS (SELECT tailnum, count(*) AS n, sum(distance)::BIGINT AS miles FROM flights
                   WHERE tailnum IS NOT NULL AND dep_time IS NOT NULL GROUP BY tailnum)
        SELECT m.tailnum, m.n, m.miles, p.manufacturer, p.model, p.year
        FROM m JOIN planes p USING (tailnum) ORDER BY m.miles DESC, m.tailnum LIMIT 5"""),
    "flights_d_moving_average": (
        "date,moving_average", """
        WITH d AS (SELECT make_date(year, month, day) AS date, avg(dep_delay) AS delay
                   FROM flights WHERE origin = 'JFK' GROUP BY ALL),
             w AS (SELECT date, avg(delay) OVER s AS average, count(*) OVER s AS n FROM d
                   WINDOW s AS (ORDER BY date RANGE BETWEEN INTERVAL 6 DAY PRECEDING AND CURRENT ROW))
        SELECT strftime(date, '%Y-%m-%d'), average FROM w WHERE n = 7 ORDER BY date"""),
    "flights_e_wind": (
        "band,flights,delays,mean_dep_delay", """
        SELECT (floor(w.wind_speed / 5) * 5)::INTEGER AS band, count(*), count(dep_delay),
               avg(dep_delay)
        FROM flights f JOIN weather w USING (origin, year, month, day, hour)
        WHERE w.wind_speed IS NOT NULL GROUP BY band ORDER BY band"""),
    "flights_f_quantiles": (
        "origin,delays,median_dep_delay,p90_dep_delay", """
        SELECT origin, count(dep_delay), quantile_cont(dep_delay, 0.5), quantile_cont(dep_delay, 0.9)
        FROM flights GROUP BY origin ORDER BY origin"""),
    "flights_g_busiest_carrier": (
        "month,carrier,flights", """
        WITH c AS (SELECT month, carrier, count(*) AS n FROM flights GROUP BY ALL)
        SELECT month, carrier, n FROM c
        QUALIFY row_number() OVER (PARTITION BY month ORDER BY n DESC, carrier) = 1
        ORDER BY month"""),
}


# ---------------------------------------------------------------- the queries, in pandas

def pandas_figures(t):
    flights = t["flights"]
    out = {}

    g = flights.groupby("carrier")
    a = pd.DataFrame({"flights": g.size(), "dep": g.dep_delay.mean(), "arr": g.arr_delay.mean(),
                      "cancelled": g.dep_time.apply(lambda s: int(s.isna().sum()))}).reset_index()
    a = a.merge(t["airlines"], on="carrier").sort_values(["arr", "name"], ascending=[False, True])
    out["flights_a_carriers"] = a[["carrier", "name", "flights", "dep", "arr", "cancelled"]]

    g = flights.groupby(["origin", "dest"])
    b = pd.DataFrame({"flights": g.size(), "air": g.air_time.mean()}).reset_index()
    b = b.merge(t["airports"][["faa", "name"]], left_on="dest", right_on="faa", how="left")
    b = b.sort_values(["flights", "origin", "dest"], ascending=[False, True, True])
    columns = ["origin", "dest", "name", "flights", "air"]
    out["flights_b_routes"] = b[columns].head(10)
    out["flights_b_routes_unmatched"] = b[b.faa.isna()][columns]

    flown = flights[flights.tailnum.notna() & flights.dep_time.notna()].groupby("tailnum")
    c = pd.DataFrame({"flights": flown.size(), "miles": flown.distance.sum()}).reset_index()
    c = c.merge(t["planes"], on="tailnum").sort_values(["miles", "tailnum"], ascending=[False, True])
    out["flights_c_planes"] = c[["tailnum", "flights", "miles", "manufacturer", "model", "year"]].head(5)

    jfk = flights[flights.origin == "JFK"]
    daily = jfk.groupby(["year", "month", "day"]).dep_delay.mean()
    days = pd.to_datetime(daily.index.to_frame()[["year", "month", "day"]].astype(int))
    assert (days.diff().dropna() == pd.Timedelta(days=1)).all() and daily.notna().all()
    values = daily.to_numpy()
    out["flights_d_moving_average"] = pd.DataFrame({
        "date": days.dt.strftime("%Y-%m-%d").to_numpy()[6:],
        "average": [math.fsum(values[i - 6:i + 1]) / 7 for i in range(6, len(values))]})

    e = flights.merge(t["weather"][["origin", "year", "month", "day", "hour", "wind_speed"]],
                      on=["origin", "year", "month", "day", "hour"])
    e = e[e.wind_speed.notna()]
    g = e.groupby((np.floor(e.wind_speed / 5) * 5).astype(int))
    out["flights_e_wind"] = pd.DataFrame({
        "flights": g.size(), "delays": g.dep_delay.count(), "mean": g.dep_delay.mean()}).reset_index()

    g = flights.groupby("origin").dep_delay
    out["flights_f_quantiles"] = pd.DataFrame({
        "n": g.count(), "median": g.quantile(0.5), "p90": g.quantile(0.9)}).reset_index()

    n = flights.groupby(["month", "carrier"]).size().reset_index(name="n")
    n = n.sort_values(["month", "n", "carrier"], ascending=[True, False, True])
    out["flights_g_busiest_carrier"] = n.groupby("month").head(1)

    return {name: list(frame.itertuples(index=False, name=None)) for name, frame in out.items()}


# ---------------------------------------------------------------- a summary of every column

def summary_sql(connection):
    rows = []
    for table in TABLES:
        types = TYPES.get(table, {})
        for (column,) in connection.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_name = ? "
                "ORDER BY ordinal_position", [table]).fetchall():
            total = {"INTEGER": f"sum({column})::BIGINT", "DOUBLE": f"fsum({column})"}.get(
                types.get(column), f"sum(strlen({column}))::BIGINT")
            rows.append((table, column) + connection.execute(
                f"SELECT count(*), count(*) - count({column}), count(DISTINCT {column}), {total} "
                f"FROM {table}").fetchone())
    return rows


def summary_pandas(t):
    rows = []
    for table in TABLES:
        for column, s in t[table].items():
            numeric = column in TYPES.get(table, {})
            total = math.fsum(s.dropna()) if numeric else s.dropna().map(lambda v: len(v.encode())).sum()
            rows.append((table, column, len(s), int(s.isna().sum()), s.nunique(), total))
    return rows


# ---------------------------------------------------------------- k-means

def kmeans_numpy(t):
    f = t["flights"].dropna(subset=["dep_delay", "arr_delay", "air_time"])
    raw = np.stack([f.dep_delay, f.arr_delay, f.air_time, f.distance, f.hour * 60 + f.minute, f.month],
                   axis=1).astype(np.float64)
    mean = raw.mean(axis=0)
    deviation = np.sqrt(((raw - mean) ** 2).mean(axis=0))
    points = ((raw - mean) / deviation).astype(np.float32).astype(np.float64)
    n, dimensions = points.shape

    def assign(centers):
        d = np.stack([((points - c) ** 2).sum(axis=1) for c in centers], axis=1)
        return d.argmin(axis=1), float(d.min(axis=1).sum())  # argmin: lowest index on ties

    centers = points[[i * (n // KMEANS_K) for i in range(KMEANS_K)]].copy()
    moves = []
    for iterations in range(1, KMEANS_MAX_ITERATIONS + 1):
        labels, inertia = assign(centers)
        sizes = np.bincount(labels, minlength=KMEANS_K)
        updated = centers.copy()  # an empty cluster keeps its center
        for d in range(dimensions):
            sums = np.bincount(labels, weights=points[:, d], minlength=KMEANS_K)
            updated[sizes > 0, d] = sums[sizes > 0] / sizes[sizes > 0]
        moves.append(float(np.sqrt(((updated - centers) ** 2).sum(axis=1)).max()))
        centers = updated
        if moves[-1] < KMEANS_EPSILON:
            break
    last = (inertia, sizes)
    labels, inertia = assign(centers)
    return {"n": n, "mean": mean, "deviation": deviation, "iterations": iterations, "moves": moves,
            "centers": centers, "inertia": inertia, "sizes": np.bincount(labels, minlength=KMEANS_K),
            "last_inertia": last[0], "last_sizes": last[1]}


def kmeans_sql(connection):
    """The same algorithm, written once more in SQL."""
    features = range(len(KMEANS_FEATURES))
    connection.execute("""
        CREATE TEMP TABLE raw AS
        SELECT row_number() OVER (ORDER BY rowid) - 1 AS i,
               dep_delay::DOUBLE AS r0, arr_delay::DOUBLE AS r1, air_time::DOUBLE AS r2,
               distance::DOUBLE AS r3, (hour * 60 + minute)::DOUBLE AS r4, month::DOUBLE AS r5
        FROM flights WHERE dep_delay IS NOT NULL AND arr_delay IS NOT NULL AND air_time IS NOT NULL""")
    stats = connection.execute(
        "SELECT count(*), " + ", ".join(f"avg(r{d}), stddev_pop(r{d})" for d in features)
        + " FROM raw").fetchone()
    n, mean, deviation = stats[0], stats[1::2], stats[2::2]
    connection.execute(
        "CREATE TEMP TABLE points AS SELECT i, " + ", ".join(
            f"((r{d} - {mean[d]!r}::DOUBLE) / {deviation[d]!r}::DOUBLE)::FLOAT::DOUBLE AS x{d}"
            for d in features) + " FROM raw")
    columns = ", ".join(f"x{d}" for d in features)
    centers = [list(connection.execute(f"SELECT {columns} FROM points WHERE i = ?",
                                       [c * (n // KMEANS_K)]).fetchone()) for c in range(KMEANS_K)]

    def assign(centers):
        distance = ", ".join("(" + " + ".join(
            f"(x{d} - {c[d]!r}::DOUBLE) * (x{d} - {c[d]!r}::DOUBLE)" for d in features) + ")"
            for c in centers)
        # list_position finds the first, which is the lowest index on ties
        rows = connection.execute(
            f"WITH a AS (SELECT {columns}, [{distance}] AS d FROM points) "
            f"SELECT list_position(d, list_min(d)) - 1 AS label, count(*), fsum(list_min(d)), "
            + ", ".join(f"fsum(x{d})" for d in features) + " FROM a GROUP BY label").fetchall()
        sizes, sums, inertia = [0] * KMEANS_K, [None] * KMEANS_K, 0.0
        for row in rows:
            sizes[row[0]], sums[row[0]] = row[1], row[3:]
            inertia += row[2]
        return sizes, sums, inertia

    for iterations in range(1, KMEANS_MAX_ITERATIONS + 1):
        sizes, sums, inertia = assign(centers)
        updated = [[s / sizes[c] for s in sums[c]] if sizes[c] else centers[c] for c in range(KMEANS_K)]
        move = max(math.dist(a, b) for a, b in zip(updated, centers))
        centers = updated
        if move < KMEANS_EPSILON:
            break
    last = (inertia, sizes)
    sizes, _, inertia = assign(centers)
    return {"n": n, "mean": mean, "deviation": deviation, "iterations": iterations, "centers": centers,
            "inertia": inertia, "sizes": sizes, "last_inertia": last[0], "last_sizes": last[1]}


def kmeans_tables(r):
    order = sorted(range(KMEANS_K), key=lambda c: (-int(r["sizes"][c]), c))
    return {
        "kmeans_features": ("feature,mean,stddev", [
            (name, float(r["mean"][d]), float(r["deviation"][d]))
            for d, name in enumerate(KMEANS_FEATURES)]),
        "kmeans_summary": ("points,features,k,iterations,inertia,last_iteration_inertia", [
            (r["n"], len(KMEANS_FEATURES), KMEANS_K, r["iterations"], r["inertia"], r["last_inertia"])]),
        "kmeans_clusters": ("cluster,size,last_iteration_size," + ",".join(KMEANS_FEATURES), [
            (c, int(r["sizes"][c]), int(r["last_sizes"][c])) + tuple(float(v) for v in r["centers"][c])
            for c in order]),
    }


# ---------------------------------------------------------------- comparing and writing

def missing(value):
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def same(a, b, tolerance):
    if missing(a) or missing(b):
        return missing(a) and missing(b)
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)
    return int(a) == int(b)


def compare(name, left, right, tolerance=1e-9):
    if len(left) != len(right):
        raise SystemExit(f"{name}: {len(left)} rows against {len(right)}")
    for i, (a, b) in enumerate(zip(left, right)):
        if len(a) != len(b) or not all(same(x, y, tolerance) for x, y in zip(a, b)):
            raise SystemExit(f"{name}, row {i + 1}: {a} against {b}")


def render(header, rows):
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split(","))
    for row in rows:
        writer.writerow(["" if missing(v) else repr(v) if isinstance(v, float) else str(v) for v in row])
    return out.getvalue()


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Computes the fixtures of the examples.")
    parser.add_argument("--data", type=pathlib.Path, default=root / "examples" / "data")
    parser.add_argument("--out", type=pathlib.Path, default=root / "tests" / "examples" / "fixtures")
    parser.add_argument("--check", action="store_true", help="compare with the files, write nothing")
    args = parser.parse_args()

    connection, frames = load(args.data)
    results = {}
    other = pandas_figures(frames)
    for name, (header, sql) in SQL.items():
        rows = connection.execute(sql).fetchall()
        compare(name, rows, other[name])
        results[name] = (header, rows)
    rows = summary_sql(connection)
    compare("data_summary", rows, summary_pandas(frames))
    results["data_summary"] = ("file,column,rows,missing,distinct,sum", rows)

    first = kmeans_numpy(frames)
    tables, tables_sql = kmeans_tables(first), kmeans_tables(kmeans_sql(connection))
    for name in tables:
        compare(name, tables[name][1], tables_sql[name][1], 1e-7)
    results.update(tables)
    print("k-means: the last center moves were", ", ".join(f"{m:.3e}" for m in first["moves"][-3:]))

    for name, (header, rows) in results.items():
        path = args.out / f"{name}.csv"
        if args.check:
            stored = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
            fresh = list(csv.reader(io.StringIO(render(header, rows))))

            def numbers(table):
                def parse(v):
                    try:
                        return float(v)
                    except ValueError:
                        return v
                return [tuple(map(parse, row)) for row in table]
            compare(name, numbers(fresh), numbers(stored))
        else:
            args.out.mkdir(parents=True, exist_ok=True)
            path.write_bytes(render(header, rows).encode("utf-8"))
        print(f"{name}: {len(rows)} rows {'as stored' if args.check else 'written'}")


if __name__ == "__main__":
    main()
