"""Writing: new envelopes and drafts, the editor with its live checks, and the heartbeat that measures the effort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from controller.authoring import NotAnEnvelope, Problem, read_placed
from controller.explain import Explanation, explain
from controller.lint import Hint, lint, placed
from reviewapp.access import has_role, load, require, require_everywhere
from reviewapp.accounts.models import Role
from reviewapp.envelopes import actions, drafting, effort
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.completion import complete
from reviewapp.envelopes.forms import ImportForm, NewEnvelopeForm
from reviewapp.envelopes.models import Comment, Envelope, SetAside, Status, Version
from reviewapp.envelopes.recent import context_for
from reviewapp.envelopes.starting import beginning
from reviewapp.envelopes.views.reading import envelope_context, load_version, version_context
from reviewapp.requests import Request


@require_http_methods(["GET", "HEAD", "POST"])
def envelope_new(request: Request) -> HttpResponse:
    """A new task with its first draft, from a file or from a small valid beginning. Only who owns every envelope adds one."""
    require_everywhere(request.user, Role.OWNER)
    form = NewEnvelopeForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        slug, title = form.cleaned_data["slug"], form.cleaned_data["title"]
        found = actions.create_envelope(slug, title, by=request.user)
        draft = actions.draft_version(found, form.cleaned_data["file"] or beginning(slug, title), by=request.user)
        return redirect("version-edit", slug, draft.number)
    return render(request, "envelopes/envelope_new.html", {"form": form}, status=422 if request.method == "POST" else 200)


@require_POST
def draft_new(request: Request, slug: str) -> HttpResponse:
    """The next draft: from a version of the envelope, or from a file."""
    found = load(Envelope.objects.all(), request.user, "pk", slug=slug)
    require(request.user, found, Role.OWNER)
    origin = request.POST.get("from", "")
    if origin.isascii() and origin.isdigit() and len(origin) < 10:
        based_on = load_version(request, slug, int(origin))
        return redirect("version-edit", slug, drafting.draft_from(based_on, by=request.user).number)
    form = ImportForm(request.POST, request.FILES, auto_id="import-%s")
    if not form.is_valid():
        return render(request, "envelopes/envelope.html", envelope_context(request, found, import_form=form), status=422)
    draft = actions.draft_version(found, form.cleaned_data["file"], by=request.user)
    return redirect("version-edit", slug, draft.number)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the editor says about a text: its problems, or its hints and the text in words."""

    problems: tuple[Problem, ...] = ()
    hints: tuple[Hint, ...] = ()
    explanation: Explanation | None = None
    digest: str = ""


def checked(source: str, envelope: Envelope) -> Checked:
    try:
        content, places = read_placed(source)
    except NotAnEnvelope as error:
        return Checked(problems=error.problems)
    if content.task != envelope.slug:
        line, column = places.at("task")
        return Checked(
            problems=(Problem(line, column, "task", f"this envelope is {envelope.slug}: say task: {envelope.slug}"),)
        )
    return Checked((), placed(lint(content, context_for(envelope)), places), explain(content), content.digest)


def _editable(request: Request, slug: str, number: int) -> Version:
    """The draft for its author. Other members may read it, but not write."""
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def version_edit(request: Request, slug: str, number: int) -> HttpResponse:
    """The editor. POST saves: as autosave it answers the checks alone, else the page."""
    found = _editable(request, slug, number)
    if found.status != Status.DRAFT or found.author_id != request.user.pk:
        return redirect(found) if request.method != "POST" else _refused(request, found, "only its author writes on a draft")
    if request.method != "POST":
        return render(request, "envelopes/edit.html", _editor(found, found.source))
    source = drafting.clean(request.POST.get("source", ""))
    over = request.POST.get("over", "")
    try:
        saved = drafting.save_draft(found, source, over or request.POST.get("token", ""), by=request.user, over=bool(over))
    except NotAllowed as rule:
        return _refused(request, found, str(rule))
    # In a conflict the page keeps the token that it had: only an act of its writer puts their text over the other one.
    token = request.POST.get("token", "") if saved.kept else saved.token
    context = _editor(found, source) | {"token": token, "saved": saved, "saved_at": timezone.now()}
    if request.htmx:
        return render(request, "envelopes/edit.html#checked", context | {"live": True})
    if saved.kept is None and request.POST.get("then") == "review":
        return _to_review(request, found)
    return render(request, "envelopes/edit.html", context, status=409 if saved.kept else 200)


def _editor(found: Version, source: str) -> dict[str, Any]:
    origin = found.based_on
    comments = Comment.objects.filter(version=origin, resolved_at=None).select_related("author") if origin else []
    return {
        "version": found,
        "source": source,
        "token": drafting.token_of(found.source),
        "checked": checked(source, found.envelope),
        "gutter": "\n".join(map(str, range(1, source.count("\n") + 2))),
        "set_aside": SetAside.objects.filter(version=found).select_related("by"),
        "origin_comments": comments,
    }


def _to_review(request: Request, found: Version) -> HttpResponse:
    try:
        actions.submit_for_review(found, by=request.user)
    except NotAllowed as rule:
        return _refused(request, found, str(rule))
    except NotAnEnvelope:
        found.refresh_from_db()
        context = _editor(found, found.source) | {"not_valid": True}
        return render(request, "envelopes/edit.html", context, status=422)
    messages.success(request, "In review: the text is frozen, and another owner can approve it.")
    return redirect(found)


def _refused(request: Request, found: Version, why: str) -> HttpResponse:
    if request.htmx:
        return render(request, "envelopes/edit.html#checked", {"version": found, "live": True, "refused": why}, status=422)
    return render(request, "envelopes/version.html", version_context(request, found, refused=why), status=422)


@require_POST
def version_complete(request: Request, slug: str, number: int) -> HttpResponse:
    """What can stand at one place of the text that is in the editor. Nothing is stored."""
    _editable(request, slug, number)
    at = request.POST.get("at", "")
    place = int(at) if at.isascii() and at.isdigit() and len(at) < 10 else -1
    found = complete(drafting.clean(request.POST.get("source", "")), place)
    return render(request, "envelopes/_completion.html", {"completion": found})


@require_POST
def version_submit(request: Request, slug: str, number: int) -> HttpResponse:
    """Gives the stored text into review."""
    found = _editable(request, slug, number)
    return _to_review(request, found)


@require_POST
def version_discard(request: Request, slug: str, number: int) -> HttpResponse:
    found = _editable(request, slug, number)
    try:
        drafting.discard_draft(found, by=request.user)
    except NotAllowed as rule:
        return _refused(request, found, str(rule))
    messages.success(request, f"{found} is discarded.")
    return redirect(found.envelope)


@require_POST
def version_beat(request: Request, slug: str, number: int) -> HttpResponse:
    """An open page whose reader did something lately. Only authors and possible approvers are measured."""
    found = load_version(request, slug, number)
    is_owner = has_role(request.user, found.envelope, Role.OWNER)
    if is_owner and found.status in (Status.DRAFT, Status.IN_REVIEW):
        effort.beat(found, request.user)
    return HttpResponse(status=204)


@require_safe
def set_aside(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    """A text that was kept beside the stored one, as it was sent."""
    found = _editable(request, slug, number)
    kept = SetAside.objects.filter(version=found, pk=pk, by_id=request.user.pk).first()
    if kept is None:
        raise Http404
    return HttpResponse(kept.source, content_type="text/plain; charset=utf-8")
