"""`make bench`: every figure is a ratio measured within one run, so that it holds on another machine."""

from __future__ import annotations

import json
import platform
import sys

from benchmarks.speed import browser, cache, chat, gpu, kernels, memory, overhead, precision, scoring, ttm

PARTS = {
    "kernels": kernels.measure,
    "overhead": overhead.measure,
    "ttm": ttm.measure,
    "ttm-rounds": ttm.rounds,
    "scoring": scoring.measure,
    "cache": cache.measure,
    "chat": chat.measure,
    "precision": precision.measure,
    "memory": memory.measure,
    "gpu": gpu.measure,
    "browser": browser.measure,
}


def main() -> None:
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; known: {', '.join(PARTS)}")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    for name in wanted:
        for row in PARTS[name]():
            print(json.dumps({"benchmark": name, **row}), flush=True)


main()
