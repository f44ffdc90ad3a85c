"""Groups of letters that failed alike, and what is done with a whole group."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviewapp.access import has_role, load, require, require_somewhere
from reviewapp.accounts.models import Role, User
from reviewapp.deadletters import queries
from reviewapp.deadletters.actions import groups as acts
from reviewapp.deadletters.models import DeadLetter, FailureGroup
from reviewapp.deadletters.rules import STEERING, NotAllowed
from reviewapp.deadletters.views.common import attempt, person_of, tools
from reviewapp.paging import number

SHOWN = 200
SNOOZES = {"4": "four hours", "24": "a day", "168": "a week", "0": "no longer"}


@require_safe
def groups(request: HttpRequest) -> HttpResponse:
    """The groups that have letters waiting, the longest waiting first; ``?all`` with those that have none."""
    require_somewhere(request.user)
    rows = list(
        queries.groups_for(request.user, envelope=request.GET.get("envelope", ""), with_done="all" in request.GET)[:SHOWN]
    )
    trends, versions = queries.trends(rows), queries.versions_of(rows)
    table = [(group, trends[group.pk], versions[group.pk]) for group in rows]
    context = {"rows": table, "shown": SHOWN, "waiting": sum(group.n_waiting for group in rows)}
    return render(request, "deadletters/groups.html", context | tools(request))


def _load(request: HttpRequest, pk: int) -> FailureGroup:
    rows = FailureGroup.objects.select_related("envelope", "assignee", "merged_into")
    return load(rows, request.user, "envelope", pk=pk)


@require_safe
def group(request: HttpRequest, pk: int) -> HttpResponse:
    """One group: numbers, trend, versions, samples, what was told in vain, and what can be done about it."""
    found = _load(request, pk)
    samples = queries.for_lists(DeadLetter.objects.filter(pk__in=found.samples)).order_by("pk")
    may_steer = has_role(request.user, found.envelope, *STEERING)
    context = {
        "group": found,
        "trend": queries.trends([found])[found.pk],
        "versions": queries.versions_of([found])[found.pk],
        "samples": list(samples),
        "times": queries.times_of(DeadLetter.objects.filter(group=found)),
        "drafts": list(found.drafts.select_related("version__envelope", "created_by")),
        "may_steer": may_steer,
        "may_draft": has_role(request.user, found.envelope, Role.OWNER),
        "snoozes": SNOOZES,
        "others": [other for other in queries.groups_for(request.user, envelope=found.envelope.slug)[:50] if other != found],
        "merged": list(found.merged.all()),
        "people": list(_reviewers(found)) if may_steer else [],
        **tools(request),
    }
    return render(request, "deadletters/group.html", context)


def _reviewers(group: FailureGroup) -> Any:
    rows = User.objects.filter(memberships__role=Role.REVIEWER, is_active=True).distinct().order_by("username")
    return (user for user in rows if has_role(user, group.envelope, Role.REVIEWER))


@require_POST
def group_change(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Assigns, snoozes, notes, asks for a skill, merges, splits, or opens a draft; see ``actions.groups``."""
    found = _load(request, pk)
    require(request.user, found.envelope, *((Role.OWNER,) if what == "draft" else STEERING))
    me = person_of(request)
    steps: dict[str, tuple[Callable[[], Any], str]] = {
        "assign": (lambda: acts.assign_group(found, _person(request), by=me), "Assigned."),
        "snooze": (lambda: acts.snooze_group(found, _until(request), by=me), "Snoozed."),
        "note": (lambda: acts.note_group(found, request.POST.get("note", "")[:5000], by=me), "Noted."),
        "skill": (lambda: acts.ask_for_skill(found, request.POST.get("skill", ""), by=me), "Saved."),
        "merge": (lambda: acts.merge_groups(found, _other(request, found), by=me), "Merged; splitting takes it back."),
        "split": (lambda: acts.split_group(found, by=me), "Split: its letters are its own again."),
        "draft": (lambda: acts.draft_from_group(found, by=me), "A draft is open, with these letters as its evidence."),
    }
    act, done = steps[what]
    made = attempt(request, act, done)
    return redirect(made if what in ("draft", "merge") and made is not None else found)


def _person(request: HttpRequest) -> User | None:
    wanted = number(request.POST.get("person"))
    return None if wanted is None else User.objects.filter(pk=wanted).first()


def _until(request: HttpRequest) -> Any:
    hours = request.POST.get("hours", "")
    if hours not in SNOOZES:
        raise NotAllowed("choose until when")
    return timezone.now() + timedelta(hours=int(hours)) if hours != "0" else None


def _other(request: HttpRequest, found: FailureGroup) -> FailureGroup:
    rows = FailureGroup.objects.filter(envelope=found.envelope, pk=number(request.POST.get("group")) or 0)
    other = rows.first()
    if other is None:
        raise NotAllowed("choose another group of the same envelope")
    return other
