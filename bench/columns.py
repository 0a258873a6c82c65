"""The tables that `h2o ROWS FOLDER` and `operators ROWS FOLDER` wrote, as Arrow tables."""
from pathlib import Path

import numpy
import pyarrow

FIELDS = {
    "g": "id1 id2 id3 id4 id5 id6 v1 v2 v3",
    "x": "id1 id2 id3 id4 id5 id6 v1",
    "small": "id1 id4 v2",
    "medium": "id1 id2 id4 id5 v2",
    "big": "id1 id2 id3 id4 id5 id6 v2",
    "t": "hundred thousands million each zipf sorted clustered k d text",
    **dict.fromkeys(["one", "large", "ten", "hundred", "thousand"], "key v"),
}


def column(path):
    for suffix, kind in ((".i4", numpy.int32), (".f8", numpy.float64)):
        if Path(path + suffix).exists():
            return pyarrow.array(numpy.fromfile(path + suffix, kind))
    lengths = numpy.fromfile(path + ".len", numpy.uint8)
    offsets = numpy.zeros(len(lengths) + 1, numpy.int32)
    numpy.cumsum(lengths, out=offsets[1:])
    characters = pyarrow.py_buffer(Path(path + ".txt").read_bytes())
    return pyarrow.StringArray.from_buffers(len(lengths), pyarrow.py_buffer(offsets), characters)


def table(folder, name):
    return pyarrow.table({f: column(str(Path(folder) / f"{name}.{f}")) for f in FIELDS[name].split()})
