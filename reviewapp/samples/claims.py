"""Who grades what: the next seat in the committed random order, held by lease. Nobody picks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from reviewapp.accounts.models import Role, User
from reviewapp.samples.models import Grade, GradeStatus, Task, TaskKind

LEASE = timedelta(minutes=15)


class LeaseGone(Exception):
    """Another person has the seat now; what was written is kept as this person's draft."""


def limit_to(user: Any, rows: QuerySet[Task]) -> QuerySet[Task]:
    """Seats of envelopes that the person reviews."""
    from reviewapp.access import limit

    return limit(rows, user, "envelope", Role.REVIEWER)


def open_for(user: User, kind: TaskKind) -> QuerySet[Task]:
    """Open seats that the person may take now: not held by another, and of no output that they have met already."""
    now = timezone.now()
    mine = Grade.objects.filter(run=OuterRef("run"), grader=user).exclude(status=GradeStatus.UNDONE)
    elsewhere = mine.exclude(task=OuterRef("pk"), status=GradeStatus.DRAFT)
    free = Q(lease_until=None) | Q(lease_until__lt=now) | Q(holder=user)
    return limit_to(user, Task.objects.filter(free, ~Exists(elsewhere), is_open=True, kind=kind.value))


@transaction.atomic
def claim_next(user: User, kind: TaskKind = TaskKind.GRADE) -> Task | None:
    """The seat that the person holds already, else the next free one in order; ``None`` when there is none."""
    now = timezone.now()
    held = limit_to(user, Task.objects.filter(holder=user, is_open=True, kind=kind.value, lease_until__gte=now))
    task = held.order_by("order_place", "pk").first()
    if task is None:
        rows = open_for(user, kind).order_by("order_place", "pk")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        task = rows.first()
        if task is None:
            return None
    _hold(task, user)
    return task


def _hold(task: Task, user: User) -> None:
    now = timezone.now()
    if task.holder_id != user.pk or task.lease_until is None or task.lease_until < now:
        Task.objects.filter(pk=task.pk).update(holder=user, lease_until=now + LEASE, fence=F("fence") + 1)
    else:
        Task.objects.filter(pk=task.pk).update(lease_until=now + LEASE)
    grade = Grade.objects.filter(task=task, grader=user, status=GradeStatus.DRAFT).first()
    if grade is None:
        Grade.objects.create(task=task, run_id=task.run_id, grader=user, started_at=now, touched_at=now)
    task.refresh_from_db()


def holds(task: Task, user: User) -> bool:
    """Whether the person may write here: they hold the seat, or held it and nobody has taken it since."""
    return task.is_open and task.holder_id == user.pk


def waiting_counts(user: User) -> dict[str, int]:
    """Open seats that the person could take, by kind."""
    return {kind.value: open_for(user, kind).count() for kind in TaskKind}
