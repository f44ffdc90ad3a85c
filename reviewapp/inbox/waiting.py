"""What waits for one person and since when, by role: each kind one query, whatever the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, Min, OuterRef, Sum

from reviewapp.access import limit
from reviewapp.accounts.models import Role
from reviewapp.batches.models import Batch, BatchStatus, Delivery
from reviewapp.deadletters.models import FailureGroup
from reviewapp.envelopes.models import Approval, Notice, Status, Version
from reviewapp.envelopes.notices import open_notices
from reviewapp.samples.claims import waiting_counts

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
    notices: list[Notice]
    told: list[Delivery]
    samples: int
    disputed: int

    @property
    def is_empty(self) -> bool:
        kinds = (self.letters, self.versions, self.batches, self.notices, self.told, self.samples, self.disputed)
        return not any(kinds)


def waiting_for(user: Any) -> Waiting:
    seats = waiting_counts(user)
    return Waiting(
        open_letters(user),
        versions_to_approve(user),
        paused_batches(user),
        list(open_notices(user)[:SHOWN]),
        told_of(user),
        seats["grade"],
        seats["adjudicate"],
    )


def told_of(user: Any) -> list[Delivery]:
    """Pauses that the person was told of, is not the one to lift, and has not looked at yet."""
    rows = Delivery.objects.filter(user_id=user.pk, channel="page", status="sent", pause__resumed_at=None)
    mine = limit(Batch.objects.all(), user, "version__envelope", Role.MANAGER)
    return list(rows.exclude(pause__batch__in=mine).select_related("pause__batch").order_by("pk")[:SHOWN])


def open_letters(user: Any) -> list[Letters]:
    """Open dead letters by envelope where the person is a reviewer, the longest waiting first."""
    rows = (
        # From the groups' own numbers: a hundred thousand letters are not counted for an inbox.
        limit(FailureGroup.objects.filter(n_open__gt=0), user, "envelope", Role.REVIEWER)
        .order_by()
        .values("envelope__slug", "envelope__title")
        .annotate(count=Sum("n_open"), since=Min("oldest_waiting"))
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
