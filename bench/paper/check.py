#!/usr/bin/env python3
"""A second implementation of each program of examples/paper, on the data and the answer that the program wrote.

    check.py PROGRAM FOLDER    says whether the answers agree; the exit status is 1 if not
"""
import json
import sys
from collections import defaultdict
from math import log
from pathlib import Path

import numpy as np

FOLDER = Path()


def rows(name, *fields):
    return np.fromfile(FOLDER / f"{name}.bin", np.dtype(list(fields), align=True))


def json_lines(name):
    return [json.loads(line) for line in (FOLDER / f"{name}.json").read_text().splitlines()]


def kmeans():
    """numpy; then each point goes to a center that no other is nearer than."""
    n, k = 20, 10
    points = rows("points", ("x", "f4", n))["x"].astype(float)
    answer = rows("answer", ("id", "i4"), ("x", "f4", n))

    def distances(centers):
        return np.stack([((points - c) ** 2).sum(axis=1) for c in centers], axis=1)

    centers = points[:k]
    for _ in range(5):
        labels = distances(centers).argmin(axis=1)
        ids = np.unique(labels)
        centers = np.stack([points[labels == i].mean(axis=0) for i in ids]).astype("f4").astype(float)
    if list(ids) != list(answer["id"]) or not np.allclose(centers, answer["x"], rtol=1e-3):
        return False
    exact = distances(centers)
    chosen = distances(answer["x"].astype(float)).argmin(axis=1)
    return np.allclose(exact[np.arange(len(points)), chosen], exact.min(axis=1), rtol=1e-3)


def page_rank():
    """scipy's sparse matrix, ten times."""
    from scipy.sparse import csr_matrix

    links, answer = rows("links", ("from", "i4"), ("to", "i4")), rows("answer", ("id", "i4"), ("rank", "f8"))
    n = len(answer)
    out = np.bincount(links["from"], minlength=n)
    passed = csr_matrix((1.0 / out[links["from"]], (links["to"], links["from"])), shape=(n, n))
    rank = np.full(n, 1.0 / n)
    for _ in range(10):
        rank = 0.15 / n + 0.85 * (passed @ rank)
    return np.array_equal(answer["id"], np.arange(n)) and np.allclose(rank, answer["rank"], rtol=1e-9, atol=0)


def sky_server():
    """DuckDB."""
    import duckdb
    import pyarrow

    bands = "ugriz"
    of_objects = rows("objects", ("id", "i8"), *((b, "f4") for b in bands))
    of_neighbors = rows("neighbors", ("object", "i8"), ("neighbor", "i8"))
    objects = pyarrow.table({name: of_objects[name] for name in ("id", *bands)})
    neighbors = pyarrow.table({name: of_neighbors[name] for name in ("object", "neighbor")})
    near = " AND ".join(f"abs((p.{a} - p.{b}) - (l.{a} - l.{b})) < 0.05::FLOAT" for a, b in zip(bands, bands[1:]))
    found = duckdb.sql(f"""SELECT DISTINCT p.id FROM neighbors n JOIN objects p ON p.id = n.object
                           JOIN objects l ON l.id = n.neighbor WHERE n.object < n.neighbor AND {near} ORDER BY p.id""")
    return np.array_equal(found.fetchnumpy()["id"], np.fromfile(FOLDER / "answer.bin", "i8")) and objects and neighbors


def black_scholes():
    """The closed form with 64-bit numbers."""
    from scipy.special import ndtr

    o, answer = rows("options", *((f, "f4") for f in ("spot", "strike", "years"))), rows("answer", ("call", "f4"), ("put", "f4"))
    spot, strike, years = (o[f].astype(float) for f in ("spot", "strike", "years"))
    rate, volatility = 0.02, 0.3
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
    d2 = d1 - volatility * np.sqrt(years)
    discounted = strike * np.exp(-rate * years)
    call, put = spot * ndtr(d1) - discounted * ndtr(d2), discounted * ndtr(-d2) - spot * ndtr(-d1)
    return np.allclose(call, answer["call"], atol=1e-4) and np.allclose(put, answer["put"], atol=1e-4)


