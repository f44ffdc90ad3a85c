from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviewapp.access import grants_of
from reviewapp.inbox.waiting import waiting_for
from reviewapp.requests import Request


@require_safe
def inbox(request: Request) -> HttpResponse:
    """What waits for me, and since when."""
    roles = sorted(role.label for role in grants_of(request.user).anywhere)
    page = "inbox/inbox.html#waiting" if request.htmx else "inbox/inbox.html"
    return render(request, page, {"waiting": waiting_for(request.user), "roles": roles})
