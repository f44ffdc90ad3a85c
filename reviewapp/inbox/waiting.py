"""What waits for one person and since when, by role: each kind one query, whatever the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef

from reviewapp.access import limit
from reviewapp.accounts.models import Role
from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus
from reviewapp.envelopes.models import Approval, Status, Version

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Letters:
    """The open dead letters of one envelope."""

    slug: str
    title: str
    count: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    letters: list[Letters]
    versions: list[Version]
    batches: list[Batch]

    @property
    def is_empty(self) -> bool:
        return not (self.letters or self.versions or self.batches)


def waiting_for(user: Any) -> Waiting:
    return Waiting(open_letters(user), versions_to_approve(user), paused_batches(user))


def open_letters(user: Any) -> list[Letters]:
    """Open dead letters by envelope where the person is a reviewer, the longest waiting first."""
    rows = (
        limit(DeadLetter.objects.filter(status=DeadLetterStatus.OPEN), user, "envelope", Role.REVIEWER)
        .order_by()
        .values("envelope__slug", "envelope__title")
        .annotate(count=Count("pk"), since=Min("created_at"))
        .order_by("since")
    )
    return [Letters(row["envelope__slug"], row["envelope__title"], row["count"], row["since"]) for row in rows]


def versions_to_approve(user: Any) -> list[Version]:
    """Versions in review that the person may approve: an owner there, not the author, and has not approved yet."""
    mine = Approval.objects.filter(version=OuterRef("pk"), approver_id=user.pk)
    rows = Version.objects.filter(~Exists(mine), status=Status.IN_REVIEW).exclude(author_id=user.pk)
    return list(
        limit(rows, user, "envelope", Role.OWNER)
        .select_related("envelope", "author")
        .defer("source", "canonical")
        .order_by("submitted_at", "pk")[:SHOWN]
    )


def paused_batches(user: Any) -> list[Batch]:
    """Paused batches that the person may resume."""
    rows = limit(Batch.objects.filter(status=BatchStatus.PAUSED), user, "version__envelope", Role.MANAGER)
    return list(_with_envelope(rows).order_by("paused_at", "pk")[:SHOWN])


def _with_envelope(rows: Any) -> Any:
    return rows.select_related("version__envelope").defer("version__source", "version__canonical")
