from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from controller import sample_size
from controller.breaker import Counter, Rule
from reviewapp.access import limit, load, require, require_somewhere, visible_envelopes
from reviewapp.accounts.models import Role
from reviewapp.batches.models import Batch
from reviewapp.batches.pausing import NotAllowed
from reviewapp.envelopes.models import Envelope
from reviewapp.insights import export, figures, planning
from reviewapp.insights.figures import Scope
from reviewapp.insights.forms import DecisionForm, PlannerForm, RowFilter, SizeForm
from reviewapp.insights.page import Choice, limit_of, page
from reviewapp.paging import newest_first, number
from reviewapp.requests import Request
from reviewapp.samples.actions import ask_for_correction, decide_correction
from reviewapp.samples.models import CorrectionRequest, Sample

SEEN_BY = (Role.OWNER, Role.MANAGER)


@require_safe
def quality(request: Request) -> HttpResponse:
    """How often accepted outputs are wrong, envelope by envelope."""
    require_somewhere(request.user, *SEEN_BY)
    found = []
    for envelope in visible_envelopes(request.user, *SEEN_BY).order_by("slug"):
        rows, at = figures.sample_rows(Scope(envelope.pk)), limit_of(envelope, Choice())
        found.append((envelope, figures.line(envelope.slug, rows, at), at, figures.effort_of(Scope(envelope.pk))))
    return render(request, "insights/quality.html", {"rows": found})


@require_safe
def quality_envelope(request: Request, slug: str) -> HttpResponse:
    """Every figure of one envelope; ``?version=``, ``?batch=`` narrow it, ``?compare=1&with=2`` compares two versions."""
    envelope = _envelope(request, slug)
    choice = _choice(request, envelope)
    found = page(envelope, choice, _pair(request, envelope))
    wanted = request.GET.get("form")
    if wanted == "json":
        text = json.dumps(export.as_json(found), indent=1, ensure_ascii=False, default=str)
        return _download(text, "application/json", f"quality-{slug}.json")
    if wanted == "csv":
        return _download(export.as_csv(found), "text/csv; charset=utf-8", f"quality-{slug}.csv")
    size = SizeForm(request.GET if "at_most" in request.GET else None)
    numbers = list(envelope.versions.exclude(canonical="").order_by("-number").values_list("number", flat=True))
    context = {"page": found, "size": size, "plan": _plan(size, found), "numbers": numbers, "query": request.GET}
    return render(request, "insights/quality_envelope.html", context)


def _plan(form: SizeForm, found: Any) -> sample_size.Plan | None:
    """The helper's answer, in grades and minutes."""
    if not form.is_bound or not form.is_valid():
        return None
    asked = form.cleaned_data
    seconds = found.effort.seconds_per_grade
    return sample_size.plan(asked["at_most"] / 100, asked["wrong"] or 0, accepted=asked["accepted"], seconds_per_grade=seconds)


def _envelope(request: Request, slug: str) -> Envelope:
    envelope = load(Envelope.objects.all(), request.user, "pk", slug=slug)
    require(request.user, envelope, *SEEN_BY)
    return envelope


def _choice(request: Request, envelope: Envelope) -> Choice:
    batch, version = number(request.GET.get("batch")), number(request.GET.get("version"))
    if batch is not None:
        rows = Batch.objects.select_related("version").filter(version__envelope=envelope)
        return Choice(batch=get_object_or_404(rows, pk=batch))
    if version is not None:
        return Choice(version=get_object_or_404(envelope.versions, number=version))
    return Choice()


def _pair(request: Request, envelope: Envelope) -> tuple[tuple[int, int], tuple[int, int]] | None:
    first, second = number(request.GET.get("compare")), number(request.GET.get("with"))
    if first is None or second is None or first == second:
        return None
    ids: dict[int, int] = dict(envelope.versions.filter(number__in=(first, second)).values_list("number", "pk"))
    if len(ids) < 2:
        raise Http404
    return (ids[first], first), (ids[second], second)


