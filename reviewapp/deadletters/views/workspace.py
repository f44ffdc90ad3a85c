"""The workspace of one letter: reading, claiming, checking as one types, deciding."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from reviewapp.access import limit, load, require, require_somewhere
from reviewapp.accounts.models import Role, User
from reviewapp.batches.models import Record
from reviewapp.deadletters import fields, workspace
from reviewapp.deadletters.actions import deciding, drafts, leases, undoing
from reviewapp.deadletters.actions.leases import Claim
from reviewapp.deadletters.judging import contract_of
from reviewapp.deadletters.models import DeadLetter, Decision, Draft
from reviewapp.deadletters.results import result_of
from reviewapp.deadletters.rules import LeaseLost, NotAllowed, may_decide, roles_for
from reviewapp.deadletters.views.common import attempt, person_of, sentence, tools
from reviewapp.deadletters.views.queue import next_url
from reviewapp.envelopes.models import Version
from reviewapp.paging import number
from reviewapp.requests import Request
from reviewapp.runs.models import Attempt, Event
from reviewapp.runs.presentation import MOST_CHARS

DEFERRALS = {"1": "an hour", "4": "four hours", "24": "a day", "72": "three days", "168": "a week"}


def _load(request: Request, pk: int) -> DeadLetter:
    rows = DeadLetter.objects.select_related(
        "run__record__payload", "run__outcome", "run__batch", "run__version", "version", "envelope", "group", "lease_owner"
    ).defer("run__state", "run__version__source", "run__version__canonical")
    letter = load(rows, request.user, "envelope", pk=pk)
    if letter.version is not None:
        letter.version.envelope = letter.envelope
        letter.run.version = letter.version
    return letter


def _load_to_act(request: Request, pk: int) -> DeadLetter:
    """The letter for someone who may act on letters of its envelope at all; whether on this one now, its action decides."""
    letter = _load(request, pk)
    require(request.user, letter.envelope, Role.REVIEWER, Role.OWNER, Role.MANAGER)
    return letter


@require_safe
def deadletter(request: Request, pk: int) -> HttpResponse:
    """One letter with everything that a decision about it needs."""
    return _page(request, _load(request, pk))


def _page(request: Request, letter: DeadLetter, *, status: int = 200, **more: Any) -> HttpResponse:
    return render(request, "deadletters/deadletter.html", _context(request, letter) | more, status=status)


def _context(request: Request, letter: DeadLetter) -> dict[str, Any]:
    common = tools(request)
    document = letter.run.record.payload.document
    draft = Draft.objects.filter(letter=letter, user=person_of(request)).first()
    raw = workspace.fields_of(letter, draft, letter.run.outcome.value)
    whole = "all" in request.GET
    attempts = list(Attempt.objects.filter(run=letter.run_id).select_related("payload"))
    events = list(Event.objects.filter(run=letter.run_id).order_by("id")[:200])
    holds = letter.lease_owner_id == request.user.pk and not letter.is_resolved
    decisions = list(Decision.objects.filter(letter=letter).select_related("by").order_by("-pk")[:50])
    context = {
        "letter": letter,
        "draft": draft,
        "holds": holds,
        "is_taken": not holds and letter.is_held(common["now"]),
        "may_claim": not holds and not letter.is_resolved and may_decide(request.user, letter),
        "story": workspace.story(letter, attempts, events, whole=whole),
        "left": 0 if whole else max(0, len(document) - MOST_CHARS),
        "whole": whole,
        "decisions": decisions,
        **_form(letter, document, raw, whole=whole),
        **common,
    }
    return context | _choices(request, letter, raw) if holds else context


def _form(letter: DeadLetter, document: str, raw: dict[str, str], *, whole: bool) -> dict[str, Any]:
    assert letter.version is not None
    verdict = workspace.judge(letter, document, raw)
    root = fields.nodes(contract_of(letter.version), raw)
    return {
        "verdict": verdict,
        "root": workspace.places(root, verdict),
        "segments": workspace.document_segments(document, verdict, whole=whole),
    }


def _choices(request: Request, letter: DeadLetter, raw: dict[str, str]) -> dict[str, Any]:
    return {
        "requeue_versions": deciding.versions_for(letter),
        "reject_reasons": deciding.REJECT_REASONS,
        "ask_reasons": deciding.ASK_REASONS,
        "skip_reasons": deciding.SKIP_REASONS,
        "deferrals": DEFERRALS,
        "colleagues": leases.people_for(letter, person_of(request)),
        "note": raw.get(workspace.NOTE, ""),
    }


@require_POST
def claim(request: Request, pk: int) -> HttpResponse:
    letter = _load(request, pk)
    require(request.user, letter.envelope, *roles_for(letter.status))
    attempt(request, lambda: leases.claim(letter.pk, person_of(request)))
    return redirect(letter)


def _claim_of(request: Request, pk: int) -> Claim:
    return Claim(pk, person_of(request), number(request.POST.get("fence")) or 0)


@require_POST
def release(request: Request, pk: int) -> HttpResponse:
    letter = _load_to_act(request, pk)
    leases.release(_claim_of(request, pk))
    messages.info(request, "Given back. What you typed is kept as your draft.")
    return redirect("deadletters" if letter.lease_owner_id == request.user.pk else letter.get_absolute_url())


@require_POST
def heartbeat(request: Request, pk: int) -> HttpResponse:
    """A sign of life: the lease goes on. 409 with the reason where it does not."""
    letter = _load_to_act(request, pk)
    try:
        beat = leases.heartbeat(_claim_of(request, pk))
    except LeaseLost as lost:
        return render(request, "deadletters/deadletter.html#lease", {"letter": letter, "lost": sentence(lost)}, status=409)
    letter.lease_until, letter.active_ms = beat.lease_until, beat.active_ms
    return render(request, "deadletters/deadletter.html#lease", {"letter": letter, "holds": True})


@require_POST
def check(request: Request, pk: int) -> HttpResponse:
    """Keeps what is typed and says what still fails. Adding and removing rows come this way too; without HTMX: the page."""
    letter = _load_to_act(request, pk)
    raw = _edited(request, workspace.posted(request.POST))
    try:
        saved_at = drafts.save_draft(pk, person_of(request), raw)
    except NotAllowed as rule:
        return HttpResponse(sentence(rule), status=413, content_type="text/plain")
    if not request.htmx:
        return _page(request, letter)
    holds = letter.lease_owner_id == request.user.pk and letter.fence == _claim_of(request, pk).fence
    whole = "all" in request.GET
    context = {
        "letter": letter,
        "holds": holds,
        "saved_at": saved_at,
        "whole": whole,
        "is_check": True,
        **_form(letter, letter.run.record.payload.document, raw, whole=whole),
    }
    part = "fields" if "add" in request.POST or "remove" in request.POST else "checked"
    return render(request, f"deadletters/deadletter.html#{part}", context)


def _edited(request: Request, raw: dict[str, str]) -> dict[str, str]:
    if "add" in request.POST:
        return fields.add_row(raw, request.POST["add"])
    array, _, index = request.POST.get("remove", "").rpartition("/")
    return fields.remove_row(raw, array, int(index)) if index.isdigit() and len(index) < 6 else raw


@require_POST
def draft_drop(request: Request, pk: int) -> HttpResponse:
    """Back to what the run left; only one's own draft."""
    letter = _load_to_act(request, pk)
    drafts.drop_draft(pk, person_of(request))
    messages.info(request, "Your draft is gone: the fields show what the run left.")
    return redirect(letter)


