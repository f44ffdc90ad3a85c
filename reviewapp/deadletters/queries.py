"""What the pages read: letters, groups, counts and times, in a fixed number of queries however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Any

from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from reviewapp.access import limit
from reviewapp.deadletters.forms import WAITING_WORD, LetterFilter
from reviewapp.deadletters.models import (
    WAITING,
    DeadLetter,
    DeadLetterStatus,
    FailureGroup,
    GroupDay,
    GroupVersion,
    counter_of,
)

TREND_DAYS = 14
TIMES = 500
"""The latest letters that times are taken from."""


def letters_for(user: Any, chosen: LetterFilter) -> QuerySet[DeadLetter]:
    """The letters that the filter names among those that the person may see: the one meaning of a filter everywhere."""
    return chosen.narrow(limit(DeadLetter.objects.all(), user, "envelope"))


def count_of(user: Any, chosen: LetterFilter) -> int:
    """How many those are. Where the groups' numbers say it, no letter is counted."""
    if not chosen.is_counted:
        return letters_for(user, chosen).count()
    groups = limit(FailureGroup.objects.all(), user, "envelope")
    asked = chosen.cleaned_data
    if asked["envelope"]:
        groups = groups.filter(envelope__slug=asked["envelope"])
    if asked["group"]:
        groups = groups.filter(pk=asked["group"])
    if asked["signature"]:
        # Letters of a merged group carry their own signature inside another group's numbers.
        return letters_for(user, chosen).count()
    columns = [counter_of(status) for status in _statuses(asked["status"])]
    sums = groups.aggregate(**{name: Sum(name) for name in columns})
    return sum(sums[name] or 0 for name in columns)


def _statuses(asked: str) -> list[str]:
    if asked == WAITING_WORD:
        return WAITING
    return [asked] if asked else list(DeadLetterStatus.values)


def for_lists(letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """With everything that a row of the list shows, and none of the long texts."""
    rows = letters.select_related("run__record", "envelope", "version", "lease_owner")
    return rows.defer("request", "run__state", "version__source", "version__canonical")


def groups_for(user: Any, *, envelope: str = "", with_done: bool = False) -> QuerySet[FailureGroup]:
    """Groups that have letters waiting, the longest waiting first; merged ones are shown by those that they went into."""
    rows = limit(FailureGroup.objects.filter(merged_into=None), user, "envelope")
    if envelope:
        rows = rows.filter(envelope__slug=envelope)
    if not with_done:
        rows = rows.filter(oldest_waiting__isnull=False)
    return rows.select_related("envelope", "assignee").order_by(F("oldest_waiting").asc(nulls_last=True), "pk")


@dataclass(frozen=True, slots=True)
class Trend:
    """Arrivals and clearances by day, oldest first, days without any included; ``most`` is the largest of them, at least 1."""

    days: tuple[tuple[date, int, int], ...]

    @property
    def most(self) -> int:
        return max([1, *(max(arrived, cleared) for _, arrived, cleared in self.days)])

    @property
    def arrived(self) -> int:
        return sum(arrived for _, arrived, _ in self.days)

    @property
    def cleared(self) -> int:
        return sum(cleared for _, _, cleared in self.days)

    @property
    def words(self) -> str:
        return f"{self.arrived:,} arrived, {self.cleared:,} cleared in {len(self.days)} days"


def trends(groups: list[FailureGroup], today: date | None = None) -> dict[int, Trend]:
    """The last days of each group, in one query."""
    today = today or timezone.now().date()
    first = today - timedelta(days=TREND_DAYS - 1)
    found: dict[int, dict[date, tuple[int, int]]] = {group.pk: {} for group in groups}
    for row in GroupDay.objects.filter(group_id__in=found, day__gte=first):
        found[row.group_id][row.day] = (row.arrived, row.cleared)
    days = [first + timedelta(days=n) for n in range(TREND_DAYS)]
    return {pk: Trend(tuple((day, *by_day.get(day, (0, 0))) for day in days)) for pk, by_day in found.items()}


def versions_of(groups: list[FailureGroup]) -> dict[int, list[GroupVersion]]:
    """The versions whose letters each group holds, newest first, in one query."""
    found: dict[int, list[GroupVersion]] = {group.pk: [] for group in groups}
    rows = GroupVersion.objects.filter(group_id__in=found, arrived__gt=0).select_related("version")
    for row in rows.defer("version__source", "version__canonical").order_by("-version__number"):
        found[row.group_id].append(row)
    return found


@dataclass(frozen=True, slots=True)
class Times:
    """Of the last ``n`` cleared letters, in seconds: how long they waited, how long people worked on them."""

    n: int
    open_median: float
    open_p90: float
    active_median: float
    active_p90: float


def times_of(letters: QuerySet[DeadLetter]) -> Times | None:
    """``None`` where nothing has been cleared: no data is not zero seconds."""
    rows = letters.filter(resolved_at__isnull=False).order_by("-resolved_at")
    taken = list(rows.values_list("created_at", "resolved_at", "active_ms")[:TIMES])
    if not taken:
        return None
    waited = sorted((resolved - created).total_seconds() for created, resolved, _ in taken if resolved is not None)
    worked = sorted(active / 1000 for _, _, active in taken)
    return Times(len(taken), median(waited), _p90(waited), median(worked), _p90(worked))


def _p90(ordered: list[float]) -> float:
    """The smallest value that nine in ten do not exceed."""
    return ordered[max(0, -(-len(ordered) * 9 // 10) - 1)]
