"""pyarrow and Polars as producers and consumers of Arrow data, through queries of border.cc.

usage: arrow_test.py LIBRARY
"""
import ctypes
import datetime
import random
import sys
import unittest

import polars as pl
import pyarrow as pa

library = None
STRUCT_BYTES = 128  # more than any struct of the interface has


def call(name, *addresses):
    function = getattr(library, name)
    function.restype = ctypes.c_char_p
    function.argtypes = [ctypes.c_void_p] * len(addresses)
    failed = function(*addresses)
    if failed is not None:
        raise ValueError(failed.decode())


def new_struct():
    return ctypes.create_string_buffer(STRUCT_BYTES)


api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Result:
    """A stream that the library filled, for consumers who ask for a capsule."""

    def __init__(self):
        self.struct = new_struct()

    def address(self):
        return ctypes.addressof(self.struct)

    def __arrow_c_stream__(self, requested_schema=None):
        return api.PyCapsule_New(self.address(), b"arrow_array_stream", None)


def through(name, producer):
    """What the query gives of a table, a reader or a data frame, as a stream."""
    capsule = producer.__arrow_c_stream__()
    result = Result()
    call(name, api.PyCapsule_GetPointer(capsule, b"arrow_array_stream"), result.address())
    return result


def to_pyarrow(result):
    return pa.RecordBatchReader._import_from_c(result.address()).read_all()


def schema(string=pa.string(), keys=None, list_of=pa.list_):
    text = pa.dictionary(keys, string) if keys else string
    point = pa.struct([("x", pa.float64()), ("label", string)])
    return pa.schema([
        ("id", pa.int64()), ("small", pa.int32()), ("price", pa.float64()), ("number", pa.float32()), ("flag", pa.bool_()),
        ("maybe_flag", pa.bool_()), ("symbol", text), ("note", text), ("point", point), ("maybe_point", point),
        ("list", list_of(pa.int32())), ("names", list_of(string)), ("pair", pa.list_(pa.float32(), 2)), ("time", pa.timestamp("us")),
    ])


def rows(n, seed=1):
    r = random.Random(seed)

    def maybe(value):
        return value if r.random() < 0.8 else None

    def text():
        return r.choice(["", "a", "twelve chars", "thirteen char", "longer than a view \u00e4\u00f6\u00fc", "b" * r.randrange(40)])

    def point():
        return {"x": float(r.randrange(100)), "label": text()}

    epoch = datetime.datetime(2026, 1, 1)
    return [{
        "id": i, "small": maybe(r.randrange(-1000, 1000)), "price": r.randrange(1000) / 4, "number": maybe(r.randrange(100) / 2),
        "flag": r.random() < 0.5, "maybe_flag": maybe(r.random() < 0.5), "symbol": text(), "note": maybe(text()), "point": point(),
        "maybe_point": maybe(point()), "list": [r.randrange(9) for _ in range(r.randrange(4))],
        "names": maybe([maybe(text()) for _ in range(r.randrange(3))]), "pair": [1.5, float(i % 7)],
        "time": maybe(epoch + datetime.timedelta(microseconds=r.randrange(10**12))),
    } for i in range(n)]


