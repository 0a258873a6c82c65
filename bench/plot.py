#!/usr/bin/env python3
"""Draws a table of times of a page of bench/results as an SVG: a line a row, a dot an engine, on a logarithmic scale.

    plot.py PAGE.md PLOT.svg [NUMBER] [UNIT] [COLUMN]    of the tables with a column `query`, or COLUMN, the first, or number NUMBER;
                                                         milliseconds or UNIT
"""
import html
import math
import re
import sys
from pathlib import Path

COLOURS = {"query": "#c0392b", "records": "#e59866", "by hand": "#7f8c8d", "tbb": "#7f8c8d", "DuckDB": "#d4a017", "Polars": "#2471a3",
           "DataFusion": "#1e8449", "CPU": "#2471a3", "GPU": "#d4a017", "resident": "#c0392b"}
LEFT, ROW, WIDTH, TOP = 300, 22, 560, 52


def tables(text):
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) > 2:
            yield [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def number(cell):
    try:
        return float(cell.replace(",", "").replace(" (C)", "").strip("*"))
    except ValueError:
        return None


page, plot = Path(sys.argv[1]), Path(sys.argv[2])
which, unit = int(sys.argv[3]) if len(sys.argv) > 3 else 1, sys.argv[4] if len(sys.argv) > 4 else "ms"
column = sys.argv[5] if len(sys.argv) > 5 else "query"
header, _, *rows = [t for t in tables(page.read_text()) if column in t[0]][which - 1]
engines = [(i, name) for i, name in enumerate(header) if name in COLOURS]
values = {(r, i): v for r, row in enumerate(rows) for i, _ in engines if i < len(row) and (v := number(row[i])) and v > 0}
LEFT = max(LEFT, max(7 * len(", ".join(c for c in row[:header.index(column)] if number(c) is None)) + 24 for row in rows))
low, high = (f(math.log10(v) for v in values.values()) for f in (min, max))
low, high = math.floor(low * 2) / 2, math.ceil(high * 2) / 2


def x(v):
    return LEFT + WIDTH * (math.log10(v) - low) / (high - low)


height = TOP + ROW * len(rows) + 24
out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" font-family="sans-serif" font-size="12">',
       '<rect width="100%" height="100%" fill="white"/>']
for k, (_, name) in enumerate(engines):
    out.append(f'<circle cx="{LEFT + 105 * k}" cy="18" r="5" fill="{COLOURS[name]}"/><text x="{LEFT + 9 + 105 * k}" y="22">{name}</text>')
for power in range(math.ceil(low), math.floor(high) + 1):
    at = x(10**power)
    out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 12}" y2="{height - 20}" stroke="#dddddd"/>'
               f'<text x="{at:.1f}" y="{height - 6}" text-anchor="middle">{10**power:g} {unit}</text>')
for r, row in enumerate(rows):
    label = ", ".join(c for c in row[:header.index(column)] if number(c) is None)
    y, of_row = TOP + ROW * r, [v for (at, _), v in values.items() if at == r]
    out.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{html.escape(label)}</text>')
    if of_row:
        out.append(f'<line x1="{x(min(of_row)):.1f}" x2="{x(max(of_row)):.1f}" y1="{y}" y2="{y}" stroke="#bbbbbb" stroke-width="2"/>')
    for i, name in reversed(engines):
        if (r, i) in values:
            out.append(f'<circle cx="{x(values[r, i]):.1f}" cy="{y}" r="5" fill="{COLOURS[name]}"/>')
plot.write_text("\n".join(out) + "\n</svg>\n")
