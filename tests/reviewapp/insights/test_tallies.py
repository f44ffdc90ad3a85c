from __future__ import annotations

from datetime import UTC, date, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from controller.intervals import NoData
from controller.rates import Rate
from reviewapp.accounts.models import Role
from reviewapp.batches.actions import close_batch
from reviewapp.insights import figures, rebuild
from reviewapp.insights.figures import Scope
from reviewapp.insights.models import RunTally, SampleTally
from reviewapp.insights.tallies import field_marks, week_of
from reviewapp.samples.actions import claim_next, submit_grade, undo_last
from reviewapp.samples.models import TaskKind
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready
from tests.reviewapp.samples.test_grading import ALL_RIGHT, ONE_WRONG, RIGHT, UNSURE, WRONG, reviewer

pytestmark = pytest.mark.django_db

ENDINGS = [{}, {"attempts": 2}, {"fallback": "parser"}, {"accepted": False}]


def worked(kinds: list[int], grades: list[str], *, rate: float = 0.6) -> Scope:
    version = approved(
        sampling={"rate": rate, "min_per_stratum": 2, "double": 0.4},
        breaker={"dead_letters": {"limit": 0.9, "h": 99}, "silent": {"limit": 0.9, "h": 99}, "ungraded": 999},
    )
    found = batch(version, {f"r{i}": f"Total {i}.00" for i in range(len(kinds))})
    for run, kind in zip(ready(found), kinds, strict=True):
        end(run, **ENDINGS[kind])
    for number, said in enumerate(grades):
        user = reviewer(("one", "two", "three")[number % 3])
        if said == "undo":
            from reviewapp.batches.actions import NotAllowed

            try:
                undo_last(user)
            except NotAllowed:
                continue
            continue
        if said == "close":
            if found.status != "closed":
                found = close_batch(found, by=person("manager", Role.MANAGER))
            continue
        task = claim_next(user) or claim_next(user, TaskKind.ADJUDICATE)
        if task is not None:
            submit_grade(
                task, user, {"right": ALL_RIGHT, "wrong": ONE_WRONG, "unsure": {**ALL_RIGHT, "/qty": UNSURE}}[said], ""
            )
    return Scope(version.envelope_id, version.pk, found.pk)


class TheCounts(TestCase):
    @settings(max_examples=12)
    @given(
        st.lists(st.integers(0, 3), min_size=1, max_size=12),
        st.lists(st.sampled_from(["right", "wrong", "unsure", "undo", "close"]), max_size=16),
    )
    def test_always_equal_the_rows(self, kinds: list[int], grades: list[str]) -> None:
        worked(kinds, grades)
        assert list(rebuild.differences()) == []


def test_rebuilds_what_was_lost() -> None:
    worked([0, 1, 2, 3, 0], ["right", "wrong"])
    RunTally.objects.all().delete()
    SampleTally.objects.filter(kind="frame").update(accepted=99)
    with pytest.raises(CommandError, match="differ"):
        call_command("rebuild_rollups", "--verify", stderr=StringIO())
    call_command("rebuild_rollups", stdout=StringIO())
    out = StringIO()
    call_command("rebuild_rollups", "--verify", stdout=out)
    assert out.getvalue().strip() == "every count is what the rows say"


@pytest.mark.parametrize(
    ("moment", "monday"),
    [
        (datetime(2026, 11, 30, 0, 0, tzinfo=UTC), date(2026, 11, 30)),
        (datetime(2026, 11, 29, 23, 59, tzinfo=UTC), date(2026, 11, 23)),
    ],
)
def test_weeks_start_on_monday(moment: datetime, monday: date) -> None:
    assert week_of(moment) == monday


def test_field_takes_its_worst_place() -> None:
    marks = {"/items/0/price": RIGHT, "/items/1/price": WRONG, "/items/0/name": UNSURE, "/total": RIGHT}
    found = {"(left out)": "right", "/items/*/name": "cannot_judge", "/items/*/price": "wrong", "/total": "right"}
    assert field_marks(marks) == found
    assert field_marks({"(left out)": WRONG}) == {"(left out)": "wrong"}


def test_no_grades_is_no_data() -> None:
    scope = worked([0] * 6, [])
    shown = figures.line("all", figures.sample_rows(scope), 0.1)
    assert shown.rate == NoData("nothing graded yet")
    assert shown.live.light == "no_data"


def test_dead_letters_stay_out_of_the_rate() -> None:
    scope = worked([0, 0, 3, 3], ["right"] * 4, rate=1.0)
    shown = figures.line("all", figures.sample_rows(scope), 0.1).rate
    assert isinstance(shown, Rate)
    assert shown.accepted == 2
    assert figures.effort_of(scope).dead_letters == 2


def test_weights_risky_strata() -> None:
    """Ten of the rest right, two retried wrong: the rate is a sixth, whatever the strata's sampling rates."""
    version = approved(sampling={"rate": 1.0, "min_per_stratum": 0, "double": 0.0}, breaker={"silent": {"limit": 0.9, "h": 99}})
    found = batch(version, {f"r{i}": "Total 1.00" for i in range(12)})
    for number, run in enumerate(ready(found)):
        end(run, attempts=2 if number < 2 else 1)
    while (task := claim_next(reviewer())) is not None:
        submit_grade(task, reviewer(), ONE_WRONG if task.sample.stratum == "retried" else ALL_RIGHT, "")
    scope = Scope(version.envelope_id)
    shown = figures.line("all", figures.sample_rows(scope), 0.1).rate
    assert isinstance(shown, Rate)
    assert (shown.point, shown.wrong, shown.graded) == (pytest.approx(1 / 6), 2, 12)


def test_pools_batches_without_top_ups() -> None:
    version = approved(sampling={"rate": 0.0, "min_per_stratum": 1, "double": 0.0})
    for name in ("a", "b"):
        found = batch(version, {f"{name}{i}": "Total 1.00" for i in range(3)}, name=name)
        for run in ready(found):
            end(run)
        close_batch(found, by=person("manager", Role.MANAGER))
    one = figures.line("one", figures.sample_rows(Scope(version.envelope_id, batch_id=found.pk)), 0.1)
    both = figures.line("both", figures.sample_rows(Scope(version.envelope_id)), 0.1)
    assert (one.sampled, both.sampled) == (1, 0)
    assert both.rate == NoData("nothing sampled yet")


def test_compares_versions_on_shared_records() -> None:
    quiet = {"silent": {"limit": 0.9, "h": 99}}
    first = approved(sampling={"rate": 1.0, "double": 0.0}, breaker=quiet)
    second = approved(sampling={"rate": 1.0, "double": 0.0}, breaker=quiet, reminder="Copy slowly.")
    for version in (first, second):
        found = batch(version, {f"r{i}": f"Total {i}.00" for i in range(6)}, name="same")
        for run in ready(found):
            end(run)
        while (task := claim_next(reviewer())) is not None:
            submit_grade(task, reviewer(), ONE_WRONG if version == first else ALL_RIGHT, "")
    found = figures.compared(first.envelope_id, (first.pk, 1), (second.pk, 2))
    assert (found.pairs.only_first_wrong, found.pairs.n, found.counts) == (6, 6, (6, 6, 0, 6))
    assert found.paired.p == pytest.approx(0.03125)