@require_POST
def decide(request: Request, pk: int, kind: str) -> HttpResponse:
    """One of the decisions. What was typed survives whatever becomes of it."""
    letter = _load_to_act(request, pk)
    acts: dict[str, Callable[[], Any]] = {
        "correct": lambda: _correct(request, letter),
        "requeue": lambda: deciding.requeue(_claim_of(request, pk), _version(request, letter), note=_note(request)),
        "reject": lambda: deciding.reject(_claim_of(request, pk), _reason(request), note=_note(request)),
        "ask": lambda: deciding.ask_submitter(_claim_of(request, pk), _reason(request), note=_note(request)),
        "defer": lambda: deciding.defer(_claim_of(request, pk), _until(request), note=_note(request)),
        "skip": lambda: deciding.skip(_claim_of(request, pk), _reason(request), note=_note(request)),
        "escalate": lambda: deciding.escalate(_claim_of(request, pk), note=_note(request)),
        "hand-over": lambda: leases.hand_over(_claim_of(request, pk), _colleague(request, letter), why=_note(request)),
    }
    try:
        acts[kind]()
    except NotAllowed as rule:
        _keep(request, pk)
        letter = _load(request, pk)
        lost = isinstance(rule, LeaseLost)
        said = {"conflict" if lost else "refusal": sentence(rule), "open_panel": kind}
        return _page(request, letter, status=409 if lost else 422, **said)
    messages.success(request, DONE[kind])
    return redirect(next_url(request) if request.POST.get("then") == "next" else letter.get_absolute_url())


