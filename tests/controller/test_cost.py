"""What finished runs leave behind: nothing that grows with their number."""

from __future__ import annotations

import gc
import tracemalloc

from benchmarks.bench_controller import controlled, document


def test_memory_does_not_grow_with_runs() -> None:
    run = controlled(document(1_000))
    for _ in range(150):
        run()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(400):
            run()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # The interpreter's own free lists fill up once (some 6 kB); a run that left anything behind would show 400 times over.
    assert grown < 40_000
