"""What clearing costs: times by envelope and version, the queue's balance, and minutes by batch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, Min, Q, Sum
from django.utils import timezone

from reviewapp.access import limit
from reviewapp.batches.models import Batch
from reviewapp.deadletters.actions.effort import MINUTE
from reviewapp.deadletters.models import DeadLetter, FailureGroup, GroupDay, GroupVersion
from reviewapp.deadletters.queries import TREND_DAYS, Times, Trend, times_of
from reviewapp.envelopes.models import Version

MOST_VERSIONS = 20
MOST_BATCHES = 50


@dataclass(frozen=True, slots=True)
class VersionEffort:
    version: Version
    arrived: int
    cleared: int
    times: Times | None


@dataclass(frozen=True, slots=True)
class BatchMinutes:
    batch: Batch
    spent: float
    cap: int | None

    @property
    def state(self) -> str:
        if self.cap is None:
            return ""
        return "used up" if self.spent >= self.cap else "over 80 %" if self.spent >= 0.8 * self.cap else "within its cap"


def overview(user: Any) -> dict[str, Any]:
    """The effort page's figures: the queue as a whole, its newest versions, its batches."""
    groups = limit(FailureGroup.objects.all(), user, "envelope")
    total = sum((F(f"n_{name}") for name in ("deferred", "asked", "escalated", "quarantined")), start=F("n_open"))
    about = groups.aggregate(waiting=Sum(total), oldest=Min("oldest_waiting"), resolved=Sum("n_resolved"))
    today = timezone.now().date()
    days = limit(GroupDay.objects.all(), user, "group__envelope").filter(day__gte=today - timedelta(days=TREND_DAYS - 1))
    by_day = {row["day"]: (row["a"], row["c"]) for row in days.values("day").annotate(a=Sum("arrived"), c=Sum("cleared"))}
    span = [today - timedelta(days=n) for n in reversed(range(TREND_DAYS))]
    return {
        "waiting": about["waiting"] or 0,
        "oldest": about["oldest"],
        "resolved": about["resolved"] or 0,
        "trend": Trend(tuple((day, *by_day.get(day, (0, 0))) for day in span)),
        "times": times_of(limit(DeadLetter.objects.all(), user, "envelope")),
        "versions": _versions(user),
        "batches": _batches(user),
    }


def _versions(user: Any) -> list[VersionEffort]:
    rows = limit(GroupVersion.objects.all(), user, "group__envelope")
    counted = rows.order_by().values("version_id").annotate(a=Sum("arrived"), c=Sum("cleared")).order_by("-version_id")
    counts = {row["version_id"]: (row["a"], row["c"]) for row in counted[:MOST_VERSIONS]}
    versions = Version.objects.filter(pk__in=counts).select_related("envelope").defer("source", "canonical")
    return [
        VersionEffort(version, *counts[version.pk], times_of(DeadLetter.objects.filter(version=version)))
        for version in versions.order_by("-pk")
    ]


def _batches(user: Any) -> list[BatchMinutes]:
    rows = limit(Batch.objects.filter(Q(effort__isnull=False) | Q(dead_letters__isnull=False)), user, "version__envelope")
    rows = rows.select_related("effort", "version__envelope").defer("version__source", "version__canonical").distinct()
    found = []
    for batch in rows.order_by("-pk")[:MOST_BATCHES]:
        effort = getattr(batch, "effort", None)
        found.append(BatchMinutes(batch, (effort.spent_ms if effort else 0) / MINUTE, effort.cap_minutes if effort else None))
    return found
