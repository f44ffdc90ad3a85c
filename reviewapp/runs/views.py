from __future__ import annotations

import json

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviewapp.access import load
from reviewapp.paging import number
from reviewapp.requests import Request
from reviewapp.runs import presentation
from reviewapp.runs.endpoints import recorded_note
from reviewapp.runs.models import Attempt, Event, Run

MOST_EVENTS = 200


@require_safe
def run(request: Request, pk: int) -> HttpResponse:
    """One run as a timeline, the document with its evidence beside it. ``?all`` shows long texts whole."""
    rows = Run.objects.select_related("batch", "version__envelope", "record__payload", "outcome", "dead_letter")
    found = load(rows.defer("version__source", "version__canonical"), request.user, "version__envelope", pk=pk)
    if request.htmx:
        return render(request, "runs/run.html#now", {"run": found, "was_live": True})
    whole = "all" in request.GET
    views = presentation.attempts(list(Attempt.objects.filter(run=found).select_related("payload")), whole=whole)
    shown = presentation.shown_attempt(views, number(request.GET.get("attempt")))
    outcome = getattr(found, "outcome", None)
    document = found.record.payload.document
    context = {
        "run": found,
        "words": presentation.outcome_words(found, json.loads(outcome.result) if outcome else {}),
        "value": presentation.value_rows(outcome.value, views) if outcome else None,
        "attempts": views,
        "shown": shown,
        "others": [view for view in views if view.findings and view is not shown],
        "is_purged": not document,
        "turns": presentation.turns_direction(document),
        "segments": presentation.document(document, views, shown, whole=whole),
        "left": 0 if whole else max(0, len(document) - presentation.MOST_CHARS),
        "events": presentation.events(list(Event.objects.filter(run=found).order_by("id")[:MOST_EVENTS])),
        "recorded": recorded_note(),
    }
    return render(request, "runs/run.html", context)
