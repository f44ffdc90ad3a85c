"""The page of a batch's breaker and draw: counters against their limits, pauses, who was told, closing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from controller.breaker import Counter, Rule, description
from controller.draw import PPM
from reviewapp.access import has_role, load, require
from reviewapp.accounts.models import Role
from reviewapp.batches import endpoint_states
from reviewapp.batches.actions import NotAllowed, change_rate, close_batch
from reviewapp.batches.forms import RateForm
from reviewapp.batches.models import Batch, Breaker, Delivery, Pause
from reviewapp.batches.rules import rules_of
from reviewapp.insights import planning, plots
from reviewapp.requests import Request
from reviewapp.samples import drawing
from reviewapp.samples.models import Accepted, BatchSeed, Epoch, Sample
from reviewapp.samples.queries import oldest_in, waiting_in

TITLES = {Rule.DEAD_LETTERS: "Dead letters", Rule.SILENT_FAILURES: "Silent failures"}


@dataclass(frozen=True, slots=True)
class Gauge:
    """One counter: its rule in words, where it stands (in records), and its plot."""

    title: str
    sentence: str
    excess: float
    counter: Counter
    counted: int
    plot: dict[str, Any] | None

    @property
    def tripped(self) -> bool:
        return self.counter.tripped


@require_safe
def batch_breaker(request: Request, pk: int) -> HttpResponse:
    """Why the batch runs or stands still, and how its sample is drawn."""
    found = _batch(request, pk)
    Delivery.objects.filter(pause__batch=found, user=request.user, channel="page", status="sent").update(
        status="seen", done_at=timezone.now()
    )
    return render(request, "batches/breaker.html", _context(request, found, RateForm()))


def _batch(request: Request, pk: int) -> Batch:
    rows: QuerySet[Batch] = Batch.objects.select_related("version__envelope", "created_by")
    return load(rows, request.user, "version__envelope", pk=pk)


def _context(request: Request, found: Batch, form: RateForm) -> dict[str, Any]:
    rules = rules_of(found.version)
    epochs = Epoch.objects.filter(batch=found)
    return {
        "batch": found,
        "gauges": [_gauge(found, rule, rules.counters[rule]) for rule in TITLES],
        "waiting": waiting_in(found.pk),
        "oldest": oldest_in(found.pk),
        "ungraded": rules.ungraded,
        "second_person": rules.second_person,
        "pauses": Pause.objects.filter(batch=found)
        .select_related("by", "asked_by", "resumed_by")
        .prefetch_related("deliveries__user"),
        "seed": BatchSeed.objects.filter(batch=found).defer("sealed").first(),
        "epochs": [(epoch, drawing.plan_from(epoch.plan)) for epoch in epochs],
        "accepted": Accepted.objects.filter(batch=found).count(),
        "sampled": Sample.objects.filter(batch=found).count(),
        "resting": endpoint_states.resting(),
        "may_close": has_role(request.user, found.version.envelope, Role.MANAGER),
        "may_change": has_role(request.user, found.version.envelope, Role.OWNER, Role.MANAGER),
        "form": form,
    }


def _gauge(batch: Batch, rule: Rule, fresh: Counter) -> Gauge:
    row = Breaker.objects.filter(batch=batch, rule=rule.value).first()
    counter = Counter(fresh.limit_pct, fresh.h, row.excess if row else 0)
    excesses = planning.excesses_of(batch.pk, rule)
    title = TITLES[rule]
    plot = plots.counter(f"{title}: the counter against its limit", excesses, fresh)
    return Gauge(title, description(fresh, rule), counter.excess / 100, counter, row.steps if row else 0, plot)


@require_POST
def batch_close(request: Request, pk: int) -> HttpResponse:
    """No more records; the sample is topped up and its seed disclosed."""
    found = _batch(request, pk)
    require(request.user, found.version.envelope, Role.MANAGER)
    if request.POST.get("name", "").strip() != found.name:
        context = _context(request, found, RateForm()) | {"problem": "Type the name of the batch to close it for good."}
        return render(request, "batches/breaker.html", context, status=422)
    return _done(request, found, RateForm(), lambda: close_batch(found, by=request.user), "Closed: the seed is disclosed.")


@require_POST
def batch_rate(request: Request, pk: int) -> HttpResponse:
    """From now on a larger share is sampled."""
    found = _batch(request, pk)
    require(request.user, found.version.envelope, Role.OWNER, Role.MANAGER)
    form = RateForm(request.POST)
    if not form.is_valid():
        return render(request, "batches/breaker.html", _context(request, found, form), status=422)
    ppm, why = round(form.cleaned_data["rate"] / 100 * PPM), form.cleaned_data["why"]
    return _done(
        request, found, form, lambda: change_rate(found, ppm, by=request.user, why=why), "The new rate holds from now on."
    )


def _done(request: Request, found: Batch, form: RateForm, act: Callable[[], object], said: str) -> HttpResponse:
    try:
        act()
    except NotAllowed as rule:
        context = _context(request, found, form) | {"problem": f"{str(rule)[:1].upper()}{str(rule)[1:]}."}
        return render(request, "batches/breaker.html", context, status=422)
    messages.success(request, said)
    return redirect("batch-breaker", found.pk)
