"""Keeping the numbers of groups true: each change of a letter changes them in the same transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, F, Max, Min, OuterRef, Subquery

from reviewapp.deadletters.models import (
    DeadLetter,
    DeadLetterStatus,
    FailureGroup,
    GroupDay,
    GroupVersion,
    counter_of,
)

RESOLVED = DeadLetterStatus.RESOLVED.value


def day_of(moment: datetime) -> date:
    """The UTC day that a moment is counted under."""
    return moment.astimezone(UTC).date()


def arrived(group_id: int, letter: DeadLetter) -> None:
    """One more letter, in the status it was made with."""
    _lock(group_id)
    FailureGroup.objects.filter(pk=group_id).update(
        **{counter_of(letter.status): F(counter_of(letter.status)) + 1},
        last_seen=letter.created_at,
        oldest_waiting=_oldest(),
    )
    bump(GroupDay, {"group_id": group_id, "day": day_of(letter.created_at)}, arrived=1)
    bump(GroupVersion, {"group_id": group_id, "version_id": letter.version_id}, arrived=1)


def moved(letter: DeadLetter, before: str, after: str, *, resolved_at: datetime | None = None) -> None:
    """The letter, already written, went from one status to another. ``resolved_at`` is when it was, or had been, resolved."""
    if letter.group_id is None or before == after:
        return
    _lock(letter.group_id)
    FailureGroup.objects.filter(pk=letter.group_id).update(
        **{counter_of(before): F(counter_of(before)) - 1, counter_of(after): F(counter_of(after)) + 1},
        oldest_waiting=_oldest(),
    )
    cleared = (after == RESOLVED) - (before == RESOLVED)
    if cleared and resolved_at is not None:
        bump(GroupDay, {"group_id": letter.group_id, "day": day_of(resolved_at)}, cleared=cleared)
        bump(GroupVersion, {"group_id": letter.group_id, "version_id": letter.version_id}, cleared=cleared)


def _lock(group_id: int) -> None:
    """The row first: the oldest letter must be looked up after every earlier change of the group is committed."""
    if connection.features.has_select_for_update:
        list(FailureGroup.objects.select_for_update().filter(pk=group_id).values_list("pk"))


def _oldest() -> Subquery:
    waiting = DeadLetter.objects.filter(group=OuterRef("pk"), waiting_since__isnull=False)
    return Subquery(waiting.order_by("waiting_since").values("waiting_since")[:1])


def bump(model: Any, keys: dict[str, Any], **more: int) -> None:
    """Adds to the row's numbers; makes the row where there is none. Two at once both count."""
    adding = {name: F(name) + value for name, value in more.items()}
    if not model.objects.filter(**keys).update(**adding):
        model.objects.get_or_create(**keys)
        model.objects.filter(**keys).update(**adding)


@transaction.atomic
def recount(group_ids: Iterable[int]) -> None:
    """The numbers of whole groups from their letters: after a merge, a split, or a load past the actions."""
    for group_id in group_ids:
        _lock(group_id)
        letters = DeadLetter.objects.filter(group_id=group_id).order_by()
        by_status = {row["status"]: row["n"] for row in letters.values("status").annotate(n=Count("pk"))}
        about = letters.aggregate(first=Min("created_at"), last=Max("created_at"), oldest=Min("waiting_since"))
        seen = {"first_seen": about["first"], "last_seen": about["last"]} if by_status else {}
        FailureGroup.objects.filter(pk=group_id).update(
            **{counter_of(status): by_status.get(status, 0) for status in DeadLetterStatus.values},
            oldest_waiting=about["oldest"],
            samples=list(letters.order_by("pk").values_list("pk", flat=True)[:3]),
            **seen,
        )
        _recount_days(group_id)
        _recount_versions(group_id)


def _recount_days(group_id: int) -> None:
    letters = DeadLetter.objects.filter(group_id=group_id).order_by()
    came: Counter[date] = Counter()
    went: Counter[date] = Counter()
    for created, resolved in letters.values_list("created_at", "resolved_at").iterator(chunk_size=5000):
        came[day_of(created)] += 1
        if resolved is not None:
            went[day_of(resolved)] += 1
    GroupDay.objects.filter(group_id=group_id).delete()
    days = sorted(came.keys() | went.keys())
    GroupDay.objects.bulk_create([GroupDay(group_id=group_id, day=d, arrived=came[d], cleared=went[d]) for d in days])


def _recount_versions(group_id: int) -> None:
    letters = DeadLetter.objects.filter(group_id=group_id).order_by()
    rows = letters.values("version_id").annotate(n=Count("pk"), cleared=Count("resolved_at"))
    GroupVersion.objects.filter(group_id=group_id).delete()
    GroupVersion.objects.bulk_create(
        [GroupVersion(group_id=group_id, version_id=r["version_id"], arrived=r["n"], cleared=r["cleared"]) for r in rows]
    )
