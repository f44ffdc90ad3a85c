from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from reviewapp.access import grants_of, has_role, limit, load, require, require_somewhere
from reviewapp.accounts.models import Role
from reviewapp.batches import actions, presentation
from reviewapp.batches.forms import SUBMITTERS, ReasonForm, RunFilter, UploadForm
from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.batches.queries import counts_by_batch, outcome_table
from reviewapp.paging import newest_first
from reviewapp.requests import Request
from reviewapp.runs.endpoints import recorded_note
from reviewapp.runs.models import Run

ENVELOPE = "version__envelope"


@require_safe
def batches(request: Request) -> HttpResponse:
    """All batches that I may see, newest first, with what became of their records."""
    require_somewhere(request.user)
    page = newest_first(presentation.for_lists(limit(Batch.objects.all(), request.user, ENVELOPE)), request.GET)
    context = {
        "page": page,
        "rows": presentation.rows(page.rows, counts_by_batch(page.rows)),
        "may_submit": bool(grants_of(request.user).anywhere & set(SUBMITTERS)),
    }
    return render(request, "batches/batches.html#rows" if request.htmx else "batches/batches.html", context)


@require_safe
def batch(request: Request, pk: int) -> HttpResponse:
    """One batch: progress, outcome, bound, and its runs."""
    found = load(Batch.objects.select_related(ENVELOPE, "created_by"), request.user, ENVELOPE, pk=pk)
    part = {"runs": "#runs", "progress": "#progress"}.get(request.htmx.target or "", "") if request.htmx else ""
    context = _progress(request, found) if part != "#runs" else {"batch": found}
    if part != "#progress":
        context |= _runs(request, found)
    return render(request, "batches/batch.html" + part, context)


def _progress(request: Request, found: Batch, form: ReasonForm | None = None) -> dict[str, Any]:
    table = outcome_table(found)
    return {
        "batch": found,
        "table": table,
        "stopped": presentation.stopped(table),
        "state": presentation.state_of(found, table),
        "ceiling": presentation.ceiling(found.version, table.total),
        "is_live": bool(table.live) and found.status == BatchStatus.OPEN,
        "may_steer": has_role(request.user, found.version.envelope, Role.MANAGER),
        "reason": form or ReasonForm(),
        "recorded": recorded_note(),
    }


def _runs(request: Request, found: Batch) -> dict[str, Any]:
    chosen = RunFilter(request.GET, auto_id="filter-%s")
    rows = chosen.narrow(presentation.runs_for_lists(Run.objects.filter(batch=found)))
    return {"filter": chosen, "page": newest_first(rows, request.GET)}


@require_POST
def batch_pause(request: Request, pk: int) -> HttpResponse:
    return _steer(request, pk, actions.pause_batch, "Paused: no further attempt starts.")


@require_POST
def batch_resume(request: Request, pk: int) -> HttpResponse:
    return _steer(request, pk, actions.resume_batch, "Resumed: attempts start again.")


def _steer(request: Request, pk: int, act: Any, done: str) -> HttpResponse:
    found = load(Batch.objects.select_related(ENVELOPE, "created_by"), request.user, ENVELOPE, pk=pk)
    require(request.user, found.version.envelope, Role.MANAGER)
    form = ReasonForm(request.POST)
    if form.is_valid() and _done(form, act, found, by=request.user, why=form.cleaned_data.get("why")):
        if not request.htmx:
            messages.success(request, done)
            return redirect(found)
        found.refresh_from_db()
        return render(request, "batches/batch.html#progress", _progress(request, found) | {"said": done})
    context = _progress(request, found, form) | _runs(request, found)
    page = "batches/batch.html#progress" if request.htmx else "batches/batch.html"
    return render(request, page, context, status=422)


def _done(form: Form, act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the action gives; where a rule forbids it, ``None``, and the rule in words on the form."""
    try:
        return act(*args, **kwargs)
    except actions.NotAllowed as rule:
        form.add_error(None, f"{rule}.")
        return None


@require_http_methods(["GET", "HEAD", "POST"])
def batch_new(request: Request) -> HttpResponse:
    """Upload a file of records. With any wrong line nothing is stored, and every wrong line is named."""
    require_somewhere(request.user, *SUBMITTERS)
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    submission = None
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        lines, about = chosen["file"].chunks(), {"version": chosen["version"], "name": chosen["name"], "by": request.user}
        submission = _done(form, actions.submit_lines, lines, **about)
        if submission is not None and submission.batch is not None:
            messages.success(request, _said(submission))
            there = submission.batch.get_absolute_url()
            return HttpResponseClientRedirect(there) if request.htmx else redirect(there)
    failed = request.method == "POST"
    context = {"form": form, "submission": submission, "failed": failed}
    page = "batches/batch_new.html#result" if request.htmx and failed else "batches/batch_new.html"
    return render(request, page, context, status=422 if failed else 200)


def _said(submission: actions.Submission) -> str:
    words = f"{submission.added:,} record{'' if submission.added == 1 else 's'} added."
    if submission.unchanged:
        words += f" {submission.unchanged:,} had been there already and did not change."
    if submission.ignored_fields:
        words += f" Fields that are not used were left out: {', '.join(submission.ignored_fields)}."
    return words
