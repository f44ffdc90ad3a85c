"""Many workers and graders at once, over real transactions: nothing is lost, counted twice, or given to two people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections

from controller.breaker import Counter
from reviewapp.batches import breaker
from reviewapp.batches.models import Breaker, BreakerStep, Pause
from reviewapp.insights import rebuild
from reviewapp.samples.actions import claim_next, submit_grade
from reviewapp.samples.models import Sample
from tests.reviewapp.factories import approved, batch
from tests.reviewapp.samples.ended import end, ready
from tests.reviewapp.samples.test_grading import ALL_RIGHT, ONE_WRONG, reviewer

pytestmark = pytest.mark.django_db(transaction=True)


def together(act: Callable[[Any], Any], over: Iterable[Any]) -> list[Any]:
    """Each in a thread and a connection of its own."""

    def one(item: Any) -> Any:
        try:
            return act(item)
        finally:
            if connection.vendor == "postgresql":
                connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(one, over))


def test_every_ending_counts_once() -> None:
    version = approved(
        sampling={"rate": 0.5, "min_per_stratum": 0},
        breaker={"dead_letters": {"limit": 0.1, "h": 2}, "silent": {"limit": 0.1, "h": 9}, "ungraded": 999},
    )
    found = batch(version, {f"r{i}": f"Total {i}.00" for i in range(24)})
    together(lambda run: end(run, accepted=run.pk % 3 > 0), ready(found))
    steps = BreakerStep.objects.filter(batch=found, rule="dead_letters")
    assert list(steps.values_list("number", flat=True)) == list(range(1, 25))
    assert breaker.folded(Counter(10, 2), steps).excess == Breaker.objects.get(rule="dead_letters").excess
    assert Pause.objects.filter(batch=found).count() == 1
    assert list(rebuild.differences()) == []


def test_every_seat_goes_to_one_person() -> None:
    version = approved(sampling={"rate": 1.0, "min_per_stratum": 0, "double": 1.0}, breaker={"silent": {"limit": 0.1, "h": 1}})
    found = batch(version, {f"r{i}": f"Total {i}.00" for i in range(9)})
    for run in ready(found):
        end(run)
    people = [reviewer(f"grader-{i}") for i in range(6)]
    held = together(claim_next, people)
    assert len({task.pk for task in held}) == 6
    together(lambda pair: submit_grade(pair[0], pair[1], ONE_WRONG, ""), zip(held, people, strict=True))

    def rest(user: Any) -> None:
        while (task := claim_next(user)) is not None:
            submit_grade(task, user, ALL_RIGHT, "")

    together(rest, people)
    assert not Sample.objects.filter(status="waiting").exists()
    assert list(rebuild.differences()) == []
