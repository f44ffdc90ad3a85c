from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from reviewapp.accounts.models import Role, User
from reviewapp.audit.models import Entry
from reviewapp.batches.actions import NotAllowed
from reviewapp.batches.models import Batch, Breaker, BreakerStep
from reviewapp.insights.models import FieldTally, GradingTime, SampleTally
from reviewapp.runs.models import Outcome
from reviewapp.samples import grading
from reviewapp.samples.actions import (
    LeaseGone,
    ask_for_correction,
    claim_next,
    decide_correction,
    save_draft,
    skip_task,
    submit_grade,
    undo_last,
)
from reviewapp.samples.marks import LEFT_OUT, Mark, read, verdict
from reviewapp.samples.models import Grade, Sample, Task, TaskKind
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready

pytestmark = pytest.mark.django_db

RIGHT = Mark(mark="right", type="", value="")
WRONG = Mark(mark="wrong", type="other_value", value="13.00")
UNSURE = Mark(mark="cannot_judge", type="", value="")
ALL_RIGHT = {"/total": RIGHT, "/qty": RIGHT}
ONE_WRONG = {"/total": WRONG, "/qty": RIGHT}


def reviewer(name: str = "one") -> User:
    return person(name, Role.REVIEWER)


def made(count: int = 3, *, double: float = 0.0, **breaker: object) -> Batch:
    rules = {"dead_letters": {"limit": 0.5, "h": 9}, "silent": {"limit": 0.1, "h": 2}, "ungraded": 90, **breaker}
    version = approved(sampling={"rate": 1.0, "min_per_stratum": 0, "double": double}, breaker=rules)
    found = batch(version, {f"r{i}": f"Total {i}.00" for i in range(count)})
    for run in ready(found):
        end(run)
    return found


def grade(user: User, marks: dict[str, Mark], kind: TaskKind = TaskKind.GRADE) -> Grade:
    task = claim_next(user, kind)
    assert task is not None
    return submit_grade(task, user, marks, "")


def test_gives_the_next_in_drawn_order() -> None:
    made(5)
    order = list(Task.objects.order_by("order_place").values_list("pk", flat=True))
    assert [grade(reviewer(), ALL_RIGHT).task_id for _ in range(5)] == order
    assert claim_next(reviewer()) is None


def test_two_people_never_share_a_seat() -> None:
    made(4)
    held = [claim_next(reviewer(name)) for name in ("one", "two", "three", "four", "five")]
    assert held[4] is None
    assert len({task.pk for task in held[:4]}) == 4


def test_same_seat_until_done() -> None:
    made(3)
    assert claim_next(reviewer()).pk == claim_next(reviewer()).pk


def test_nobody_grades_one_output_twice() -> None:
    made(1, double=1.0)
    grade(reviewer(), ALL_RIGHT)
    assert claim_next(reviewer()) is None
    assert claim_next(reviewer("two")) is not None


def test_lost_seat_goes_to_the_next() -> None:
    made(1)
    task = claim_next(reviewer())
    save_draft(task, reviewer(), ONE_WRONG, "half way")
    Task.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert claim_next(reviewer("two")).pk == task.pk
    with pytest.raises(LeaseGone):
        save_draft(task, reviewer(), ONE_WRONG, "nearly done")
    with pytest.raises(LeaseGone):
        submit_grade(task, reviewer(), ONE_WRONG, "done")
    assert Grade.objects.get(grader=reviewer()).comment == "nearly done"


def test_lease_that_ran_out_unnoticed_is_renewed() -> None:
    made(1)
    task = claim_next(reviewer())
    Task.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert submit_grade(task, reviewer(), ALL_RIGHT, "").verdict == "right"


def test_strangers_get_nothing() -> None:
    made(1)
    assert claim_next(person("manager", Role.MANAGER)) is None


