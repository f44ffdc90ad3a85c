"""What follows from a run's ending, in the transaction that ends it: counts, the draw, the breaker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from controller.breaker import Rule
from controller.machine import Result, RunStatus
from controller.machine import Run as RunState
from controller.report import FailureClass
from reviewapp.batches import breaker
from reviewapp.batches.pausing import pause_by_rule
from reviewapp.insights import tallies
from reviewapp.runs.models import Run
from reviewapp.samples.drawing import take_in
from reviewapp.samples.queries import oldest_in, waiting_in


def run_ended(row: Run, state: RunState, result: Result, now: datetime) -> None:
    """One finished run: tallied; accepted, into the frame; counted by the breaker, which may pause the batch here and now.

    Infrastructure failures are not counted: they say nothing about the model's answers and have a breaker of their own.
    """
    batch = row.batch
    if batch.version_id == row.version_id:
        batch.version = row.version  # read with the run already
    way = tallies.way_of(state.status.value, result.accepted_on, result.fallback, state.fuse.value if state.fuse else "")
    tallies.finished(row, way, calls=state.calls, tokens=state.tokens, duration_ms=state.elapsed_ms, at=now)
    is_accepted = state.status is RunStatus.ACCEPTED
    if is_accepted:
        low = is_judged_low(state.votes)
        take_in(row, used_fallback=bool(result.fallback), attempts=state.attempts, judged_low=low, now=now)
    if is_accepted or result.final_class != FailureClass.INFRASTRUCTURE:
        found = breaker.count(batch, Rule.DEAD_LETTERS, run_id=row.pk, is_bad=not is_accepted, kind="finished", now=now)
        pause_by_rule(batch, found)
    oldest = oldest_in(row.batch_id)
    if oldest is not None:
        pause_by_rule(batch, breaker.blindness(batch, now, waiting=waiting_in(row.batch_id), oldest=oldest))


def is_judged_low(votes: Sequence[str]) -> bool:
    """The judge let it pass and was not sure: a vote against, a vote that could not be read, or a criterion that failed."""
    return any(not vote.startswith("pass") or _fails(vote) for vote in votes)


def _fails(vote: str) -> bool:
    return any(mark.startswith("-") for mark in vote.partition(":")[2].split(","))