def as_integers(records):
    """Times come back as the integers that they are kept in."""
    epoch = datetime.datetime(1970, 1, 1)
    return [{**r, "time": r["time"] and (r["time"] - epoch) // datetime.timedelta(microseconds=1)} for r in records]


class Pyarrow(unittest.TestCase):
    def check(self, table):
        self.assertEqual(to_pyarrow(through("echo_stream", table)).to_pylist(), as_integers(table.to_pylist()))

    def test_strings_of_every_layout(self):
        for string in pa.string(), pa.large_string(), pa.string_view():
            self.check(pa.Table.from_pylist(rows(500), schema(string)))

    def test_dictionaries(self):
        for keys in pa.int8(), pa.int16(), pa.uint8(), pa.int32(), pa.int64(), pa.uint32():
            for string in pa.string(), pa.large_string():
                plain = pa.Table.from_pylist(rows(100), schema(string))
                table = plain.cast(schema(string, keys)) if keys == pa.int32() else pa.table(
                    [plain[n].dictionary_encode().cast(f.type) if pa.types.is_dictionary(f.type) else plain[n]
                     for n, f in zip(plain.column_names, schema(string, keys))], schema(string, keys))
                self.check(table)

    def test_large_lists(self):
        self.check(pa.Table.from_pylist(rows(300), schema(list_of=pa.large_list)))

    def test_slices(self):
        table = pa.Table.from_pylist(rows(1000), schema())
        for first, n in (1, 999), (7, 64), (500, 1), (999, 1), (13, 0):
            self.check(table.slice(first, n))

    def test_a_sliced_record_batch(self):
        batch = pa.RecordBatch.from_pylist(rows(200), schema()).slice(33, 100)
        given, types, got, got_types = (new_struct() for _ in range(4))
        batch._export_to_c(ctypes.addressof(given), ctypes.addressof(types))
        call("echo_array", *(ctypes.addressof(s) for s in (given, types, got, got_types)))
        result = pa.RecordBatch._import_from_c(ctypes.addressof(got), ctypes.addressof(got_types))
        result.validate(full=True)
        self.assertEqual(result.to_pylist(), as_integers(batch.to_pylist()))

    def test_a_sliced_struct_array(self):
        array = pa.Table.from_pylist(rows(200), schema()).to_struct_array().combine_chunks()
        array = (array.chunk(0) if isinstance(array, pa.ChunkedArray) else array).slice(50, 77)
        given, types, got, got_types = (new_struct() for _ in range(4))
        array._export_to_c(ctypes.addressof(given), ctypes.addressof(types))
        call("echo_array", *(ctypes.addressof(s) for s in (given, types, got, got_types)))
        result = pa.RecordBatch._import_from_c(ctypes.addressof(got), ctypes.addressof(got_types))
        self.assertEqual(result.to_pylist(), as_integers(array.to_pylist()))

    def test_several_batches(self):
        tables = [pa.Table.from_pylist(rows(n, n), schema()) for n in (1, 0, 30_000, 17)]
        self.check(pa.concat_tables(tables))

    def test_empty_tables(self):
        self.check(schema().empty_table())
        self.check(pa.Table.from_batches([], schema()))

    def test_results_are_valid(self):
        result = to_pyarrow(through("echo_stream", pa.Table.from_pylist(rows(70_000), schema())))
        result.validate(full=True)
        self.assertEqual(result.schema.field("symbol").type, pa.string_view())
        self.assertEqual(result.schema.field("pair").type, pa.list_(pa.field("item", pa.float32(), nullable=False), 2))
        self.assertFalse(result.schema.field("id").nullable)
        self.assertTrue(result.schema.field("note").nullable)
        self.assertEqual(result["note"].null_count, sum(r["note"] is None for r in rows(70_000)))

    def test_errors_name_field_and_types(self):
        table = pa.Table.from_pylist(rows(10), schema())
        for wrong, *words in (
                (table.drop_columns(["price"]), "price", "f64"),
                (table.set_column(2, "price", pa.array(range(10), pa.int32())), "price", "f64", "int32"),
                (table.set_column(2, "price", pa.array([1.0] * 7 + [None] * 3)), "price", "f64", "double", "row 7"),
                (table.set_column(2, "price", pa.array([None] * 10)), "price", "f64", "null", "row 0"),
                (table.set_column(2, "price", pa.array([1] * 10, pa.decimal128(10, 2))), "price", "f64", "decimal")):
            with self.assertRaises(ValueError) as raised:
                through("echo_stream", wrong)
            for word in words:
                self.assertIn(word, str(raised.exception))

    def test_an_error_of_the_producer(self):
        def batches():
            yield pa.RecordBatch.from_pylist(rows(5), schema())
            raise OSError("the file ends too early")

        with self.assertRaisesRegex(ValueError, "the file ends too early"):
            through("echo_stream", pa.RecordBatchReader.from_batches(schema(), batches()))

    def test_all_memory_is_released(self):
        before = pa.total_allocated_bytes()
        table = pa.Table.from_pylist(rows(1000), schema())
        to_pyarrow(through("echo_stream", table))
        del table
        self.assertEqual(pa.total_allocated_bytes(), before)


class Polars(unittest.TestCase):
    types = {"id": pl.Int64, "small": pl.Int32, "price": pl.Float64, "number": pl.Float32, "flag": pl.Boolean, "maybe_flag": pl.Boolean,
             "symbol": pl.String, "note": pl.String, "point": pl.Struct({"x": pl.Float64, "label": pl.String}),
             "maybe_point": pl.Struct({"x": pl.Float64, "label": pl.String}), "list": pl.List(pl.Int32), "names": pl.List(pl.String),
             "pair": pl.Array(pl.Float32, 2), "time": pl.Datetime("us")}

    def frame(self, n, seed=1):
        return pl.DataFrame(rows(n, seed), schema=self.types)

    def check(self, frame):
        result = pl.DataFrame(through("echo_stream", frame))
        self.assertEqual([{**r, "pair": list(r["pair"])} for r in result.to_dicts()],
                         [{**r, "pair": list(r["pair"])} for r in as_integers(frame.to_dicts())])

    def test_frames(self):
        for n in 0, 1, 1000:
            self.check(self.frame(n))

    def test_slices(self):
        self.check(self.frame(1000).slice(37, 501))

    def test_several_chunks(self):
        self.check(pl.concat([self.frame(n, n) for n in (100, 1, 0, 20_000)], rechunk=False))

    def test_categories(self):
        frame = self.frame(300)
        self.check(frame.with_columns(pl.col("symbol", "note").cast(pl.Categorical)))
        self.check(frame.with_columns(pl.col("symbol").cast(pl.Enum(frame["symbol"].unique().sort()))))

    def test_columns_of_nulls(self):
        self.check(self.frame(5).with_columns(note=pl.lit(None)))

    def test_totals(self):
        r = random.Random(3)
        frame = pl.DataFrame({"quantity": [r.randrange(100) for _ in range(50_000)], "ignored": [None] * 50_000,
                              "symbol": [r.choice(["AAPL", "a symbol of many characters", "", "MSFT"]) for _ in range(50_000)],
                              "price": [r.randrange(1000) / 4 for _ in range(50_000)]})
        wanted = frame.group_by("symbol").agg(value=(pl.col("price") * pl.col("quantity")).sum(), trades=pl.len()).sort("symbol")
        for given in frame, frame.to_arrow(), frame.with_columns(pl.col("symbol").cast(pl.Categorical)):
            self.assertEqual(pl.DataFrame(through("totals", given)).to_dicts(), wanted.to_dicts())
            self.assertEqual(to_pyarrow(through("totals", given)).to_pylist(), wanted.to_dicts())


if __name__ == "__main__":
    library = ctypes.CDLL(sys.argv.pop(1))
    print("pyarrow", pa.__version__, "polars", pl.__version__, file=sys.stderr)
    unittest.main()