def tera_sort():
    """numpy's sort of whole records."""
    records, answer = (np.fromfile(FOLDER / f"{name}.bin", "V100") for name in ("records", "answer"))
    keys = np.frombuffer(answer.tobytes(), "u1").reshape(-1, 100)[:, :10]
    in_order = all(a.tobytes() <= b.tobytes() for a, b in zip(keys, keys[1:]))
    return in_order and sorted(r.tobytes() for r in records) == sorted(r.tobytes() for r in answer)


def decision_tree():
    """scikit-learn's tree by entropy; where two attributes leave the same entropy, either may be chosen."""
    from sklearn.tree import DecisionTreeClassifier

    examples = rows("examples", ("values", "u1", 100), ("label", "u1"))
    answer = rows("answer", ("id", "i4"), ("attribute", "i4"), ("rows", "i8"), ("ones", "i8"))
    values, labels = examples["values"], examples["label"]
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=0).fit(values, labels).tree_

    def entropy(here):
        ones = labels[here].mean() if here.any() else 0
        return here.sum() * -sum(p * np.log2(p) for p in (ones, 1 - ones) if p > 0)

    def after(here, attribute):
        return sum(entropy(here & (values[:, attribute] == v)) for v in (0, 1))

    def same(id, node, here):
        ours = answer[id]
        if ours["rows"] != here.sum() or ours["ones"] != labels[here].sum():
            return False
        theirs = tree.feature[node] if tree.children_left[node] >= 0 else -1
        if ours["attribute"] < 0 or theirs < 0:
            best = min((after(here, a) for a in range(values.shape[1])), default=0)
            if id >= 15:
                return ours["attribute"] == -1
            return ours["attribute"] == theirs or entropy(here) - best < 1e-6
        if ours["attribute"] != theirs:
            return abs(after(here, ours["attribute"]) - after(here, theirs)) < 1e-6
        return all(same(2 * id + 1 + v, (tree.children_left, tree.children_right)[v][node], here & (values[:, theirs] == v))
                   for v in (0, 1))

    return answer["attribute"].max() >= 0 and same(0, 0, np.ones(len(labels), bool))


def bm25():
    """The formula, word by word."""
    weight, b, k1 = (5.0, 1.0), (0.5, 0.75), 1.2
    fields, terms = json_lines("fields"), json_lines("terms")
    answer = rows("answer", ("search", "i4"), ("document", "i4"), ("score", "f8"))
    words = [f["text"].split(" ") for f in fields]
    mean = [np.mean([len(w) for f, w in zip(fields, words) if f["field"] == field]) for field in (0, 1)]
    postings = defaultdict(lambda: defaultdict(float))
    for f, of_field in zip(fields, words):
        field = f["field"]
        for word in of_field:
            postings[word][f["document"]] += weight[field] / (1 - b[field] + b[field] * len(of_field) / mean[field])
    documents = len(fields) / 2
    scores = defaultdict(lambda: defaultdict(float))
    for t in terms:
        found = postings[t["word"]]
        rarity = log(1 + (documents - len(found) + 0.5) / (len(found) + 0.5))
        for document, w in found.items():
            scores[t["search"]][document] += rarity * w / (k1 + w)
    for search, of_document in scores.items():
        ours = answer[answer["search"] == search]
        best = sorted(of_document.values(), reverse=True)[:10]
        if len(ours) != len(best) or not np.allclose(ours["score"], best, rtol=1e-9):
            return False
        if not np.allclose([of_document[d] for d in ours["document"]], best, rtol=1e-9):
            return False
    return len(answer) == sum(min(10, len(s)) for s in scores.values())


def main():
    global FOLDER
    program, FOLDER = sys.argv[1], Path(sys.argv[2])
    second = {f.__name__: f for f in (kmeans, page_rank, sky_server, black_scholes, tera_sort, decision_tree, bm25)}[program]
    agree = bool(second())
    print(f"{program}: {'agrees' if agree else 'DIFFERS'} with: {second.__doc__.splitlines()[0]}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
