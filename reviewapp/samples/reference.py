"""Grading by the reference values that came with the records: for demonstrations and tests, where the truth is known.

A scripted grader sees what a person sees (document, output, rubric) and the reference; never arm, attempts or stratum.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reviewapp.accounts.models import Membership, Role, User
from reviewapp.batches.models import Batch
from reviewapp.runs import values
from reviewapp.samples.claims import claim_next
from reviewapp.samples.grading import pointers_of, submit_grade, value_of
from reviewapp.samples.marks import LEFT_OUT, Kind, Mark, Marks, verdict
from reviewapp.samples.models import Accepted, Task, TaskKind, Verdict

Truth = Mapping[str, str]
"""Pointer → literal, as ``runs.values.rows`` gives them."""


def truth_of(reference: str) -> Truth:
    """The leaves of a reference value."""
    return {row.pointer: row.text for row in values.rows(reference) or []}


def marks_by(reference: str, value_text: str) -> Marks:
    """Every field of the output against the reference, character for character; what the output left out is a mark of its own.

    Fields that the reference does not speak about at all (no value under their first key) cannot be judged by it.
    """
    truth = truth_of(reference)
    known = set(json.loads(reference)) if reference else set()
    marks: Marks = {}
    present = values.rows(value_text) or []
    for row in present:
        marks[row.pointer] = _mark(row.pointer, row.text, truth, known)
    asked = set(json.loads(value_text)) if present else set()
    left_out = [at for at, text in truth.items() if at not in marks and text != "null" and _top(at) in asked]
    if left_out:
        marks[LEFT_OUT] = Mark(mark=Verdict.WRONG.value, type=Kind.MISSING.value, value=", ".join(left_out))
    return marks


def _top(pointer: str) -> str:
    return pointer.split("/")[1] if "/" in pointer[:1] else ""


def _mark(pointer: str, text: str, truth: Truth, known: Iterable[str]) -> Mark:
    if _top(pointer) not in known:
        return Mark(mark=Verdict.CANNOT_JUDGE.value, type="", value="")
    right = truth.get(pointer, "null")
    if right == text:
        return Mark(mark=Verdict.RIGHT.value, type="", value="")
    kind = Kind.MISSING if text == "null" else Kind.INVENTED if right == "null" else Kind.OTHER_VALUE
    return Mark(mark=Verdict.WRONG.value, type=kind.value, value=_plain(right))


def _plain(literal: str) -> str:
    found: Any = json.loads(literal)
    return found if isinstance(found, str) else literal


def is_wrong(reference: str, value_text: str) -> bool:
    """Whether the output differs from the reference anywhere: the truth that a rate estimates."""
    marks = marks_by(reference, value_text)
    return verdict(marks, list(marks)) is Verdict.WRONG


def graders() -> list[User]:
    """Two scripted reviewers and a third for where they differ. They cannot sign in."""
    found = []
    for number in (1, 2, 3):
        user, made = User.objects.get_or_create(
            username=f"reference-{number}", defaults={"first_name": "Reference", "last_name": str(number)}
        )
        if made:
            user.set_unusable_password()
            user.save()
        Membership.objects.get_or_create(user=user, role=Role.REVIEWER, envelope=None)
        found.append(user)
    return found


def grade_by_reference(*, limit: int | None = None, slips: Callable[[str, int], bool] = lambda key, seat: False) -> int:
    """Grades what waits, in the queue's own order, up to ``limit`` grades; differences go to the third. How many were given.

    ``slips(record key, grader number)`` says where a scripted grader calls everything right by mistake.
    """
    people, given = dict(enumerate(graders(), start=1)), 0
    for kind, numbers in ((TaskKind.GRADE, (1, 2)), (TaskKind.ADJUDICATE, (3,))):
        # One after the other, so that a part of the queue is graded completely and not half of the seats of all of it.
        working = {number: people[number] for number in numbers}
        while working and (limit is None or given < limit):
            for number, user in list(working.items()):
                task = claim_next(user, kind) if limit is None or given < limit else None
                if task is None:
                    del working[number]
                    continue
                _grade(task, user, slips(task.run.record.key, number))
                given += 1
    return given


def _grade(task: Task, user: User, slipped: bool) -> None:
    marks = marks_by(task.run.record.payload.reference, value_of(task))
    if slipped:
        marks = {at: Mark(mark=Verdict.RIGHT.value, type="", value="") for at in pointers_of(task)}
    submit_grade(task, user, marks, "")


def truth_in(batch: Batch) -> tuple[int, int]:
    """(wrong, accepted) of a batch by its references, over every accepted output: what the sample estimates."""
    rows = Accepted.objects.filter(batch=batch).values_list("record__payload__reference", "run__outcome__value")
    outcomes = [is_wrong(reference, value) for reference, value in rows.iterator(chunk_size=1_000)]
    return sum(outcomes), len(outcomes)
