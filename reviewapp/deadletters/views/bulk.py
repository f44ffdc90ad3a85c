"""Bulk jobs: look, confirm, watch, steer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviewapp.access import grants_of, limit, require_somewhere
from reviewapp.accounts.models import Role
from reviewapp.deadletters.actions import bulk, deciding
from reviewapp.deadletters.actions.bulk import Act
from reviewapp.deadletters.forms import LetterFilter
from reviewapp.deadletters.models import BulkJob, ItemStatus
from reviewapp.deadletters.rules import NotAllowed
from reviewapp.deadletters.views.common import attempt, person_of, sentence
from reviewapp.deadletters.views.workspace import DEFERRALS
from reviewapp.envelopes.models import Status, Version
from reviewapp.paging import number, oldest_first
from reviewapp.requests import Request


def _params(act: Act, data: Any) -> dict[str, Any]:
    """What the act needs besides the filter, as it is stored with the job."""
    note = data.get("note", "").strip()[:5000]
    params: dict[str, Any] = {"note": note} if note else {}
    if act is Act.REQUEUE:
        params["version"] = number(data.get("under"))
    elif act is Act.REJECT:
        params["reason"] = data.get("reason", "")
    elif act is Act.DEFER:
        hours = data.get("hours", "")
        if hours not in DEFERRALS:
            raise NotAllowed("choose until when")
        params["until"] = (timezone.now() + timedelta(hours=int(hours))).isoformat()
    return params


def _act(text: str) -> Act | None:
    return Act(text) if text in list(Act) else None


@require_safe
def bulk_new(request: Request) -> HttpResponse:
    """What the act would do to the letters of the filter: their number, what is left out and why, a sample. Writes nothing."""
    require_somewhere(request.user, Role.REVIEWER)
    return _preview(request, request.GET)


def _preview(request: Request, data: QueryDict, refusal: str = "") -> HttpResponse:
    chosen = LetterFilter(data, user=request.user)
    act = _act(data.get("act", ""))
    plan = None
    try:
        plan = bulk.plan(person_of(request), chosen, act, _params(act, data)) if act is not None else None
    except NotAllowed as rule:
        refusal = refusal or sentence(rule)
    versions = limit(Version.objects.filter(status=Status.APPROVED), request.user, "envelope", Role.REVIEWER)
    if chosen.is_valid() and chosen.cleaned_data["envelope"]:
        versions = versions.filter(envelope__slug=chosen.cleaned_data["envelope"])
    versions = versions.select_related("envelope").defer("source", "canonical")
    context = {
        "filter": chosen,
        "act": act.value if act is not None else "",
        "acts": [(act.value, act.value.capitalize()) for act in Act],
        "plan": plan,
        "given": data,
        "versions": list(
            versions.select_related("envelope").defer("source", "canonical").order_by("envelope__slug", "-number")
        ),
        "reasons": deciding.REJECT_REASONS,
        "deferrals": DEFERRALS,
        "refusal": refusal,
    }
    return render(request, "deadletters/bulk_new.html", context, status=422 if refusal else 200)


@require_POST
def bulk_start(request: Request) -> HttpResponse:
    """Starts the job if the typed number is the number of letters that it would touch now."""
    require_somewhere(request.user, Role.REVIEWER)
    data = QueryDict(request.POST.get("filter", ""), mutable=True)
    data.update({name: request.POST[name] for name in ("act", "under", "reason", "hours", "note") if name in request.POST})
    chosen = LetterFilter(QueryDict(request.POST.get("filter", "")), user=request.user)
    act = _act(data.get("act", ""))
    typed = number(request.POST.get("typed", "").replace(",", "").strip())
    if act is None or typed is None:
        return _preview(request, data, "Type the number of letters to confirm.")
    try:
        job = bulk.start(person_of(request), chosen, act, _params(act, data), typed=typed)
    except NotAllowed as rule:
        return _preview(request, data, sentence(rule))
    return redirect(job)


def _visible(request: Request) -> Any:
    """One's own jobs; for owners and managers those of others too."""
    jobs = BulkJob.objects.select_related("created_by")
    if grants_of(request.user).everywhere & {Role.OWNER, Role.MANAGER, Role.OPERATOR}:
        return jobs
    return jobs.filter(created_by_id=request.user.pk)


@require_safe
def bulk_jobs(request: Request) -> HttpResponse:
    require_somewhere(request.user)
    return render(request, "deadletters/bulk_jobs.html", {"jobs": list(_visible(request).order_by("-pk")[:50])})


@require_safe
def bulk_job(request: Request, pk: int) -> HttpResponse:
    """A job's progress and what became of each of its letters."""
    require_somewhere(request.user)
    job = get_object_or_404(_visible(request), pk=pk)
    if request.htmx:
        return render(request, "deadletters/bulk_job.html#progress", {"job": job})
    status = request.GET.get("status", "")
    items = job.items.select_related("letter__run__record")
    if status in ItemStatus.values:
        items = items.filter(status=status)
    context = {"job": job, "page": oldest_first(items, request.GET), "status": status, "statuses": ItemStatus.choices}
    return render(request, "deadletters/bulk_job.html", context)


@require_POST
def bulk_steer(request: Request, pk: int, step: str) -> HttpResponse:
    require_somewhere(request.user)
    job = get_object_or_404(_visible(request), pk=pk)
    attempt(request, lambda: bulk.steer_job(job.pk, step, by=person_of(request)))
    return redirect(job)
