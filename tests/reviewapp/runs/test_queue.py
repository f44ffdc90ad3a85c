from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from reviewapp.batches.actions import pause_batch
from reviewapp.runs import queue
from reviewapp.runs.models import Run
from tests.faults.endings import receipts

pytestmark = pytest.mark.django_db


def ids() -> list[int]:
    return [pk for pk, _ in queue.free_runs(100)]


def test_free_runs_come_oldest_first() -> None:
    receipts(4)
    every = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    assert ids() == every
    assert [pk for pk, _ in queue.free_runs(2)] == every[:2]


@pytest.mark.parametrize(
    ("field", "minutes", "is_free"),
    [("lease_until", 1, False), ("lease_until", -1, True), ("not_before", 1, False), ("not_before", -1, True)],
)
def test_lease_and_wait_hold_a_run_back(field: str, minutes: int, is_free: bool) -> None:
    receipts(1)
    Run.objects.update(**{field: timezone.now() + timedelta(minutes=minutes)})
    assert bool(ids()) is is_free


def test_paused_batch_has_no_free_runs() -> None:
    pause_batch(receipts(2), by=None, why="looks wrong")
    assert ids() == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="reads SQLite's plan")
def test_claims_by_the_index_over_live_runs() -> None:
    """Else every claim looks through all runs that ever ended, or sorts all that are left."""
    receipts(1)
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + queue._select(connection.vendor, False), ["2024", "2024", "open", 8])
        plan = " / ".join(row[3] for row in cursor.fetchall())
    assert "runs_run USING INDEX run_live" in plan
    assert "TEMP B-TREE" not in plan