VERDICTS = [
    (ALL_RIGHT, "right"),
    (ONE_WRONG, "wrong"),
    ({"/total": UNSURE, "/qty": RIGHT}, "cannot_judge"),
    ({"/total": UNSURE, "/qty": WRONG}, "wrong"),
    ({**ALL_RIGHT, LEFT_OUT: WRONG}, "wrong"),
    ({"/total": RIGHT}, None),
    ({LEFT_OUT: WRONG}, None),
]


@pytest.mark.parametrize(("marks", "said"), VERDICTS)
def test_verdict_follows_from_marks(marks: dict[str, Mark], said: str | None) -> None:
    assert verdict(marks, ["/total", "/qty"]) == said


def test_reads_a_posted_form() -> None:
    posted = {"mark-0": "wrong", "type-0": "nonsense", "value-0": "1\x003", "mark-1": "excellent", "type-1": "invented"}
    assert read(posted, ["/a", "/b"]) == {"/a": Mark(mark="wrong", type="", value="13")}


@pytest.mark.parametrize("marks", [{"/total": RIGHT}, {"/total": Mark(mark="wrong", type="", value=""), "/qty": RIGHT}])
def test_refuses_a_grade_with_gaps(marks: dict[str, Mark]) -> None:
    made(1)
    with pytest.raises(NotAllowed):
        grade(reviewer(), marks)
    assert Sample.objects.get().status == "waiting"


def test_one_grade_settles() -> None:
    found = made(1)
    grade(reviewer(), ONE_WRONG)
    sample = Sample.objects.get(batch=found)
    assert (sample.status, sample.verdict) == ("settled", "wrong")
    assert SampleTally.objects.get(kind="base").wrong == 1
    assert set(FieldTally.objects.values_list("field", "right", "wrong")) == {
        ("/total", 0, 1),
        ("/qty", 1, 0),
        (LEFT_OUT, 1, 0),
    }
    entry = Entry.objects.get(action="output graded")
    assert (entry.actor, json.loads(entry.after)["verdict"]) == (reviewer(), "wrong")


def test_two_that_agree_settle() -> None:
    made(1, double=1.0)
    grade(reviewer(), ALL_RIGHT)
    assert Sample.objects.get().status == "waiting"
    grade(reviewer("two"), ALL_RIGHT)
    assert Sample.objects.get().verdict == "right"
    assert SampleTally.objects.get(kind="base").right == 1


def test_third_person_decides() -> None:
    made(1, double=1.0)
    grade(reviewer(), ALL_RIGHT)
    grade(reviewer("two"), ONE_WRONG)
    sample = Sample.objects.get()
    assert (sample.status, sample.verdict, {sample.first_verdict, sample.second_verdict}) == (
        "disputed",
        "",
        {"right", "wrong"},
    )
    assert claim_next(reviewer(), TaskKind.ADJUDICATE) is None
    grade(reviewer("three"), ONE_WRONG, TaskKind.ADJUDICATE)
    assert Sample.objects.get().verdict == "wrong"
    assert SampleTally.objects.get(kind="base").wrong == 1


def test_skipping_leaves_it_unresolved() -> None:
    made(1)
    task = claim_next(reviewer())
    with pytest.raises(NotAllowed):
        skip_task(task, reviewer(), " ")
    skip_task(task, reviewer(), "cannot read the script")
    assert (claim_next(reviewer()), Sample.objects.get().status) == (None, "waiting")
    assert grade(reviewer("two"), ALL_RIGHT).task_id == task.pk


def test_undo_reverses_everything() -> None:
    found = made(1)
    grade(reviewer(), ONE_WRONG)
    task = undo_last(reviewer())
    sample = Sample.objects.get()
    assert (sample.status, sample.verdict, task.is_open or Task.objects.get().is_open) == ("waiting", "", True)
    assert SampleTally.objects.get(kind="base").wrong == 0
    assert Breaker.objects.get(batch=found, rule="silent_failures").excess == 0
    again = claim_next(reviewer())
    assert json.loads(Grade.objects.get(task=again, status="draft").marks) == ONE_WRONG
    submit_grade(again, reviewer(), ALL_RIGHT, "")
    assert Sample.objects.get().verdict == "right"
    assert list(BreakerStep.objects.filter(rule="silent_failures").values_list("is_bad", "undone")) == [
        (True, True),
        (False, False),
    ]
    assert GradingTime.objects.get().grades == 1


