"""Grading acts: autosave, submit, skip, take back; and what settles a sampled output. A grade never changes an output.

Lock order: the task, the sample, the tallies, the breaker, the batch, the audit log.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from controller.breaker import Rule
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches import breaker
from reviewapp.batches.pausing import NotAllowed, pause_by_rule
from reviewapp.insights import tallies
from reviewapp.runs import values
from reviewapp.samples import marks as marking
from reviewapp.samples.claims import LEASE, LeaseGone, holds
from reviewapp.samples.marks import Marks
from reviewapp.samples.models import (
    CorrectionRequest,
    Grade,
    GradeStatus,
    Sample,
    SampleStatus,
    Task,
    TaskKind,
    Verdict,
)

IDLE = timedelta(seconds=60)
"""A gap between two signs of life counts as work up to this."""

UNDO = timedelta(minutes=15)


def value_of(task: Task) -> str:
    """The output that this seat is about, as exact JSON; empty where it was purged."""
    return task.gold.value if task.gold is not None else task.run.outcome.value


def pointers_of(task: Task) -> list[str]:
    """The places that want a mark, in the output's order."""
    return [row.pointer for row in values.rows(value_of(task)) or []]


def save_draft(task: Task, user: User, marks: Marks, comment: str) -> Grade:
    """Keeps what the grader has so far and renews the seat. ``LeaseGone`` where another has it: the draft is kept even then."""
    with transaction.atomic():
        task = _locked(task)
        grade = _draft(task, user)
        _touch(grade, marks, comment)
        grade.save()
        if is_mine := holds(task, user):
            Task.objects.filter(pk=task.pk).update(lease_until=timezone.now() + LEASE)
    if not is_mine:
        raise LeaseGone("another person has this seat now")
    return grade


@transaction.atomic
def submit_grade(task: Task, user: User, marks: Marks, comment: str) -> Grade:
    """The grade is given. ``NotAllowed`` names what is missing; ``LeaseGone`` where another has the seat."""
    task = _locked(task)
    if not holds(task, user):
        raise LeaseGone("another person has this seat now")
    pointers = pointers_of(task)
    if missing := marking.unmarked(marks, pointers):
        raise NotAllowed(
            f"{len(missing)} field{'s have' if len(missing) > 1 else ' has'} no mark yet: {', '.join(missing[:5])}"
        )
    if untyped := marking.untyped(marks):
        raise NotAllowed(f"say what is wrong with {', '.join(untyped[:5])}")
    said = marking.verdict(marks, pointers)
    assert said is not None
    now = timezone.now()
    grade = _draft(task, user)
    _touch(grade, marks, comment)
    grade.status, grade.verdict, grade.done_at = GradeStatus.DONE, said.value, now
    grade.save()
    Task.objects.filter(pk=task.pk).update(is_open=False, lease_until=None)
    tallies.graded(task.envelope_id, grade.active_ms)
    if task.sample_id is not None:
        _after_grade(task, now)
    append(
        "output adjudicated" if task.kind == TaskKind.ADJUDICATE else "output graded",
        "run",
        task.run_id,
        by=user,
        after={"verdict": grade.verdict, "grade": grade.pk},
    )
    return grade


@transaction.atomic
def skip_task(task: Task, user: User, reason: str) -> None:
    """Hands the seat back with a reason. The output stays without a verdict until somebody else gives one."""
    task = _locked(task)
    if not reason.strip():
        raise NotAllowed("a reason is needed")
    if not holds(task, user):
        raise LeaseGone("another person has this seat now")
    grade = _draft(task, user)
    grade.status, grade.skip_reason, grade.done_at = GradeStatus.SKIPPED, reason.strip()[:300], timezone.now()
    grade.save()
    Task.objects.filter(pk=task.pk).update(holder=None, lease_until=None)
    append("grading skipped", "run", task.run_id, by=user, reason=grade.skip_reason)


def last_of(user: User) -> Grade | None:
    """The grade that the person may still take back."""
    since = timezone.now() - UNDO
    last = Grade.objects.filter(grader=user, done_at__gte=since).order_by("-done_at", "-pk").select_related("task").first()
    return last if last is not None and last.status == GradeStatus.DONE else None


@transaction.atomic
def undo_last(user: User) -> Task:
    """Takes the person's last grade back; the seat is theirs again, with the marks as they were. What it caused is reversed,
    except a pause: only a person resumes a batch."""
    grade = last_of(user)
    if grade is None:
        raise NotAllowed("there is no grade of the last 15 minutes to take back")
    task = _locked(grade.task)
    if task.sample_id is not None:
        _before_undo(task)
    now = timezone.now()
    Grade.objects.filter(pk=grade.pk).update(status=GradeStatus.UNDONE)
    Grade.objects.create(
        task=task,
        run_id=task.run_id,
        grader=user,
        marks=grade.marks,
        comment=grade.comment,
        active_ms=grade.active_ms,
        started_at=grade.started_at,
        touched_at=now,
    )
    tallies.graded(task.envelope_id, grade.active_ms, by=-1)
    Task.objects.filter(pk=task.pk).update(is_open=True, holder=user, lease_until=now + LEASE, fence=task.fence + 1)
    append("grade taken back", "run", task.run_id, by=user, before={"verdict": grade.verdict, "grade": grade.pk})
    return task


