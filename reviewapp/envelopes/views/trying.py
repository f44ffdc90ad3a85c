"""Trying a draft on chosen records, and what came of it."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controller.authoring import NotAnEnvelope
from reviewapp.access import has_role, require
from reviewapp.accounts.models import Role
from reviewapp.envelopes import shadow
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.evidence import CHANGES, evidence, ordered
from reviewapp.envelopes.forms import TryForm
from reviewapp.envelopes.models import ShadowResult, ShadowRun, ShadowStatus, Version
from reviewapp.envelopes.views.reading import load_version
from reviewapp.requests import Request
from reviewapp.runs.differences import differences
from reviewapp.runs.endpoints import recorded_note


@require_http_methods(["GET", "HEAD", "POST"])
def version_try(request: Request, slug: str, number: int) -> HttpResponse:
    """GET chooses records and shows what trying them may cost at most; POST starts exactly what was shown."""
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    choices = shadow.choices(found)
    context: dict[str, Any] = {"version": found, "choices": choices, "recorded": recorded_note()}
    if choices is None:
        return render(request, "envelopes/try.html", context, status=422 if request.method == "POST" else 200)
    chosen = request.POST if request.method == "POST" else request.GET
    form = TryForm(chosen if "accepted" in chosen or request.method == "POST" else None, choices=choices)
    context["form"] = form
    if form.is_bound and form.is_valid():
        try:
            plan = _planned(found, choices, form.cleaned_data)
            context["plan"] = plan
            if request.method == "POST":
                confirmed = request.POST.get("confirmed", "")
                started = shadow.start(found, choices.against, plan, confirmed=confirmed, by=request.user)
                return redirect(started.get_absolute_url())
        except NotAnEnvelope as error:
            context["refused"] = f"The text has {len(error.problems)} problems: put them right first."
        except NotAllowed as rule:
            context["refused"] = str(rule)
    failed = request.method == "POST" or (form.is_bound and (bool(form.errors) or "refused" in context))
    return render(request, "envelopes/try.html", context, status=422 if failed else 200)


def _planned(found: Version, choices: shadow.Choices, data: dict[str, Any]) -> shadow.Plan:
    return shadow.plan(
        found,
        choices.against,
        data["signatures"],
        per_signature=data["per_signature"],
        accepted=data["accepted"],
        seed=ShadowRun.objects.filter(version=found).count(),
    )


def _load(request: Request, slug: str, number: int, pk: int) -> ShadowRun:
    found = load_version(request, slug, number)
    rows = ShadowRun.objects.select_related("version__envelope", "against__envelope", "started_by")
    return get_object_or_404(rows, version=found, pk=pk)


@require_safe
def shadow_view(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """What a shadow run showed: the table, the test, the rows."""
    found = _load(request, slug, number, pk)
    context = {
        "shadow": found,
        "version": found.version,
        "evidence": evidence(found),
        "rows": ordered(found),
        "changes": CHANGES,
        "is_live": found.status in (ShadowStatus.WAITING, ShadowStatus.RUNNING),
        "is_current": shadow.current_digest(found.version) == found.digest,
        "may_stop": has_role(request.user, found.version.envelope, Role.OWNER),
        "recorded": recorded_note(),
    }
    return render(request, "envelopes/shadow.html#progress" if request.htmx else "envelopes/shadow.html", context)


@require_POST
def shadow_stop(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    found = _load(request, slug, number, pk)
    require(request.user, found.version.envelope, Role.OWNER)
    return redirect(shadow.stop(found, by=request.user).get_absolute_url())


@require_safe
def shadow_result(request: Request, slug: str, number: int, pk: int, result: int) -> HttpResponse:
    """One record under the draft: its calls beside the run that it is compared with."""
    found = _load(request, slug, number, pk)
    rows = ShadowResult.objects.select_related("run__record__payload", "run__batch", "run__outcome", "run__version__envelope")
    row = get_object_or_404(rows, shadow=found, pk=result)
    before = getattr(row.run, "outcome", None)
    context = {
        "shadow": found,
        "version": found.version,
        "row": row,
        "calls": json.loads(row.story),
        "words": CHANGES.get(row.change, "not run" if row.outcome == "not_run" else "waiting"),
        "before": before.value if before is not None else "",
        "difference": differences(before.value, row.value) if before is not None and before.value and row.value else None,
    }
    return render(request, "envelopes/shadow_result.html", context)
