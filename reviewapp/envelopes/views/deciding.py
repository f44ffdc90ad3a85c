"""Deciding: approve, send back, reject, withdraw, retire; comments; the approval rules; notices that were seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from reviewapp.access import load, require
from reviewapp.accounts.models import Role
from reviewapp.envelopes import actions, comments, keys, notices, passkeys
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.forms import ApproveForm, CommentForm, ReasonForm, RulesForm, WithdrawForm
from reviewapp.envelopes.models import Comment, Envelope, Notice, Version
from reviewapp.envelopes.passkeys import PasskeyAnswer
from reviewapp.envelopes.requirements import stopped_by
from reviewapp.envelopes.views.reading import RETIRERS, envelope_context, load_version, version_context
from reviewapp.requests import Request


def _page(request: Request, found: Version, **more: Any) -> HttpResponse:
    return render(request, "envelopes/version.html", version_context(request, found, **more), status=422)


def _decide(request: Request, found: Version, act: Callable[..., Version], form: Form, name: str, done: str) -> HttpResponse:
    if not form.is_valid():
        return _page(request, found, **{name: form})
    try:
        act(found, by=request.user, why=form.cleaned_data["why"])
    except NotAllowed as rule:
        return _page(request, found, refused=str(rule))
    messages.success(request, done)
    return redirect(found)


@require_POST
def version_approve(request: Request, slug: str, number: int) -> HttpResponse:
    """My signature on exactly the digest that the page showed."""
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    form = ApproveForm(request.POST, auto_id="approve-%s")
    if not form.is_valid():
        return _page(request, found, refused="the page did not say which content was approved: open it again")
    data = form.cleaned_data
    answer = PasskeyAnswer(data["statement"], data["credential"], _host(request)) if data["credential"] else None
    try:
        approved = actions.approve_version(found, by=request.user, digest=data["digest"], passkey=answer)
    except (NotAllowed, keys.NoSigningKey) as rule:
        return _page(request, found, refused=str(rule))
    done = "approved: it can run from now on" if approved.status == "approved" else "signed by you; it needs further approvals"
    messages.success(request, f"{found} is {done}.")
    return redirect(found)


def _host(request: Request) -> str:
    return request.get_host().rsplit(":", 1)[0]


@require_POST
def version_passkey(request: Request, slug: str, number: int) -> HttpResponse:
    """The statement to be signed now, and what the browser asks the passkey: its challenge is the statement's SHA-256."""
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    known = passkeys.credentials_of(request.user)
    if not known:
        return JsonResponse({"why": "You have no passkey here yet: add one under your name, Passkeys and codes."}, status=409)
    try:
        statement = passkeys.statement_of(found, request.user, keys.signing_key())
    except keys.NoSigningKey as why:
        return JsonResponse({"why": str(why)}, status=409)
    options = passkeys.options(statement, known, _host(request))
    return JsonResponse({"statement": statement.canonical().decode("utf-8"), "options": options})


@require_POST
def version_reject(request: Request, slug: str, number: int) -> HttpResponse:
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    form = ReasonForm(request.POST, auto_id="decide-%s")
    return _decide(request, found, actions.reject_version, form, "reason_form", f"{found} is rejected.")


@require_POST
def version_send_back(request: Request, slug: str, number: int) -> HttpResponse:
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    form = ReasonForm(request.POST, auto_id="decide-%s")
    return _decide(request, found, actions.send_back_version, form, "reason_form", f"{found} goes back to its author.")


@require_POST
def version_withdraw(request: Request, slug: str, number: int) -> HttpResponse:
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    form = WithdrawForm(request.POST, auto_id="withdraw-%s")
    return _decide(request, found, actions.withdraw_version, form, "withdraw_form", f"{found} is withdrawn.")


@require_POST
def version_retire(request: Request, slug: str, number: int) -> HttpResponse:
    """Emergency stop: no further attempt starts under this version."""
    found = load_version(request, slug, number)
    require(request.user, found.envelope, *RETIRERS)
    form = ReasonForm(request.POST, auto_id="retire-%s")
    return _decide(
        request, found, actions.retire_version, form, "retire_form", f"{found} is retired: no attempt starts any more."
    )


@require_POST
def version_comment(request: Request, slug: str, number: int) -> HttpResponse:
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    form = CommentForm(request.POST, auto_id="comment-%s")
    if not form.is_valid():
        return _page(request, found, comment_form=form)
    try:
        made = comments.add_comment(found, form.cleaned_data["line"], form.cleaned_data["text"], by=request.user)
    except NotAllowed as rule:
        form.add_error("line", f"{rule}.")
        return _page(request, found, comment_form=form)
    return redirect(f"{found.get_absolute_url()}#comment-{made.pk}")


@require_POST
def comment_resolve(request: Request, slug: str, number: int, pk: int) -> HttpResponse:
    found = load_version(request, slug, number)
    require(request.user, found.envelope, Role.OWNER)
    comment = get_object_or_404(Comment, version=found, pk=pk)
    try:
        comments.resolve_comment(comment, by=request.user)
    except NotAllowed as rule:
        return _page(request, found, refused=str(rule))
    return redirect(f"{found.get_absolute_url()}#comments")


@require_POST
def envelope_rules(request: Request, slug: str) -> HttpResponse:
    """How many must approve and how. Versions that would stop are named first, and stop only after that was confirmed."""
    found = load(Envelope.objects.all(), request.user, "pk", slug=slug)
    require(request.user, found, Role.OPERATOR)
    form = RulesForm(request.POST, auto_id="rules-%s")
    if not form.is_valid():
        return render(request, "envelopes/envelope.html", envelope_context(request, found, rules_form=form), status=422)
    data = form.cleaned_data
    rules = {"approvals_needed": data["approvals_needed"], "require_passkey": data["require_passkey"]}
    stopped = stopped_by(Envelope.objects.get(pk=found.pk), **rules)
    if stopped and request.POST.get("confirmed") != json.dumps(rules, sort_keys=True):
        context = envelope_context(request, found, rules_form=form, stopped=stopped, confirm=json.dumps(rules, sort_keys=True))
        return render(request, "envelopes/envelope.html", context, status=409)
    try:
        actions.change_rules(found, **rules, by=request.user, why=data["why"])
    except NotAllowed as rule:
        form.add_error(None, f"{rule}.")
        return render(request, "envelopes/envelope.html", envelope_context(request, found, rules_form=form), status=422)
    messages.success(request, "The approval rules are changed.")
    return redirect(found)


@require_POST
def notice_seen(request: Request, pk: int) -> HttpResponse:
    found = load(Notice.objects.select_related("version__envelope"), request.user, "version__envelope", pk=pk)
    require(request.user, found.version.envelope, Role.OPERATOR)
    notices.acknowledge(found, by=request.user)
    return redirect("inbox")
