#!/usr/bin/env python3
"""Makes examples/data/debian_*.csv.xz from the package index of Debian 12: its packages, and who depends on whom.

    scripts/make_debian_data.py [--index FILE] [--out DIR]

FILE is an uncompressed index, Packages of bookworm, main, amd64. Without it, the script reads the index that apt of
this machine has (apt-get update). Only the Python standard library is needed.

debian_packages.csv has a row for each package: its name, its section and the first line of its description.
debian_dependencies.csv has a row for each pair of packages of which the first names the second in Depends or
Pre-Depends, also as an alternative. It has the packages' row numbers, which begin with 0. A name that only packages
with another name provide is left out.
"""
import argparse
import csv
import hashlib
import io
import lzma
import pathlib
import re
import subprocess
import sys


def index_of_apt():
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(FILENAME) $(CODENAME) $(COMPONENT) $(ARCHITECTURE)",
                             "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        file, *what = line.split()
        if what == ["bookworm", "main", "amd64"]:
            return subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", file], check=True, capture_output=True).stdout
    sys.exit("make_debian_data: apt of this machine has no index of bookworm, main, amd64: give one by --index")


def stanzas(index):
    """Fields by name, without the lines that continue a field."""
    for stanza in index.decode().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if "Package" in fields:
            yield fields


def write(path, header, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    data = text.getvalue().encode()
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.name}: {len(rows):,} rows, {len(data):,} bytes, {path.stat().st_size:,} compressed, "
          f"sha256 {hashlib.sha256(data).hexdigest()}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--index", type=pathlib.Path)
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "examples" / "data")
    given = arguments.parse_args()
    index = given.index.read_bytes() if given.index else index_of_apt()
    print(f"index: {len(index):,} bytes, sha256 {hashlib.sha256(index).hexdigest()}")
    packages = sorted({p["Package"]: p for p in stanzas(index)}.items())
    number = {name: i for i, (name, _) in enumerate(packages)}
    pairs = set()
    for name, fields in packages:
        for field in ("Pre-Depends", "Depends"):
            for needed in re.split(r"[,|]", fields.get(field, "")):
                needed = re.split(r"[ (:]", needed.strip())[0]
                if needed in number and needed != name:
                    pairs.add((number[name], number[needed]))
    write(given.out / "debian_packages.csv.xz", ("name", "section", "description"),
          [(name, fields.get("Section", ""), fields.get("Description", "")) for name, fields in packages])
    write(given.out / "debian_dependencies.csv.xz", ("from", "to"), sorted(pairs))


if __name__ == "__main__":
    main()