@transaction.atomic
def ask_for_correction(sample: Sample, user: User, why: str) -> CorrectionRequest:
    """Asks that a delivered output be put right. The output itself stays as it is: correcting it is another act."""
    if sample.verdict != Verdict.WRONG:
        raise NotAllowed("only an output that was graded wrong can be asked to be corrected")
    if not why.strip():
        raise NotAllowed("a reason is needed")
    if CorrectionRequest.objects.filter(sample=sample).exists():
        raise NotAllowed("a correction has been asked for already")
    grade = deciding_grade(sample)
    fields = {at: mark["value"] for at, mark in marking.load(grade.marks).items() if mark["mark"] == Verdict.WRONG}
    made = CorrectionRequest.objects.create(
        sample=sample, fields=json.dumps(fields), why=why.strip()[:500], asked_by=user, asked_at=timezone.now()
    )
    append("correction asked for", "run", sample.pk, by=user, after={"fields": sorted(fields)}, reason=made.why)
    return made


@transaction.atomic
def decide_correction(request: CorrectionRequest, user: User, *, take: bool, why: str) -> CorrectionRequest:
    """An owner takes the wish up or refuses it."""
    request = CorrectionRequest.objects.select_for_update().get(pk=request.pk)
    if request.status != "open":
        raise NotAllowed("that has been decided already")
    if not why.strip():
        raise NotAllowed("a reason is needed")
    request.status, request.decided_by = ("taken" if take else "refused"), user
    request.decided_why, request.decided_at = why.strip()[:500], timezone.now()
    request.save()
    append(f"correction {'taken up' if take else 'refused'}", "run", request.sample_id, by=user, reason=request.decided_why)
    return request


def deciding_grade(sample: Sample) -> Grade:
    """The grade whose marks count: the third person's where there was one, else the first seat's."""
    done = Grade.objects.filter(task__sample=sample, status=GradeStatus.DONE).select_related("task")
    return min(done, key=lambda g: (g.task.kind != TaskKind.ADJUDICATE, g.task.seat))


def _after_grade(task: Task, now: datetime) -> None:
    """Settles the sample when the last seat is done: agreed, by the third person, or handed to one."""
    sample = Sample.objects.select_for_update(of=("self",)).select_related("batch__version").get(pk=task.sample_id)
    done = Grade.objects.filter(task__sample=sample, status=GradeStatus.DONE).select_related("task").order_by("task__seat")
    if task.kind == TaskKind.ADJUDICATE:
        _settle(sample, deciding_grade(sample), now)
        return
    seats = [grade for grade in done if grade.task.kind == TaskKind.GRADE]
    if len(seats) < sample.seats:
        return
    if sample.seats == 2:
        sample.first_verdict, sample.second_verdict = seats[0].verdict, seats[1].verdict
    if len({grade.verdict for grade in seats}) == 1:
        _settle(sample, seats[0], now)
        return
    sample.status = SampleStatus.DISPUTED
    sample.save(update_fields=["status", "first_verdict", "second_verdict"])
    Task.objects.create(
        kind=TaskKind.ADJUDICATE,
        sample=sample,
        run_id=task.run_id,
        envelope_id=task.envelope_id,
        order_place=task.order_place,
        created_at=now,
    )


def _settle(sample: Sample, grade: Grade, now: datetime) -> None:
    sample.status, sample.verdict, sample.settled_at = SampleStatus.SETTLED, grade.verdict, now
    sample.save(update_fields=["status", "verdict", "settled_at", "first_verdict", "second_verdict"])
    tallies.settled(sample, marking.load(grade.marks))
    if sample.in_base:
        is_bad = sample.verdict == Verdict.WRONG
        found = breaker.count(sample.batch, Rule.SILENT_FAILURES, run_id=sample.pk, is_bad=is_bad, kind="graded", now=now)
        pause_by_rule(sample.batch, found)


def _before_undo(task: Task) -> None:
    """Reverses what the grade in this seat settled. Refused once a third person has begun to look at both grades."""
    sample = Sample.objects.select_for_update(of=("self",)).select_related("batch__version").get(pk=task.sample_id)
    third = Task.objects.filter(sample=sample, kind=TaskKind.ADJUDICATE).first()
    if third is not None and task.kind != TaskKind.ADJUDICATE:
        if third.grades.exists():
            raise NotAllowed("a third person is looking at it already")
        third.delete()
    if hasattr(sample, "correction_request"):
        raise NotAllowed("a correction has been asked for because of it")
    if sample.status == SampleStatus.SETTLED:
        tallies.settled(sample, marking.load(deciding_grade(sample).marks), by=-1)
        if sample.in_base:
            breaker.take_back(sample.batch, Rule.SILENT_FAILURES, run_id=sample.pk)
    again = SampleStatus.DISPUTED if task.kind == TaskKind.ADJUDICATE else SampleStatus.WAITING
    sample.status, sample.verdict, sample.settled_at = again, "", None
    if again == SampleStatus.WAITING:
        sample.first_verdict = sample.second_verdict = ""
    sample.save(update_fields=["status", "verdict", "settled_at", "first_verdict", "second_verdict"])


def _locked(task: Task) -> Task:
    return Task.objects.select_for_update(of=("self",)).select_related("run__outcome", "gold").get(pk=task.pk)


def _draft(task: Task, user: User) -> Grade:
    grade = Grade.objects.filter(task=task, grader=user, status=GradeStatus.DRAFT).first()
    if grade is None:
        raise LeaseGone("you do not hold this seat")
    return grade


def _touch(grade: Grade, marks: Marks, comment: str) -> None:
    now = timezone.now()
    grade.active_ms += min(now - grade.touched_at, IDLE) // timedelta(milliseconds=1)
    grade.touched_at, grade.marks = now, marking.dump(marks)
    grade.comment = comment.replace("\x00", "")[: 2 * marking.MOST_CHARS]
