"""The list, claiming the next letter, saved views, export."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviewapp.access import limit, require_somewhere, visible_envelopes
from reviewapp.accounts.models import Role
from reviewapp.audit.actions import append
from reviewapp.deadletters import export, queries
from reviewapp.deadletters.actions import leases, undoing
from reviewapp.deadletters.actions.leases import Order
from reviewapp.deadletters.forms import LetterFilter
from reviewapp.deadletters.models import Decision, SavedView
from reviewapp.deadletters.rules import CapReached
from reviewapp.deadletters.views.common import attempt, order_of, person_of, sentence, tools
from reviewapp.paging import number, oldest_first
from reviewapp.requests import Request


@require_safe
def deadletters(request: Request) -> HttpResponse:
    """The runs that nobody but a person can finish, the longest waiting first."""
    require_somewhere(request.user)
    chosen = LetterFilter(request.GET, user=request.user, auto_id="filter-%s")
    rows = queries.for_lists(queries.letters_for(request.user, chosen))
    context = {
        "filter": chosen,
        "page": oldest_first(rows, request.GET),
        "count": queries.count_of(request.user, chosen),
        **tools(request),
    }
    if request.htmx:
        return render(request, "deadletters/deadletters.html#rows", context | _views(request, chosen))
    return render(request, "deadletters/deadletters.html", context | _views(request, chosen))


def _views(request: Request, chosen: LetterFilter) -> dict[str, object]:
    """Saved views, and which of them this is: the same filter, or ``?view`` with the filter changed since."""
    views = list(SavedView.objects.filter(Q(owner_id=request.user.pk) | Q(is_shared=True)).select_related("owner"))
    asked = number(request.GET.get("view"))
    current = next((view for view in views if view.pk == asked), None)
    modified = current is not None and current.query != chosen.query
    if current is None:
        current = next((view for view in views if view.query == chosen.query), None) if chosen.query else None
    return {"views": views, "view": current, "modified": modified}


@require_POST
def next_letter(request: Request) -> HttpResponse:
    """Claims the next letter and opens it."""
    require_somewhere(request.user, Role.REVIEWER)
    asked = request.POST.get("order", "")
    if asked in list(Order):
        request.session["queue_order"] = asked
    return redirect(next_url(request, group_id=number(request.POST.get("group"))))


def next_url(request: Request, *, group_id: int | None = None) -> str:
    """Where the next letter is, claimed for the person; the list with a word where there is none."""
    back = reverse("deadletters")
    try:
        letter = leases.claim_next(person_of(request), order=order_of(request), group_id=group_id)
    except CapReached as rule:
        messages.error(request, sentence(rule))
        return back
    if letter is None:
        messages.info(request, "Nothing waits for you: no open letter is free, yours to decide, and not skipped by you.")
        return back
    return letter.get_absolute_url()


@require_POST
def undo(request: Request, pk: int) -> HttpResponse:
    """Takes a decision back while nothing has left."""
    rows = limit(Decision.objects.select_related("letter"), request.user, "letter__envelope")
    decision = get_object_or_404(rows, pk=pk)
    attempt(request, lambda: undoing.undo(decision.pk, by=person_of(request)), "Undone: the letter is as it was before.")
    return redirect(decision.letter)


@require_POST
def view_save(request: Request) -> HttpResponse:
    """Saves the filter under a name: the person's own view, shared if they say so."""
    require_somewhere(request.user)
    chosen = LetterFilter(QueryDict(request.POST.get("query", "")), user=request.user)
    name = request.POST.get("name", "").strip()[:80]
    if not name or not chosen.is_valid():
        messages.error(request, "Give the view a name." if chosen.is_valid() else "The filter is wrong: nothing was saved.")
        return redirect(f"{reverse('deadletters')}?{chosen.query}")
    values = {"query": chosen.query, "is_shared": request.POST.get("shared") == "on"}
    view, _ = SavedView.objects.update_or_create(owner_id=request.user.pk, name=name, defaults=values)
    messages.success(request, "Saved." if not view.is_shared else "Saved, and shown to everyone.")
    return redirect(f"{reverse('deadletters')}?{view.query}&view={view.pk}")


@require_POST
def view_delete(request: Request, pk: int) -> HttpResponse:
    """Only one's own; another person's view is not even there."""
    get_object_or_404(SavedView, pk=pk, owner_id=request.user.pk).delete()
    messages.success(request, "The view is gone; no letter was touched.")
    return redirect("deadletters")


@require_safe
def export_letters(request: Request) -> HttpResponse | StreamingHttpResponse:
    """The letters of the filter as CSV or JSON Lines, streamed."""
    require_somewhere(request.user)
    chosen = LetterFilter(request.GET, user=request.user)
    kind = request.GET.get("format", "")
    if kind not in export.FORMATS or not chosen.is_valid():
        return HttpResponse("Name a format, csv or jsonl, and a valid filter.", status=400, content_type="text/plain")
    append("dead letters exported", "filter", chosen.query[:64] or "open", by=person_of(request), after={"format": kind})
    lines = export.lines(queries.letters_for(request.user, chosen), kind)
    response = StreamingHttpResponse(lines, content_type=export.FORMATS[kind])
    response["Content-Disposition"] = f'attachment; filename="dead-letters.{kind}"'
    return response


@require_safe
def effort(request: Request) -> HttpResponse:
    """Time to clear, age and throughput by group and version, and the minutes that batches cost."""
    require_somewhere(request.user)
    from reviewapp.deadletters.effort import overview

    context = overview(request.user) | {"envelopes": list(visible_envelopes(request.user))}
    return render(request, "deadletters/effort.html", context | tools(request))
