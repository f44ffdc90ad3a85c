"""What the controller costs per attempt: ``python -m benchmarks.bench_controller``.

CPU time of prompt assembly, judging and the machine's steps, for a 1 kB receipt and a document of 30,000 tokens, beside a plain
loop that formats a string, parses JSON and looks at two fields. Absolute times depend on the machine; the ratio less so.
"""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable

from controller.reply import Reply, Request
from controller.runner import prepare
from controller.testing import EveryAlias, run_record
from tests.envelopes import small

REPLIES = ['{"total":"9.99","qty":2}', '{"total":"15.00","qty":2}']
LINE = "Article 0000001   12.50\n"
LARGE = {"limits__caps__document": 40_000, "limits__total_tokens": 400_000, "model__context_window": 99_000}


class Answering:
    """Wrong first, then right; keeps nothing, so that what is measured is the controller."""

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        return Reply(REPLIES[request.attempt - 1])


def document(size: int) -> str:
    return LINE * (size // len(LINE)) + "Total 15.00\n"


def controlled(text: str) -> Callable[[], None]:
    """One record in two attempts: the first fails a check, the second passes."""
    prepared = prepare(small(**LARGE), EveryAlias(Answering()))

    def run() -> None:
        assert run_record(prepared, text).result.attempts == 2

    return run


def plain(text: str) -> Callable[[], None]:
    def run() -> None:
        for reply in REPLIES:
            prompt = f"You copy.\n{text}\nReturn one JSON object."
            assert prompt
            value = json.loads(reply)
            if isinstance(value["total"], str) and isinstance(value["qty"], int) and value["total"] in text:
                return

    return run


def cpu_ms(run: Callable[[], None], *, seconds: float = 1.0) -> float:
    """CPU milliseconds per attempt, over two attempts per run; the best of five batches."""
    run()
    count = 1
    while True:
        started = time.process_time()
        for _ in range(count):
            run()
        if time.process_time() - started > seconds / 10:
            break
        count *= 2
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(count):
            run()
        best = min(best, (time.process_time() - started) / count)
    return best * 1000 / len(REPLIES)


def growth_per_thousand(runs: int = 3_000) -> float:
    """Bytes that 1,000 finished runs leave behind, once caches are warm."""
    run = controlled(document(1_000))
    for _ in range(200):
        run()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(runs):
        run()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) * 1000 / runs


def main() -> None:
    print("| document | controller, CPU ms per attempt | plain loop | ratio | allowed |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, size, allowed in (("1 kB receipt", 1_000, 1), ("30,000 tokens", 30_000, 10)):
        ours, theirs = cpu_ms(controlled(document(size))), cpu_ms(plain(document(size)))
        print(f"| {name} | {ours:.3f} | {theirs:.4f} | {ours / theirs:.0f} | {allowed} |")
    print(f"\nMemory left behind by 1,000 finished runs: {max(0, growth_per_thousand()):.0f} bytes")


if __name__ == "__main__":
    main()
