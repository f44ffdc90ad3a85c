"""What must hold of a batch after any crash, doubling or fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Sum

from reviewapp.batches.models import Batch
from reviewapp.batches.queries import bound_of
from reviewapp.deadletters.models import DeadLetter
from reviewapp.runs.models import ENDED, Attempt, AttemptStatus, Outcome, Run
from tests.reviewapp.factories import approved, batch

CALM = {"dead_letters": {"limit": 0.9, "h": 1000}, "silent": {"limit": 0.9, "h": 1000}, "ungraded": 100_000}
"""A breaker that stays out of the way: a pause that waits for a person is another test's subject."""


def receipts(count: int, **changes: Any) -> Batch:
    """A batch of small receipts that all differ, under an envelope with short waits."""
    version = approved(breaker=CALM, **{"infrastructure__backoff_ms": [1, 20], **changes})
    return batch(version, {f"r{number:04d}": document(number) for number in range(count)})


def document(number: int) -> str:
    return f"2 teas\nReceipt R{number:04d}\nTotal {number + 1}.50"


def number_in(text: str) -> int:
    """Which receipt a request is about."""
    return int(text.split("Receipt R", 1)[1][:4])


def right_reply(number: int) -> str:
    return f'{{"total":"{number + 1}.50","qty":2}}'


def assert_ended_once(made: Batch, *, asked: int, sent: Iterable[str]) -> None:
    """Each record has one outcome; calls are within the bound and written before they were made; nothing was made up."""
    runs = Run.objects.filter(batch=made)
    assert not runs.exclude(status__in=ENDED).exists()
    assert runs.count() == made.records.count() == Outcome.objects.filter(run__batch=made).count()
    bound = bound_of(made).calls
    assert max(runs.values_list("calls", flat=True)) <= bound
    attempts = Attempt.objects.filter(run__batch=made)
    assert attempts.count() == (runs.aggregate(n=Sum("calls"))["n"] or 0)
    assert attempts.values("run", "number").distinct().count() == attempts.count()
    assert not attempts.filter(status=AttemptStatus.STARTED).exists()
    replied = attempts.filter(status=AttemptStatus.REPLIED).count()
    assert replied <= asked <= attempts.count() <= bound * made.records.count()
    accepted = Outcome.objects.filter(run__batch=made, kind="accepted")
    assert set(accepted.values_list("value", flat=True)) <= set(sent)
    dead = runs.filter(status="dead_lettered").count()
    assert DeadLetter.objects.filter(run__batch=made).count() == dead
    assert accepted.count() + dead == runs.count()
