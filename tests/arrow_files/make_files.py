"""Files that pyarrow makes and reads for parquet_pyarrow_test.cpp.

usage: make_files.py FUNCTION FOLDER
"""
import datetime
import os
import sys

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

DAY = datetime.datetime(2026, 1, 1)


def rows(n):
    return pa.table({
        "id": pa.array(range(n), pa.int64()),
        "symbol": pa.array(["AB" if i % 2 else "a symbol of many characters" for i in range(n)]),
        "price": pa.array([None if i % 10 == 0 else i / 4 for i in range(n)], pa.float64()),
        "time": pa.array([DAY + datetime.timedelta(seconds=i) for i in range(n)], pa.timestamp("us")),
        "day": pa.array([(DAY + datetime.timedelta(days=i % 365)).date() for i in range(n)], pa.date32()),
        "tags": pa.array([[f"t{k}" for k in range(i % 3)] for i in range(n)], pa.list_(pa.string())),
        "at": pa.array([{"x": i / 2, "label": None if i % 4 == 0 else str(i)} for i in range(n)],
                       pa.struct([("x", pa.float64()), ("label", pa.string())])),
        "ignored": pa.array([[{"a": i}] for i in range(n)]),
    })


def write(folder):
    table = rows(5000)
    pq.write_table(table, folder + "/plain.parquet", row_group_size=1000)
    pq.write_table(table, folder + "/old.parquet", row_group_size=700, version="1.0", compression="gzip", use_dictionary=False)
    pq.write_table(table, folder + "/new.parquet", row_group_size=1234, version="2.6", data_page_version="2.0", compression="zstd",
                   column_encoding={"id": "DELTA_BINARY_PACKED", "symbol": "DELTA_LENGTH_BYTE_ARRAY"}, use_dictionary=False)
    pq.write_table(table, folder + "/silent.parquet", row_group_size=1000, write_statistics=False, store_schema=False)
    coded = table.set_column(1, "symbol", table["symbol"].dictionary_encode())
    pq.write_table(coded, folder + "/coded.parquet", row_group_size=1000)
    large = table.set_column(1, "symbol", table["symbol"].cast(pa.large_string()))
    pq.write_table(large, folder + "/large.parquet")
    feather.write_feather(coded.combine_chunks(), folder + "/coded.arrow", chunksize=999)
    pq.write_table(table.slice(0, 0), folder + "/none.parquet")
    parts = table.select(["id", "price"]).append_column("year", pa.array([2020 + i % 3 for i in range(5000)], pa.int32()))
    pq.write_table(table, folder + "/zstd_pages.parquet", row_group_size=1000, compression="zstd", use_dictionary=["symbol"],
                   write_page_index=True)
    pq.write_to_dataset(parts, folder + "/parts", partition_cols=["year"])


def rewrite(folder):
    """The rows of m.parquet, as others write them."""
    table = pq.read_table(folder + "/m.parquet")
    pq.write_table(table, folder + "/old.parquet", row_group_size=8, version="2.4", data_page_version="2.0", use_dictionary=False)
    pq.write_table(table, folder + "/silent.parquet", row_group_size=8, write_statistics=False)
    names = [f.name for f in table.schema if pa.types.is_large_string(f.type)]
    coded = table
    for name in names:
        i = coded.schema.get_field_index(name)
        values = coded.column(i).dictionary_encode()
        coded = coded.set_column(i, coded.schema.field(i).with_type(values.type), values)
    pq.write_table(coded, folder + "/coded.parquet", row_group_size=8)
    pq.write_table(table, folder + "/unsigned.parquet", row_group_size=7, version="2.6", compression="none")
    try:
        import polars
    except ImportError:
        return
    # It has no fields that take no null, and other durations.
    polars.read_parquet(folder + "/m.parquet").write_parquet(folder + "/polars.parquet", row_group_size=16, statistics="full")


def check(folder):
    """Reads what the library wrote of rows(5000)."""
    wanted = rows(5000).drop_columns(["ignored"])
    for name in "copy.parquet", "copy.arrow":
        read = pq.read_table(folder + "/" + name) if name.endswith(".parquet") else feather.read_table(folder + "/" + name)
        read.validate(full=True)
        assert read.to_pylist() == [{**r, "time": r["time"].replace(tzinfo=datetime.timezone.utc)} for r in wanted.to_pylist()], name
    file = pq.ParquetFile(folder + "/copy.parquet")
    assert file.metadata.num_row_groups == 5, file.metadata
    column = file.metadata.row_group(2).column(0)
    assert column.compression == "ZSTD", column
    assert (column.statistics.min, column.statistics.max) == (2000, 2999), column
    assert not file.schema_arrow.field("id").nullable and file.schema_arrow.field("price").nullable


def check_folders(folder):
    """Reads the folders that the library wrote of rows with these values."""
    read = pq.read_table(folder + "/folders").to_pylist()
    assert sorted((r["id"], int(r["year"]), r["region"]) for r in read if r["region"] is not None) == [
        (i, 2020 + i % 3, ["north sea", "a=b/c%", "\u00e9"][i % 5]) for i in range(100) if i % 5 < 3], read[:5]
    assert sum(r["region"] is None for r in read) == 40


if __name__ == "__main__":
    {"write": write, "rewrite": rewrite, "check": check, "check_folders": check_folders}[sys.argv[1]](sys.argv[2])
