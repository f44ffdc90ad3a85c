from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from reviewapp.samples.models import GoldItem, Sample
from tests.reviewapp.samples.test_gold import graded
from tests.reviewapp.samples.test_grading import made

pytestmark = pytest.mark.django_db


def said(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_simulation_prints_named_tables() -> None:
    printed = said("simulate_quality", "rules", "probation", "--runs", "5")
    assert "5 in a row, 6 of 20" in printed
    assert "| resumed at half | 9 (20) |" in printed


@pytest.mark.parametrize("arguments", [["nonsense"], ["rules", "--runs", "0"]])
def test_simulation_refuses_nonsense(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        said("simulate_quality", *arguments)


def test_seeds_gold_by_command() -> None:
    graded(3)
    assert (
        said("seed_gold", "totals", "--wrong", "1", "--right", "1")
        == "1 known-wrong and 1 known-right items wait to be graded\n"
    )
    assert GoldItem.objects.count() == 2
    with pytest.raises(CommandError):
        said("seed_gold", "nothing")


def test_reference_grades_up_to_a_limit() -> None:
    made(5)
    assert said("grade_by_reference", "--limit", "2") == "2 grades given by reference\n"
    assert Sample.objects.filter(status="settled").count() == 2
