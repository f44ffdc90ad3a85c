from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviewapp.access import require, require_somewhere
from reviewapp.accounts.models import Role
from reviewapp.batches.pausing import NotAllowed
from reviewapp.requests import Request
from reviewapp.samples import actions, marks, presentation
from reviewapp.samples.claims import LeaseGone, waiting_counts
from reviewapp.samples.grading import last_of, pointers_of
from reviewapp.samples.models import Grade, GradeStatus, Task, TaskKind


@require_safe
@never_cache
def samples(request: Request) -> HttpResponse:
    """What waits to be graded by me, and my last grade, which I may still take back."""
    require_somewhere(request.user, Role.REVIEWER)
    counts = waiting_counts(request.user)
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    done = Grade.objects.filter(grader=request.user, status=GradeStatus.DONE, done_at__gte=midnight).count()
    context = {"waiting": counts["grade"], "disputed": counts["adjudicate"], "done": done, "last": last_of(request.user)}
    return render(request, "samples/samples.html", context)


@require_POST
def sample_next(request: Request) -> HttpResponse:
    """The next output in drawn order: nobody picks."""
    require_somewhere(request.user, Role.REVIEWER)
    return _next(request, TaskKind.ADJUDICATE if request.POST.get("kind") == "adjudicate" else TaskKind.GRADE)


def _next(request: Request, kind: TaskKind) -> HttpResponse:
    task = actions.claim_next(request.user, kind)
    if task is None:
        messages.info(request, "Nothing waits for you any more.")
        return redirect("samples")
    return redirect("sample", task.token)


def _seat(request: Request, token: str) -> tuple[Task, Grade]:
    """My seat, or 404: one that is not mine looks like one that is not there."""
    rows = Task.objects.select_related("run__record__payload", "run__outcome", "run__version", "gold", "envelope")
    task = rows.filter(token=token).first()
    if task is None:
        raise Http404
    require(request.user, task.envelope, Role.REVIEWER)
    grade = Grade.objects.filter(task=task, grader=request.user, status=GradeStatus.DRAFT).first()
    if grade is None:
        raise Http404
    return task, grade


@require_safe
@never_cache
def sample(request: Request, token: str) -> HttpResponse:
    """One output to grade, blind."""
    task, grade = _seat(request, token)
    return render(request, "samples/sample.html", {"sheet": presentation.sheet(task, grade)})


@require_POST
def sample_save(request: Request, token: str) -> HttpResponse:
    """Autosave: keeps what there is, whether complete or not. One that comes after the grade was given has nothing to keep."""
    if Grade.objects.filter(task__token=token, grader=request.user, status=GradeStatus.DONE).exists():
        return HttpResponse(status=204)
    task, _ = _seat(request, token)
    given = marks.read(request.POST, pointers_of(task))
    try:
        actions.save_draft(task, request.user, given, request.POST.get("comment", ""))
    except LeaseGone:
        return render(request, "samples/sample.html#saved", {"gone": True}, status=422)
    left = len(marks.unmarked(given, pointers_of(task)))
    if request.htmx:
        return render(request, "samples/sample.html#saved", {"saved_at": timezone.now(), "unmarked": left})
    return redirect("sample", token)


@require_POST
def sample_submit(request: Request, token: str) -> HttpResponse:
    """The grade is given, and the next output comes."""
    task, grade = _seat(request, token)
    given = marks.read(request.POST, pointers_of(task))
    comment = request.POST.get("comment", "")
    problem = _refused(actions.submit_grade, task, request.user, given, comment)
    if problem:
        _refused(actions.save_draft, task, request.user, given, comment)
        grade.refresh_from_db()
        return _again(request, task, grade, problem)
    messages.success(request, "Graded. You can take it back for 15 minutes.")
    return _next(request, TaskKind(task.kind))


@require_POST
def sample_skip(request: Request, token: str) -> HttpResponse:
    """Hands the output back with a reason; it waits for somebody else."""
    task, grade = _seat(request, token)
    problem = _refused(actions.skip_task, task, request.user, request.POST.get("reason", ""))
    return _again(request, task, grade, problem) if problem else _next(request, TaskKind(task.kind))


@require_POST
def sample_undo(request: Request) -> HttpResponse:
    """Takes my last grade back and opens it again."""
    require_somewhere(request.user, Role.REVIEWER)
    try:
        task = actions.undo_last(request.user)
    except NotAllowed as rule:
        messages.error(request, f"{str(rule).capitalize()}.")
        return redirect("samples")
    return redirect("sample", task.token)


def _again(request: Request, task: Task, grade: Grade, problem: str) -> HttpResponse:
    context = {"sheet": presentation.sheet(task, grade), "problem": problem}
    page = "samples/sample.html#sheet" if request.htmx else "samples/sample.html"
    return render(request, page, context, status=422)


def _refused(act: Callable[..., Any], *args: Any) -> str:
    """Why the act was refused, as a sentence; empty where it was done."""
    try:
        act(*args)
    except (NotAllowed, LeaseGone) as rule:
        said = str(rule)
        return f"{said[:1].upper()}{said[1:]}."
    return ""
