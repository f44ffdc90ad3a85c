from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from reviewapp.access import limit, require_somewhere
from reviewapp.deadletters.forms import LetterFilter
from reviewapp.deadletters.models import DeadLetter
from reviewapp.paging import oldest_first


@require_safe
def deadletters(request: HttpRequest) -> HttpResponse:
    """The runs that nobody but a person can finish, the longest waiting first."""
    require_somewhere(request.user)
    chosen = LetterFilter(request.GET, user=request.user, auto_id="filter-%s")
    matching = chosen.narrow(limit(DeadLetter.objects.all(), request.user, "envelope"))
    rows = matching.select_related("run__record", "batch", "envelope", "run__version").defer(
        "run__state", "run__version__source", "run__version__canonical", "request"
    )
    context = {"filter": chosen, "page": oldest_first(rows, request.GET), "count": matching.count(), "now": timezone.now()}
    return render(request, "deadletters/deadletters.html#rows" if request.htmx else "deadletters/deadletters.html", context)
