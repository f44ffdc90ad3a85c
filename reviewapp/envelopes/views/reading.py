"""Pages to read: envelopes, one envelope, one version, its files, what changed, what would be sent."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import ValidationError

from controller.authoring import NotAnEnvelope, read
from controller.difference import compare
from controller.envelope import Envelope as Content
from controller.preview import first_attempt, second_attempts
from controller.text_difference import raw
from controller.tokens import CounterUnavailable, counter_for
from reviewapp.access import grants_of, has_role, load, require_somewhere, roles_on, visible_envelopes
from reviewapp.accounts.models import Role
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus
from reviewapp.envelopes import effort, export, passkeys, shadow
from reviewapp.envelopes.forms import ApproveForm, CommentForm, ImportForm, PreviewForm, ReasonForm, RulesForm, WithdrawForm
from reviewapp.envelopes.models import Approval, Comment, Envelope, Status, Version
from reviewapp.envelopes.presentation import lines_with_comments, reading
from reviewapp.envelopes.requirements import requirements
from reviewapp.envelopes.rules import holding
from reviewapp.requests import Request
from reviewapp.runs.differences import laid_out
from reviewapp.runs.endpoints import recorded_note


@require_safe
def envelopes(request: Request) -> HttpResponse:
    """All envelopes that I may see, with their versions in force and in review."""
    require_somewhere(request.user)
    rows = visible_envelopes(request.user).annotate(
        version_count=Count("versions"),
        approved=Count("versions", filter=Q(versions__status=Status.APPROVED)),
        in_review=Count("versions", filter=Q(versions__status=Status.IN_REVIEW)),
    )
    may_create = Role.OWNER in grants_of(request.user).everywhere
    return render(request, "envelopes/envelopes.html", {"envelopes": rows, "may_create": may_create})


@require_safe
def envelope(request: Request, slug: str) -> HttpResponse:
    """One envelope: its versions, newest first."""
    found = load(Envelope.objects.all(), request.user, "pk", slug=slug)
    return render(request, "envelopes/envelope.html", envelope_context(request, found))


def envelope_context(request: Request, found: Envelope, **forms: Any) -> dict[str, Any]:
    versions = found.versions.select_related("author").defer("source", "canonical").prefetch_related("approvals__approver")
    rules = {"approvals_needed": found.approvals_needed, "require_passkey": found.require_passkey}
    return {
        "envelope": found,
        "versions": versions,
        "roles": sorted(role.label for role in roles_on(request.user, found)),
        "open_letters": DeadLetter.objects.filter(envelope=found, status=DeadLetterStatus.OPEN).count(),
        "may_write": has_role(request.user, found, Role.OWNER),
        "may_rule": has_role(request.user, found, Role.OPERATOR),
        "import_form": ImportForm(auto_id="import-%s"),
        "rules_form": RulesForm(initial=rules, auto_id="rules-%s"),
    } | forms


def load_version(request: Request, slug: str, number: int) -> Version:
    rows = Version.objects.select_related("envelope", "author", "based_on__envelope")
    return load(rows, request.user, "envelope", envelope__slug=slug, number=number)


@require_safe
def version(request: Request, slug: str, number: int) -> HttpResponse:
    """One version to read: what the model is told, when it stops, what happens then, what it may cost, what it still needs."""
    return render(request, "envelopes/version.html", version_context(request, load_version(request, slug, number)))


def version_context(request: Request, found: Version, **more: Any) -> dict[str, Any]:
    approvals = list(Approval.objects.filter(version=found).select_related("approver"))
    comments = list(Comment.objects.filter(version=found).select_related("author", "resolved_by"))
    is_owner, mine = has_role(request.user, found.envelope, Role.OWNER), found.author_id == request.user.pk
    in_review, asked = found.status == Status.IN_REVIEW, holding(found)
    return {
        "version": found,
        "reading": reading(found),
        "canonical": laid_out(found.canonical),
        "approvals": approvals,
        "missing": max(0, asked.approvals_needed - len(approvals)),
        "asked": asked,
        "requirements": requirements(found),
        "comments": comments,
        "open_comments": [comment for comment in comments if comment.resolved_at is None],
        "lines": lines_with_comments(found.source, comments),
        "shadows": shadow.attached(found),
        "digest_now": shadow.current_digest(found),
        "effort": effort.spent(found),
        "earlier": _earlier(found),
        "is_mine": mine,
        "may_edit": mine and is_owner and found.status == Status.DRAFT,
        "may_write": is_owner,
        "may_try": is_owner and found.status in (Status.DRAFT, Status.IN_REVIEW),
        "may_decide": is_owner and in_review and not mine,
        "may_approve": is_owner and in_review and not mine and all(a.approver_id != request.user.pk for a in approvals),
        "may_withdraw": mine and in_review,
        "may_retire": found.status == Status.APPROVED and has_role(request.user, found.envelope, *RETIRERS),
        "has_passkey": passkeys.has_passkey(request.user),
        "approve_form": ApproveForm(initial={"digest": found.digest}, auto_id="approve-%s"),
        "reason_form": ReasonForm(auto_id="decide-%s"),
        "withdraw_form": WithdrawForm(auto_id="withdraw-%s"),
        "retire_form": ReasonForm(auto_id="retire-%s"),
        "comment_form": CommentForm(auto_id="comment-%s"),
    } | more


RETIRERS = (Role.OWNER, Role.MANAGER, Role.OPERATOR)
"""Who may stop an approved version: anybody who answers for what it does."""


def _earlier(found: Version) -> list[Version]:
    """Versions to compare with: the one that it came from first, then the others from the newest on."""
    rows = list(Version.objects.filter(envelope=found.envelope, number__lt=found.number).order_by("-number")[:20])
    return sorted(rows, key=lambda row: row.pk != found.based_on_id)


@require_safe
def version_download(request: Request, slug: str, number: int, form: str) -> HttpResponse:
    """The source as its author wrote it, the very bytes that approvals bind to, or all that it takes to verify them."""
    found = load_version(request, slug, number)
    made = {
        "yaml": lambda: (found.source.encode(), "application/yaml; charset=utf-8"),
        "json": lambda: (found.canonical.encode(), "application/json; charset=utf-8"),
        "zip": lambda: (export.archive(found), "application/zip"),
    }
    if form not in made or (form != "yaml" and not found.canonical):
        raise Http404
    data, kind = made[form]()
    name = f"{found.envelope.slug}-v{found.number}.{form}"
    return HttpResponse(data, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@require_safe
def version_diff(request: Request, slug: str, before: int, after: int) -> HttpResponse:
    """What changed from one version to another: by meaning, then line by line."""
    old, new = load_version(request, slug, before), load_version(request, slug, after)
    was, now = content_of(old), content_of(new)
    changes = compare(was, now) if was is not None and now is not None else None
    context = {
        "old": old,
        "new": new,
        "changes": changes,
        "same_digest": bool(old.digest) and old.digest == new.digest,
        "raw": raw(old.source, new.source),
        "others": Version.objects.filter(envelope=new.envelope).exclude(pk=new.pk).order_by("-number")[:50],
    }
    return render(request, "envelopes/diff.html", context)


def content_of(found: Version) -> Content | None:
    """What a version says: as signed where it was, else as its text says now; ``None`` where that is no envelope."""
    try:
        return found.content if found.canonical else read(found.source)
    except (NotAnEnvelope, ValidationError):
        return None


@require_http_methods(["GET", "HEAD", "POST"])
def version_preview(request: Request, slug: str, number: int) -> HttpResponse:
    """The exact messages of attempt 1 over a document, and of each second attempt that a failing check leads to."""
    found = load_version(request, slug, number)
    content = content_of(found)
    sent = request.POST if request.method == "POST" else (request.GET if "record" in request.GET else None)
    form = PreviewForm(sent, version=found)
    context: dict[str, Any] = {"version": found, "form": form, "content": content, "recorded": recorded_note()}
    valid = sent is not None and form.is_valid()
    if valid and content is not None:
        context |= _previewed(content, form.cleaned_data["document"])
    page = "envelopes/preview.html#result" if request.htmx else "envelopes/preview.html"
    return render(request, page, context, status=422 if sent is not None and not valid else 200)


def _previewed(content: Content, document: str) -> dict[str, Any]:
    try:
        count = counter_for(content.tokens)
    except CounterUnavailable as error:
        return {"unavailable": str(error)}
    return {
        "first": first_attempt(content, document, count),
        "seconds": second_attempts(content, document, count),
        "shown": True,
    }