def _download(text: str, kind: str, name: str) -> HttpResponse:
    return HttpResponse(text, content_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


@require_safe
def quality_rows(request: Request, slug: str) -> HttpResponse:
    """The sampled outputs behind a figure."""
    envelope = _envelope(request, slug)
    chosen = RowFilter(request.GET, auto_id="filter-%s")
    rows = chosen.narrow(Sample.objects.filter(envelope=envelope))
    shown = rows.select_related("run__record", "batch", "version__envelope", "correction_request").defer(
        "run__state", "version__source", "version__canonical"
    )
    context = {"envelope": envelope, "filter": chosen, "page": newest_first(shown, request.GET), "count": rows.count()}
    return render(request, "insights/quality_rows.html#rows" if request.htmx else "insights/quality_rows.html", context)


@require_safe
def quality_planner(request: Request, slug: str) -> HttpResponse:
    """What a breaker rule would do, before it is signed."""
    envelope = _envelope(request, slug)
    form = PlannerForm({name: request.GET.get(name, field.initial) for name, field in PlannerForm.base_fields.items()})
    rule = Rule.SILENT_FAILURES if request.GET.get("rule") == Rule.SILENT_FAILURES else Rule.DEAD_LETTERS
    context: dict[str, Any] = {"envelope": envelope, "form": form, "rule": rule.value}
    if form.is_valid():
        asked = form.cleaned_data
        counter = Counter(asked["limit"], asked["h"])
        context["forecast"] = planning.forecast(
            rule, counter, normal=asked["normal"] / 100, bad=asked["bad"] / 100, records=asked["records"]
        )
        context["past"] = planning.past(rule, counter, envelope.pk)
    status = 200 if form.is_valid() else 422
    template = "insights/planner.html#forecast" if request.htmx else "insights/planner.html"
    return render(request, template, context, status=status)


@require_safe
def corrections(request: Request) -> HttpResponse:
    """Delivered outputs that a grader asked to have corrected."""
    require_somewhere(request.user, *SEEN_BY)
    rows = limit(CorrectionRequest.objects.all(), request.user, "sample__envelope", *SEEN_BY)
    rows = rows.select_related("sample__run__record", "sample__envelope", "asked_by", "decided_by").order_by("-pk")
    found = [(row, json.loads(row.fields)) for row in rows[:100]]
    return render(request, "insights/corrections.html", {"rows": found, "form": DecisionForm()})


@require_POST
def correction_ask(request: Request, pk: int) -> HttpResponse:
    """Asks that a delivered output be put right."""
    sample = load(Sample.objects.select_related("envelope"), request.user, "envelope", pk=pk)
    require(request.user, sample.envelope, *SEEN_BY, Role.REVIEWER)
    form = DecisionForm(request.POST)
    if form.is_valid():
        try:
            ask_for_correction(sample, request.user, form.cleaned_data["why"])
            return redirect("quality-rows", sample.envelope.slug)
        except NotAllowed as rule:
            form.add_error(None, f"{rule}.")
    return render(request, "insights/correction_ask.html", {"sample": sample, "form": form}, status=422)


@require_POST
def correction_decide(request: Request, pk: int) -> HttpResponse:
    """An owner takes the wish up or refuses it."""
    rows = CorrectionRequest.objects.select_related("sample__envelope", "sample__run__record")
    found = load(rows, request.user, "sample__envelope", pk=pk)
    require(request.user, found.sample.envelope, Role.OWNER)
    form = DecisionForm(request.POST)
    if form.is_valid():
        try:
            decide_correction(found, request.user, take="take" in request.POST, why=form.cleaned_data["why"])
            return redirect("corrections")
        except NotAllowed as rule:
            form.add_error(None, f"{rule}.")
    return render(request, "insights/corrections.html", {"rows": [(found, json.loads(found.fields))], "form": form}, status=422)
