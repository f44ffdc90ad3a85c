"""The life of an envelope version. Every act checks its rule, writes its rows and its audit entry, or refuses and writes nothing."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from controller import signature
from controller.authoring import read
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.envelopes import keys
from reviewapp.envelopes.models import Approval, Envelope, Status, Version


class NotAllowed(Exception):
    """The act breaks a rule of the version's life; the message says which, for the person who tried."""


@transaction.atomic
def create_envelope(slug: str, title: str, *, by: User, approvals_needed: int = 1) -> Envelope:
    """A new task without any version yet."""
    envelope = Envelope.objects.create(slug=slug, title=title, created_by=by, approvals_needed=approvals_needed)
    append("envelope created", "envelope", envelope.slug, by=by, after={"title": title, "approvals_needed": approvals_needed})
    return envelope


@transaction.atomic
def draft_version(envelope: Envelope, source: str, *, by: User, based_on: Version | None = None) -> Version:
    """The next numbered draft. Its text may be incomplete: it must only be valid when it goes into review."""
    Envelope.objects.select_for_update().get(pk=envelope.pk)
    number = (envelope.versions.aggregate(last=Max("number"))["last"] or 0) + 1
    version = Version.objects.create(envelope=envelope, number=number, source=source, author=by, based_on=based_on)
    append("draft created", "version", version, by=by, after={"based_on": str(based_on) if based_on else None})
    return version


@transaction.atomic
def submit_for_review(version: Version, *, by: User) -> Version:
    """Freezes the content. Raises ``controller.authoring.NotAnEnvelope`` with every problem where the text is not valid."""
    version = Version.objects.select_for_update().select_related("envelope").get(pk=version.pk)
    if version.status != Status.DRAFT:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}, not a draft")
    if version.author_id != by.pk:
        raise NotAllowed("only its author submits a draft for review")
    content = read(version.source)
    if content.task != version.envelope.slug:
        raise NotAllowed(f"the text says task: {content.task}, but this envelope is {version.envelope.slug}")
    version.canonical, version.digest = content.canonical().decode("utf-8"), content.digest
    version.status, version.submitted_at = Status.IN_REVIEW, timezone.now()
    version.save(update_fields=["canonical", "digest", "status", "submitted_at"])
    append("version submitted", "version", version, by=by, after={"digest": version.digest})
    return version


@transaction.atomic
def approve_version(version: Version, *, by: User, digest: str) -> Version:
    """One person's signature on exactly ``digest``: what they saw. The version is approved once enough different people signed.

    An author never approves their own version, whatever their roles. Raises ``keys.NoSigningKey`` where nothing can sign.
    """
    version = Version.objects.select_for_update().select_related("envelope", "author").get(pk=version.pk)
    if version.status != Status.IN_REVIEW:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}, not in review")
    if version.author_id == by.pk:
        raise NotAllowed("authors never approve their own version")
    if version.digest != digest:
        raise NotAllowed("the version is not the one that you were shown: look at it again")
    if version.approvals.filter(approver=by).exists():
        raise NotAllowed("you have approved this version already")
    now = timezone.now()
    made = signature.sign(
        keys.signing_key(), task=version.envelope.slug, version=version.number, digest=digest, approver=by.username, at=now
    )
    Approval.objects.create(
        version=version, approver=by, statement=made.statement, signature=made.signature, key_id=made.key_id
    )
    count = version.approvals.count()
    append("version approved by one", "version", version, by=by, after={"digest": digest, "approvals": count})
    if count >= version.envelope.approvals_needed:
        _move(version, Status.APPROVED, by=by, reason="")
    return version


@transaction.atomic
def reject_version(version: Version, *, by: User, why: str) -> Version:
    """Ends a review: the version stays as it is, and a new draft can start from it."""
    version = Version.objects.select_for_update().select_related("envelope").get(pk=version.pk)
    if version.status != Status.IN_REVIEW:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}, not in review")
    if version.author_id == by.pk:
        raise NotAllowed("authors withdraw their own version instead of rejecting it")
    _need(why)
    return _move(version, Status.REJECTED, by=by, reason=why)


@transaction.atomic
def withdraw_version(version: Version, *, by: User, why: str) -> Version:
    """The author takes a version out of review."""
    version = Version.objects.select_for_update().select_related("envelope").get(pk=version.pk)
    if version.status != Status.IN_REVIEW or version.author_id != by.pk:
        raise NotAllowed("only the author withdraws a version, while it is in review")
    return _move(version, Status.WITHDRAWN, by=by, reason=why)


@transaction.atomic
def retire_version(version: Version, *, by: User, why: str) -> Version:
    """No further attempt starts under this version: runs in flight end with ``version_retired`` before their next call."""
    version = Version.objects.select_for_update().select_related("envelope").get(pk=version.pk)
    if version.status != Status.APPROVED:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}, not approved")
    _need(why)
    return _move(version, Status.RETIRED, by=by, reason=why)


def _need(why: str) -> None:
    if not why.strip():
        raise NotAllowed("a reason is needed")


def _move(version: Version, status: Status, *, by: User, reason: str) -> Version:
    before, version.status, version.decided_at = version.status, status, timezone.now()
    version.save(update_fields=["status", "decided_at"])
    append(
        f"version {status.value.replace('_', ' ')}",
        "version",
        version,
        by=by,
        before={"status": before},
        after={"status": status.value, "digest": version.digest},
        reason=reason,
    )
    return version
