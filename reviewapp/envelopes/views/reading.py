from __future__ import annotations

from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reviewapp.access import load, require_somewhere, roles_on, visible_envelopes
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus
from reviewapp.envelopes.models import Approval, Envelope, Status, Version
from reviewapp.envelopes.presentation import reading


@require_safe
def envelopes(request: HttpRequest) -> HttpResponse:
    """All envelopes that I may see, with their versions in force and in review."""
    require_somewhere(request.user)
    rows = visible_envelopes(request.user).annotate(
        version_count=Count("versions"),
        approved=Count("versions", filter=Q(versions__status=Status.APPROVED)),
        in_review=Count("versions", filter=Q(versions__status=Status.IN_REVIEW)),
    )
    return render(request, "envelopes/envelopes.html", {"envelopes": rows})


@require_safe
def envelope(request: HttpRequest, slug: str) -> HttpResponse:
    """One envelope: its versions, newest first."""
    found = load(Envelope.objects.all(), request.user, "pk", slug=slug)
    versions = found.versions.select_related("author").defer("source", "canonical").prefetch_related("approvals__approver")
    context = {
        "envelope": found,
        "versions": versions,
        "roles": sorted(role.label for role in roles_on(request.user, found)),
        "open_letters": DeadLetter.objects.filter(envelope=found, status=DeadLetterStatus.OPEN).count(),
    }
    return render(request, "envelopes/envelope.html", context)


def _version(request: HttpRequest, slug: str, number: int) -> Version:
    rows = Version.objects.select_related("envelope", "author", "based_on__envelope")
    return load(rows, request.user, "envelope", envelope__slug=slug, number=number)


@require_safe
def version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One version to read: what the model is told, when it stops, what happens then, what it may cost."""
    found = _version(request, slug, number)
    approvals = list(Approval.objects.filter(version=found).select_related("approver"))
    context = {
        "version": found,
        "reading": reading(found),
        "approvals": approvals,
        "missing": max(0, found.envelope.approvals_needed - len(approvals)),
    }
    return render(request, "envelopes/version.html", context)


@require_safe
def version_download(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponse:
    """The source as its author wrote it, or the very bytes that approvals bind to."""
    found = _version(request, slug, number)
    texts = {"yaml": (found.source, "application/yaml"), "json": (found.canonical, "application/json")}
    if form not in texts or not texts[form][0]:
        raise Http404
    text, kind = texts[form]
    name = f"{found.envelope.slug}-v{found.number}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text.encode(), content_type=f"{kind}; charset=utf-8", headers=headers)
