"""What is delivered for a record now, whoever it came from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from controller.machine import RunStatus
from reviewapp.batches.models import Record
from reviewapp.deadletters.models import Delivery, DeliveryKind
from reviewapp.runs.models import Outcome


@dataclass(frozen=True, slots=True)
class Result:
    """``kind`` is accepted, human_corrected, rejected, asked, withdrawn or nothing. ``value`` is exact JSON or empty; ``since``
    is when it left; ``original`` is the run's value that was corrected; ``pending`` is what will leave unless it is undone."""

    kind: str
    value: str = ""
    since: datetime | None = None
    reason: str = ""
    note: str = ""
    original: str = ""
    pending: Delivery | None = None


def result_of(record: Record, now: datetime | None = None) -> Result:
    """The record's result: the last thing that left, be it a run's accepted value or a person's delivery."""
    now = now or timezone.now()
    rows = list(Delivery.objects.filter(record=record, cancelled_at=None).order_by("effective_at", "pk"))
    left = [row for row in rows if row.effective_at <= now]
    waiting = [row for row in rows if row.effective_at > now]
    pending = waiting[-1] if waiting else None
    accepted = _last_accepted(record)
    last = left[-1] if left else None
    if last is None or (accepted is not None and accepted.created_at > last.effective_at):
        if accepted is None:
            return Result("nothing", pending=pending)
        return Result("accepted", accepted.value, accepted.created_at, pending=pending)
    original = ""
    if last.kind == DeliveryKind.HUMAN_CORRECTED:
        original = Outcome.objects.values_list("value", flat=True).get(run__dead_letter__decisions=last.decision_id)
    return Result(last.kind, last.value, last.effective_at, last.reason, last.note, original, pending)


def _last_accepted(record: Record) -> Outcome | None:
    return Outcome.objects.filter(run__record=record, kind=RunStatus.ACCEPTED.value).order_by("-created_at").first()
