"""How fast the controller and the whole path are: ``python -m benchmarks.bench [--records N] [--rounds N]``.

Both are measured beside a plain loop that does the same work without the product: build the same request, ask the same backend,
``json.loads``, JSON Schema, the same ten checks. On one core, in one process, alternating, so that the ratios mean something on
a machine that does other things. What others do on the machine only ever adds: the best of several rounds is told, as
``timeit`` does it, in CPU time of this process (to which no wait for a core adds) and for the whole path in wall time too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jsonschema_rs

from benchmarks.receipts import ENVELOPE, receipt
from benchmarks.scratch import installation, signed
from controller import machine
from controller.authoring import read
from controller.checks.base import Subject as Judged
from controller.document import Document
from controller.reply import Backend, Reply, Request
from controller.runner import Prepared, Subject, Surroundings, drive, prepare
from controller.testing import MemoryStore

CPU_BAR_MS = 1.0
RATE_BAR = 150


class Known:
    """The scripted backend of the benchmark: knows the right reply by the record's id, and keeps nothing."""

    def __init__(self, replies: dict[str, str]) -> None:
        self.replies = replies

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        return Reply(self.replies[request.record])


class Everywhere(dict[str, Backend]):
    """One backend behind every alias."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(default=backend)


def one_core() -> str:
    """Binds the process to one core where the system can, and says which."""
    if not hasattr(os, "sched_setaffinity"):
        return "not bound to a core: this system cannot"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"bound to core {core}"


def empty_loop_ms() -> float:
    """CPU ms for a million turns of an empty loop, the best of five: how fast this core is at Python."""

    def million() -> None:
        for _ in range(1_000_000):
            pass

    return min(cpu_ms(million, 1) for _ in range(5))


def controlled(prepared: Prepared, documents: Sequence[tuple[str, str]]) -> None:
    """Each record through prompt, machine, checks and runner, over a store in memory that is dropped with it."""
    around = Surroundings(lambda: time.monotonic_ns() // 1_000_000, lambda ms: None, lambda: 0.0)
    for key, text in documents:
        subject = Subject(key, text, hashlib.sha256(text.encode()).hexdigest())
        run = drive(prepared, subject, machine.start(prepared.envelope), MemoryStore(), around)
        assert run.status is machine.RunStatus.ACCEPTED, run.result


def plain_loop(prepared: Prepared, template: Request) -> Callable[[Sequence[tuple[str, str]]], None]:
    """The loop that a script would have: no caps, no budget, no history, no second chance."""
    backend = prepared.backends["default"]
    validator = jsonschema_rs.validator_for(dict(prepared.envelope.contract))
    checks = [rule.check for rule in prepared.judge.rules]
    system, user = template.messages

    def loop(documents: Sequence[tuple[str, str]]) -> None:
        for key, text in documents:
            messages = (system, type(user)("user", f"{user.content}\n{text}"))
            reply = backend.complete(Request("default", messages, 400, record=key, attempt=1), 20_000)
            value = json.loads(reply.text or "")
            assert validator.is_valid(value)
            subject = Judged(Document(text), value)
            assert all(finding.passed for check in checks for finding in check(subject))

    return loop


def cpu_ms(work: Callable[[], None], count: int) -> float:
    """CPU milliseconds of this process per record."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000 / count


def measure_controller(records: int, rounds: int) -> tuple[float, float]:
    """CPU ms per record, the best of the rounds: controlled, plain."""
    prepared, documents = _prepared(records)
    template = _template(prepared, documents[0])
    plain = plain_loop(prepared, template)
    controlled(prepared, documents[:50])
    plain(documents[:50])
    pairs = [
        (cpu_ms(lambda: controlled(prepared, documents), records), cpu_ms(lambda: plain(documents), records))
        for _ in range(rounds)
    ]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def _prepared(records: int) -> tuple[Prepared, list[tuple[str, str]]]:
    made = {f"r{number:06d}": receipt(number) for number in range(records)}
    backend = Known({key: reply for key, (_, reply) in made.items()})
    envelope = read(ENVELOPE.read_text(encoding="utf-8"))
    return prepare(envelope, Everywhere(backend)), [(key, document) for key, (document, _) in made.items()]


def _template(prepared: Prepared, document: tuple[str, str]) -> Request:
    """The first request of a run, for a plain loop of the same size."""
    asked: list[Request] = []

    class Listening:
        def complete(self, request: Request, timeout_ms: int) -> Reply:
            asked.append(request)
            return prepared.backends["default"].complete(request, timeout_ms)

    listening = Prepared(prepared.envelope, prepared.judge, prepared.count, Everywhere(Listening()))
    controlled(listening, [document])
    system, user = asked[0].messages
    return Request("default", (system, type(user)("user", user.content.replace(document[1], ""))), 400)


@dataclass(frozen=True)
class Rates:
    """Records per second: submitted; worked to their end, by the clock and per CPU second; in the plain loop per CPU second."""

    submitted: float
    worked: float
    worked_cpu: float
    plain_cpu: float


def measure_whole_path(records: int, rounds: int, threads: int) -> Rates:
    """The best of the rounds, each a batch of its own in the same database."""
    from reviewapp.batches.actions import submit_lines
    from reviewapp.batches.queries import outcome_table
    from reviewapp.runs import actions
    from reviewapp.runs.executor import LocalExecutor

    prepared, documents = _prepared(records)
    actions.Endpoints = lambda: prepared.backends  # type: ignore[assignment,misc]
    version = signed(ENVELOPE.read_text(encoding="utf-8"))
    plain = plain_loop(prepared, _template(prepared, documents[0]))
    lines = [json.dumps({"id": key, "document": text}).encode() + b"\n" for key, text in documents]
    found = []
    for number in range(rounds):
        began = time.perf_counter()
        batch = submit_lines(lines, version=version, name=f"bench {number}", by=None).batch
        submitted = time.perf_counter() - began
        assert batch is not None
        began, cpu_began = time.perf_counter(), time.process_time()
        LocalExecutor(threads).run(until_idle=True)
        worked, worked_cpu = time.perf_counter() - began, time.process_time() - cpu_began
        table = outcome_table(batch)
        assert (table.first, table.live) == (records, 0), table
        plain_cpu = cpu_ms(lambda: plain(documents), records) * records / 1000
        found.append((submitted, worked, worked_cpu, plain_cpu))
    return Rates(*(records / min(seconds) for seconds in zip(*found, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    size = len(receipt(1)[0].encode())
    print(f"{one_core()}; a million turns of an empty loop take {empty_loop_ms():.0f} ms; receipts of {size} bytes, ten checks")
    ours, plain = measure_controller(min(500, options.records), options.rounds)
    print("\ncontroller without storage, CPU per record")
    print(f"  controller                   {ours:8.3f} ms   (bar {CPU_BAR_MS:g} ms)")
    print(f"  plain loop                   {plain:8.3f} ms")
    print(f"  ratio                        {ours / plain:8.2f}")
    with installation():
        print(f"\nwhole path on SQLite, {options.records:,} records a round, {options.threads} threads, one core")
        rates = measure_whole_path(options.records, options.rounds, options.threads)
    print(f"  submitted                    {rates.submitted:8.0f} records/s")
    print(f"  worked to their end          {rates.worked:8.0f} records/s   (bar {RATE_BAR})")
    print(f"  the same per CPU second      {rates.worked_cpu:8.0f} records/s")
    print(f"  plain loop, nothing stored   {rates.plain_cpu:8.0f} records/s per CPU second")
    print(f"  ratio                        {rates.plain_cpu / rates.worked_cpu:8.2f}")


if __name__ == "__main__":
    main()
