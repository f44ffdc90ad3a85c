"""How an envelope's queue is run, and how many minutes a batch may cost."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from reviewapp.access import load, require, visible_envelopes
from reviewapp.audit.actions import append
from reviewapp.batches.models import Batch
from reviewapp.deadletters.actions import effort
from reviewapp.deadletters.models import QueuePolicy
from reviewapp.deadletters.rules import STEERING, policy_of
from reviewapp.deadletters.views.common import attempt, person_of
from reviewapp.forms import Accessible
from reviewapp.paging import number


class PolicyForm(Accessible):
    lease_minutes = forms.IntegerField(label="Minutes that a claim lasts without a sign of life", min_value=1, max_value=480)
    leases_per_person = forms.IntegerField(label="Letters that one person may hold", min_value=1, max_value=100)
    due_hours = forms.IntegerField(label="Hours until a letter is due", min_value=1, max_value=8760)
    undo_seconds = forms.IntegerField(label="Seconds in which a decision can be undone", min_value=0, max_value=86_400)
    replays = forms.IntegerField(label="Requeues of a record before it is quarantined", min_value=0, max_value=50)


@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, slug: str) -> HttpResponse:
    envelope = get_object_or_404(visible_envelopes(request.user), slug=slug)
    require(request.user, envelope, *STEERING)
    before = policy_of(envelope.pk)
    names = list(PolicyForm.base_fields)
    values = {name: getattr(before, name) for name in names}
    form = PolicyForm(request.POST if request.method == "POST" else None, initial=values)
    if request.method == "POST" and form.is_valid():
        after: dict[str, Any] = form.cleaned_data
        QueuePolicy.objects.update_or_create(envelope=envelope, defaults=after)
        append("queue policy changed", "envelope", envelope.slug, by=person_of(request), before=values, after=after)
        messages.success(request, "Saved. Letters that are already due keep their time.")
        return redirect("queue-policy", slug=slug)
    status = 422 if form.errors else 200
    return render(request, "deadletters/policy.html", {"form": form, "envelope": envelope}, status=status)


@require_POST
def cap(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the minutes that people may spend on a batch's dead letters; empty for no cap."""
    batch = load(Batch.objects.select_related("version__envelope"), request.user, "version__envelope", pk=pk)
    require(request.user, batch.version.envelope, *STEERING)
    text = request.POST.get("minutes", "").strip()
    minutes = number(text) if text else None
    why = request.POST.get("note", "")
    if text and minutes is None:
        messages.error(request, "A cap is a whole number of minutes, or empty for none.")
    else:
        attempt(request, lambda: effort.set_cap(batch, minutes, by=person_of(request), why=why), "Saved.")
    return redirect("queue-effort")
