"""Deferred letters come back by the clock."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction
from django.utils import timezone

from reviewapp.deadletters.actions import counting
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus, Decision, Kind

AT_ONCE = 200


def wake_deferred(now: datetime | None = None) -> int:
    """Up to ``AT_ONCE`` letters whose deferral is over go back to the queue. One query where there is none."""
    now = now or timezone.now()
    due = DeadLetter.objects.filter(deferred_until__lte=now)
    ids = list(due.values_list("pk", flat=True)[:AT_ONCE])
    return sum(_wake(pk, now) for pk in ids)


@transaction.atomic
def _wake(letter_id: int, now: datetime) -> int:
    rows = DeadLetter.objects.filter(pk=letter_id, deferred_until__lte=now)
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True)
    letter = rows.first()
    if letter is None:
        return 0
    before, letter.status, letter.deferred_until = letter.status, DeadLetterStatus.OPEN, None
    letter.save(update_fields=["status", "deferred_until"])
    counting.moved(letter, before, letter.status)
    Decision.objects.create(
        letter=letter,
        kind=Kind.WAKE,
        at=now,
        before=before,
        after=letter.status,
        effective_at=now,
        fence_after=letter.fence,
    )
    return 1
