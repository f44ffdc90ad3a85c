"""How long people were active on a version: the open page beats while its reader does something."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.envelopes.models import Effort, EffortKind, Version

BEAT = timedelta(seconds=15)
"""How often an active page beats. Two beats further apart than twice this are two sittings: the time between does not count."""


def beat(version: Version, person: User, *, now: datetime | None = None) -> int:
    """Counts the time since the last beat and returns the person's total in seconds. Who wrote the version is authoring."""
    now = now or timezone.now()
    kind = EffortKind.AUTHORING if person.pk == version.author_id else EffortKind.REVIEWING
    with transaction.atomic():
        row = Effort.objects.select_for_update().filter(version=version, person=person, kind=kind).first()
        if row is None:
            return _first(version, person, kind, now)
        since = now - row.beat_at
        if timedelta(0) < since <= 2 * BEAT:
            row.seconds += round(since.total_seconds())
        row.beat_at = max(now, row.beat_at)
        row.save(update_fields=["seconds", "beat_at"])
        return row.seconds


def _first(version: Version, person: User, kind: EffortKind, now: datetime) -> int:
    try:
        with transaction.atomic():
            Effort.objects.create(version=version, person=person, kind=kind, beat_at=now)
    except IntegrityError:  # two tabs began at once
        pass
    return 0


def spent(version: Version) -> dict[str, int | None]:
    """Active seconds by kind; ``None`` where nothing was measured, which is not 0."""
    rows = Effort.objects.filter(version=version).order_by().values("kind").annotate(seconds=Sum("seconds"))
    measured = {row["kind"]: row["seconds"] for row in rows}
    return {kind.value: measured.get(kind.value) for kind in EffortKind}
