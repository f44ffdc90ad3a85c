from __future__ import annotations

import json

import pytest

from reviewapp.accounts.models import Role
from reviewapp.insights.models import SampleTally
from reviewapp.samples import judging
from reviewapp.samples.actions import claim_next, seed_gold, submit_grade
from reviewapp.samples.gold import altered
from reviewapp.samples.models import GoldItem, Grade, Sample, Task
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready
from tests.reviewapp.samples.test_grading import ALL_RIGHT, ONE_WRONG, grade, reviewer

pytestmark = pytest.mark.django_db

DOCUMENT = "Till 7\nTea 3.00\nCake 9.00\nTotal 12.00\nCall 555-0100"


def graded(count: int = 4) -> None:
    version = approved(sampling={"rate": 1.0, "min_per_stratum": 0, "double": 0.0})
    found = batch(version, {f"r{i}": DOCUMENT for i in range(count)})
    for run in ready(found):
        end(run)
    for _ in range(count):
        grade(reviewer(), ALL_RIGHT)


def test_alters_by_another_amount_of_the_document() -> None:
    made = [(at, old, json.loads(value)["total"]) for at, old, value in altered(DOCUMENT, '{"total":"12.00","qty":1}')]
    assert made == [("/total", "12.00", "3.00"), ("/total", "12.00", "9.00")]


def test_no_check_tells_gold_apart() -> None:
    graded()
    seed_gold(Sample.objects.first().envelope, wrong=2, right=1, by=person("owner", Role.OWNER))
    for item in GoldItem.objects.select_related("run__version", "run__record__payload"):
        report = judging.report(item.run.version, item.run.record.payload.document, item.value)
        assert report.passed
        assert any(finding.spans for finding in report.findings)


def test_gold_waits_among_the_others() -> None:
    graded()
    counts = SampleTally.objects.get(kind="base").right
    seed_gold(Sample.objects.first().envelope, wrong=2, right=1, by=person("owner", Role.OWNER))
    assert claim_next(reviewer()) is None
    for _ in range(3):
        task = claim_next(reviewer("two"))
        submit_grade(task, reviewer("two"), ONE_WRONG if task.gold.answer == "wrong" else ALL_RIGHT, "")
    assert Task.objects.filter(is_open=True).count() == 0
    assert SampleTally.objects.get(kind="base").right == counts
    assert Grade.objects.filter(task__gold__answer="wrong", verdict="wrong").count() == 2


def test_seeds_only_what_there_is() -> None:
    graded(2)
    assert seed_gold(Sample.objects.first().envelope, wrong=5, right=5, by=None) == {"wrong": 2, "right": 0}
