from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviewapp.access import require_everywhere
from reviewapp.audit.forms import EntryFilter
from reviewapp.audit.models import Entry
from reviewapp.navigation import AUDITORS
from reviewapp.paging import newest_first
from reviewapp.requests import Request


@require_safe
def audit(request: Request) -> HttpResponse:
    """Who did what, when and why. It names all envelopes, so a role on a single one does not open it."""
    require_everywhere(request.user, *AUDITORS)
    chosen = EntryFilter(request.GET, auto_id="filter-%s")
    context = {"filter": chosen, "page": newest_first(chosen.narrow(Entry.objects.all()), request.GET)}
    return render(request, "audit/audit.html#rows" if request.htmx else "audit/audit.html", context)