def test_undo_stops_at_the_third_person() -> None:
    made(1, double=1.0)
    grade(reviewer(), ALL_RIGHT)
    grade(reviewer("two"), ONE_WRONG)
    undo_last(reviewer("two"))
    assert not Task.objects.filter(kind="adjudicate").exists()
    grade(reviewer("two"), ONE_WRONG)
    claim_next(reviewer("three"), TaskKind.ADJUDICATE)
    with pytest.raises(NotAllowed, match="third person"):
        undo_last(reviewer("two"))


def test_undo_ends_after_a_while() -> None:
    made(1)
    grade(reviewer(), ALL_RIGHT)
    Grade.objects.update(done_at=timezone.now() - grading.UNDO - timedelta(seconds=1))
    with pytest.raises(NotAllowed):
        undo_last(reviewer())


def test_wrong_grades_pause_the_batch() -> None:
    found = made(6)
    for number in range(1, 4):
        grade(reviewer(), ONE_WRONG)
        found.refresh_from_db()
        assert found.status == ("paused" if number == 3 else "open")
    assert found.pauses.get().rule == "silent_failures"


def test_undo_never_resumes() -> None:
    found = made(6)
    for _ in range(3):
        grade(reviewer(), ONE_WRONG)
    undo_last(reviewer())
    found.refresh_from_db()
    assert found.status == "paused"
    assert Breaker.objects.get(rule="silent_failures").excess == 180


def test_grade_changes_no_output() -> None:
    made(1)
    before = list(Outcome.objects.values())
    grade(reviewer(), ONE_WRONG)
    assert list(Outcome.objects.values()) == before
    with pytest.raises(DatabaseError), transaction.atomic():
        Outcome.objects.update(value='{"total":"13.00","qty":1}')


@pytest.mark.parametrize("change", [{"verdict": "right"}, {"marks": "{}"}, {"status": "draft"}, {"comment": "no"}])
def test_given_grade_stays_given(change: dict[str, str]) -> None:
    made(1)
    grade(reviewer(), ONE_WRONG)
    with pytest.raises(DatabaseError), transaction.atomic():
        Grade.objects.update(**change)


def test_correction_is_its_own_act() -> None:
    made(2)
    grade(reviewer(), ONE_WRONG)
    grade(reviewer(), ALL_RIGHT)
    wrong, right = Sample.objects.get(verdict="wrong"), Sample.objects.get(verdict="right")
    with pytest.raises(NotAllowed):
        ask_for_correction(right, reviewer(), "please")
    request = ask_for_correction(wrong, reviewer(), "the customer was billed this")
    assert json.loads(request.fields) == {"/total": "13.00"}
    assert Outcome.objects.get(run=wrong.run).value == '{"total":"12.00","qty":1}'
    decided = decide_correction(request, person("owner", Role.OWNER), take=True, why="yes")
    with pytest.raises(NotAllowed):
        decide_correction(decided, person("owner", Role.OWNER), take=False, why="no")
    assert set(Entry.objects.filter(action__startswith="correction").values_list("action", flat=True)) == {
        "correction asked for",
        "correction taken up",
    }


def test_measures_active_time() -> None:
    made(1)
    task = claim_next(reviewer())
    Grade.objects.update(touched_at=timezone.now() - timedelta(seconds=20))
    save_draft(task, reviewer(), ALL_RIGHT, "")
    Grade.objects.update(touched_at=timezone.now() - timedelta(hours=2))
    given = submit_grade(task, reviewer(), ALL_RIGHT, "")
    assert 80_000 <= given.active_ms < 82_000
    assert GradingTime.objects.get().active_ms == given.active_ms
