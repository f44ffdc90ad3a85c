from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviewapp.batches.actions import pause_batch
from reviewapp.runs import actions
from reviewapp.runs.dispatch import Dispatcher
from reviewapp.runs.models import Run
from tests.faults.endings import receipts

pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_hands_out_a_window_at_a_time() -> None:
    receipts(5)
    ids = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    sent: list[int] = []
    dispatcher = Dispatcher(sent.append, window=2, patience_s=30, now=Clock())
    assert (dispatcher.turn(), sent) == (2, ids[:2])
    assert dispatcher.turn() == 0
    assert actions.claim_one("worker", ids[0]) == 1
    assert (dispatcher.turn(), sent[2:]) == (1, [ids[2]])


def test_sends_a_lost_message_again() -> None:
    receipts(1)
    sent: list[int] = []
    clock = Clock()
    dispatcher = Dispatcher(sent.append, patience_s=30, now=clock)
    dispatcher.turn()
    clock.now = 29
    dispatcher.turn()
    assert len(sent) == 1
    clock.now = 31
    dispatcher.turn()
    assert len(sent) == 2
    assert len(set(sent)) == 1


def test_sends_nothing_of_a_paused_batch() -> None:
    made = receipts(3)
    pause_batch(made, by=None, why="looks wrong")
    assert Dispatcher(lambda pk: pytest.fail("sent")).turn() == 0
    assert actions.claim_one("worker", Run.objects.first().pk) is None  # type: ignore[union-attr]


def test_one_of_two_messages_claims_the_run() -> None:
    receipts(1)
    run = Run.objects.get()
    assert [actions.claim_one("one", run.pk), actions.claim_one("two", run.pk)] == [1, None]


def test_claiming_one_run_judges_the_row_itself() -> None:
    """The condition must stand in the UPDATE: one behind a subquery is not looked at again after a wait for the row's lock."""
    receipts(1)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        actions.claim_one("one", Run.objects.values_list("pk", flat=True).get())
    (update,) = [query["sql"] for query in queries if query["sql"].startswith("UPDATE")]
    where = update.split(" WHERE ", 1)[1]
    assert "lease_until" in where.split("(SELECT")[0]
