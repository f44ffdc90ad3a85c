"""Counting the minutes that people spend, and stopping a batch before it costs more of them than its owner meant."""

from __future__ import annotations

import contextlib

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches.actions import NotAllowed as BatchRule
from reviewapp.batches.actions import pause_batch
from reviewapp.batches.models import Batch
from reviewapp.deadletters.models import BatchEffort, DeadLetter
from reviewapp.deadletters.rules import NotAllowed

WARN_AT = 0.8
MINUTE = 60_000


def add_worked(letter: DeadLetter, milliseconds: int) -> None:
    """Adds worked time to the letter and its batch; warns at 80 % of the batch's cap and pauses the batch at all of it."""
    if milliseconds <= 0:
        return
    DeadLetter.objects.filter(pk=letter.pk).update(active_ms=F("active_ms") + milliseconds)
    letter.active_ms += milliseconds
    rows = BatchEffort.objects.filter(batch_id=letter.batch_id)
    if not rows.update(spent_ms=F("spent_ms") + milliseconds):
        BatchEffort.objects.get_or_create(batch_id=letter.batch_id)
        rows.update(spent_ms=F("spent_ms") + milliseconds)
    _watch(BatchEffort.objects.select_related("batch").get(batch_id=letter.batch_id))


def _watch(effort: BatchEffort) -> None:
    if effort.cap_minutes is None:
        return
    now, cap = timezone.now(), effort.cap_minutes * MINUTE
    about = {"minutes": effort.spent_ms // MINUTE, "cap_minutes": effort.cap_minutes}
    rows = BatchEffort.objects.filter(pk=effort.pk)
    if effort.spent_ms >= cap * WARN_AT and rows.filter(warned_at=None).update(warned_at=now):
        append("human minutes near their cap", "batch", effort.batch_id, by=None, after=about)
    if effort.spent_ms >= cap and rows.filter(paused_at=None).update(paused_at=now):
        append("human minutes used up", "batch", effort.batch_id, by=None, after=about)
        # A batch that is paused or closed already needs no second stop.
        with contextlib.suppress(BatchRule):
            pause_batch(effort.batch, by=None, why=f"people have spent the {effort.cap_minutes} minutes that its owner allowed")


@transaction.atomic
def set_cap(batch: Batch, minutes: int | None, *, by: User, why: str) -> BatchEffort:
    """The most minutes that people may spend on the batch's letters; ``None`` for no cap. A new cap warns and pauses anew."""
    if not why.strip():
        raise NotAllowed("a reason is needed")
    if minutes is not None and minutes < 1:
        raise NotAllowed("a cap is at least one minute")
    effort, _ = BatchEffort.objects.select_for_update().get_or_create(batch=batch)
    before, effort.cap_minutes = effort.cap_minutes, minutes
    effort.warned_at = effort.paused_at = None
    effort.save(update_fields=["cap_minutes", "warned_at", "paused_at"])
    change = {"before": {"cap_minutes": before}, "after": {"cap_minutes": minutes}}
    append("human minutes capped", "batch", batch.pk, by=by, reason=why, **change)
    _watch(effort)
    return effort
