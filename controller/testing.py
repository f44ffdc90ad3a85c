"""For tests of envelopes: a store in memory, a clock that only moves when told, and one call that runs a record.

>>> from controller.testing import run_record                                                        # doctest: +SKIP
>>> from controller.backends.scripted import Scripted                                                # doctest: +SKIP
>>> story = run_record(envelope, "Total 12.00", Scripted(['{"total": "12.00"}']))                    # doctest: +SKIP
>>> story.run.status, story.value_text                                                               # doctest: +SKIP
(<RunStatus.ACCEPTED: 'accepted'>, '{"total":"12.00"}')
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller import machine
from controller.envelope import Envelope
from controller.fuse import Fuse
from controller.machine import Run
from controller.reply import Backend
from controller.runner import Change, Hold, Prepared, Subject, Surroundings, drive, prepare


@dataclass
class FakeClock:
    """Milliseconds that move by ``sleep`` and by ``advance`` only."""

    now_ms: int = 1_000_000
    slept: list[int] = field(default_factory=list)

    def now(self) -> int:
        return self.now_ms

    def sleep(self, milliseconds: int) -> None:
        self.slept.append(milliseconds)
        self.now_ms += milliseconds

    def advance(self, milliseconds: int) -> None:
        self.now_ms += milliseconds


@dataclass
class MemoryStore:
    """Keeps the run and every change in lists. ``allowed`` is what ``permission`` answers."""

    run: Run | None = None
    changes: list[Change] = field(default_factory=list)
    allowed: Hold | Fuse | None = None
    saves: int = 0

    def permission(self) -> Hold | Fuse | None:
        return self.allowed

    def save(self, run: Run, changes: Sequence[Change]) -> Hold | Fuse | None:
        if self.allowed is Hold.HOLD and any(change.begun for change in changes):
            return Hold.HOLD
        self.run, self.saves = run, self.saves + 1
        self.changes.extend(changes)
        return None

    def reply_text(self, number: int) -> str | None:
        for change in self.changes:
            if change.ended is not None and change.ended.number == number and change.ended.reply is not None:
                return change.ended.reply.text
        return None


@dataclass(frozen=True)
class Story:
    """What became of a record: the run, its changes, and the value (accepted, or the best attempt's)."""

    run: Run
    changes: tuple[Change, ...]
    value_text: str | None

    @property
    def result(self) -> machine.Result:
        assert self.run.result is not None
        return self.run.result


def run_record(
    envelope: Envelope | Prepared,
    document: str,
    backend: Backend | Mapping[str, Backend] | None = None,
    *,
    key: str = "record-1",
    clock: FakeClock | None = None,
    store: MemoryStore | None = None,
) -> Story:
    """Runs one record to its end in memory. ``backend`` serves every alias, or is a mapping alias → backend."""
    if isinstance(envelope, Prepared):
        prepared = envelope
    else:
        assert backend is not None
        prepared = prepare(envelope, backend if isinstance(backend, Mapping) else EveryAlias(backend))
    clock, store = clock or FakeClock(), store or MemoryStore()
    around = Surroundings(clock.now, clock.sleep, lambda: 0.0, inline_wait_ms=10**9)
    subject = Subject(key, document, hashlib.sha256(document.encode()).hexdigest())
    run = drive(prepared, subject, store.run or machine.start(prepared.envelope), store, around)
    finish = next((change.finish for change in store.changes if change.finish is not None), None)
    return Story(run, tuple(store.changes), finish.value_text if finish else None)


class EveryAlias(dict[str, Backend]):
    """A mapping that has the same backend behind every alias."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.backend = backend

    def get(self, key: str, default: object = None) -> Backend:  # type: ignore[override]
        return self.backend

    def __getitem__(self, key: str) -> Backend:
        return self.backend