DONE = {
    "correct": "Accepted as corrected by you.",
    "requeue": "Requeued: the new run starts when the undo window is over.",
    "reject": "Rejected.",
    "ask": "The submitter is asked.",
    "defer": "Deferred.",
    "skip": "Skipped: others will be given it, you will not.",
    "escalate": "Escalated to the owners and managers.",
    "hand-over": "Handed over.",
}


def _keep(request: Request, pk: int) -> None:
    """What was posted becomes the person's draft, over the fields that it has and beside those that it has not."""
    sent = workspace.posted(request.POST)
    if not sent:
        return
    draft = Draft.objects.filter(letter_id=pk, user=person_of(request)).first()
    before = json.loads(draft.fields) if draft is not None else {}
    drafts.save_draft(pk, person_of(request), before | sent)


def _correct(request: Request, letter: DeadLetter) -> Decision:
    raw = workspace.posted(request.POST)
    assert letter.version is not None
    found = fields.gather(contract_of(letter.version), raw)
    if found.errors:
        places = ", ".join(found.errors)
        raise NotAllowed(f"some fields cannot be read: {places}")
    reasons = workspace.overrides(raw)
    return deciding.correct_and_accept(_claim_of(request, letter.pk), found.value, overrides=reasons, note=_note(request))


def _note(request: Request) -> str:
    return request.POST.get("note", "").strip()[:5000]


def _reason(request: Request) -> str:
    return request.POST.get("reason", "")


def _until(request: Request) -> datetime:
    hours = request.POST.get("hours", "")
    if hours not in DEFERRALS:
        raise NotAllowed("choose until when")
    return timezone.now() + timedelta(hours=int(hours))


def _version(request: Request, letter: DeadLetter) -> Version:
    version = Version.objects.select_related("envelope").filter(envelope=letter.envelope_id)
    found = version.filter(pk=number(request.POST.get("version")) or 0).first()
    if found is None:
        raise NotAllowed("choose a version")
    return found


def _colleague(request: Request, letter: DeadLetter) -> User:
    wanted = number(request.POST.get("person"))
    found = next((user for user in leases.people_for(letter, person_of(request)) if user.pk == wanted), None)
    if found is None:
        raise NotAllowed("choose a colleague who may decide this letter")
    return found


@require_POST
def reopen(request: Request, pk: int) -> HttpResponse:
    letter = _load_to_act(request, pk)
    done = "Reopened. What had been delivered is withdrawn by a new delivery."
    attempt(request, lambda: undoing.reopen(pk, by=person_of(request), why=_note(request)), done)
    return redirect(letter)


@require_POST
def put_back(request: Request, pk: int) -> HttpResponse:
    """Back to the queue: the answer came, or the wait is over."""
    letter = _load_to_act(request, pk)
    done = "Back in the queue."
    attempt(request, lambda: deciding.return_to_queue(pk, by=person_of(request), why=_note(request)), done)
    return redirect(letter)


@require_safe
def result(request: Request, pk: int) -> HttpResponse:
    """What is delivered for a record now."""
    rows = limit(Record.objects.select_related("batch__version__envelope"), request.user, "batch__version__envelope")
    record = get_object_or_404(rows, pk=pk)
    letters = DeadLetter.objects.filter(run__record=record).select_related("version__envelope").order_by("-pk")
    context = {
        "record": record,
        "result": result_of(record),
        "letters": list(letters.defer("version__source", "version__canonical")),
    }
    return render(request, "deadletters/result.html", context)


@require_POST
def release_person(request: Request, pk: int) -> HttpResponse:
    """A manager gives back everything that an absent person holds."""
    require_somewhere(request.user, Role.OWNER, Role.MANAGER)
    person = get_object_or_404(User, pk=pk)
    released = attempt(request, lambda: leases.release_all(person, by=person_of(request), why=_note(request)))
    if released is not None:
        messages.success(request, f"{released} letter{'' if released == 1 else 's'} given back to the queue.")
    return redirect("queue-effort")
