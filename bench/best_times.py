"""A peer's line for bench/windows, asof and reshaping: the best of three times, and the sum of column s by which answers are compared."""
import time

import polars


def answer(name, run):
    wall, processor = [], []
    for _ in range(3):
        begin, begun = time.perf_counter(), time.process_time()
        result = run()
        wall.append(time.perf_counter() - begin)
        processor.append(time.process_time() - begun)
    total = polars.from_arrow(result)["s"].sum() if not isinstance(result, polars.DataFrame) else result["s"].sum()
    print(f"{name:32} {min(wall) * 1e3:8.0f} ms, processor {min(processor) * 1e3:8.0f} ms, sum {total:.3f}", flush=True)
