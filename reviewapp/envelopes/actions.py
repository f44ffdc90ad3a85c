"""The life of an envelope version. Every act checks its rule, writes its rows and its audit entry, or refuses."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from controller import signature
from controller.authoring import read
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.envelopes import keys, passkeys, rules
from reviewapp.envelopes.models import Approval, Envelope, Status, Version
from reviewapp.envelopes.passkeys import PasskeyAnswer


class NotAllowed(Exception):
    """The act breaks a rule of the version's life; the message says which, for the person who tried."""


@transaction.atomic
def create_envelope(slug: str, title: str, *, by: User, approvals_needed: int = 1, require_passkey: bool = False) -> Envelope:
    """A new task without any version yet."""
    asked = {"approvals_needed": approvals_needed, "require_passkey": require_passkey}
    envelope = Envelope.objects.create(slug=slug, title=title, created_by=by, **asked)
    append("envelope created", "envelope", envelope.slug, by=by, after={"title": title, **asked})
    return envelope


@transaction.atomic
def change_rules(envelope: Envelope, *, approvals_needed: int, require_passkey: bool, by: User, why: str) -> Envelope:
    """How many different people must approve, and whether by passkey.

    What is approved already is measured by stricter rules at once: a version with too few approvals stops running. See
    ``requirements.stopped_by``, which says beforehand which versions that would be. Less strict ones hold for versions that
    nobody has signed yet.
    """
    _need(why)
    envelope = Envelope.objects.select_for_update().get(pk=envelope.pk)
    if not 1 <= approvals_needed <= 9:
        raise NotAllowed("one to nine approvals can be asked for")
    before = {"approvals_needed": envelope.approvals_needed, "require_passkey": envelope.require_passkey}
    after = {"approvals_needed": approvals_needed, "require_passkey": require_passkey}
    if after == before:
        raise NotAllowed("these are the rules already")
    envelope.approvals_needed, envelope.require_passkey = approvals_needed, require_passkey
    envelope.save(update_fields=["approvals_needed", "require_passkey"])
    append("approval rules changed", "envelope", envelope.slug, by=by, before=before, after=after, reason=why)
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
    version = _locked(version)
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
def approve_version(version: Version, *, by: User, digest: str, passkey: PasskeyAnswer | None = None) -> Version:
    """One person's signature on exactly ``digest``: what they saw. The version is approved once enough different people signed.

    An author never approves their own version, whatever their roles. Raises ``keys.NoSigningKey`` where nothing can sign.
    """
    version = _locked(version)
    _in_review(version)
    if version.author_id == by.pk:
        raise NotAllowed("authors never approve their own version")
    if version.digest != digest:
        raise NotAllowed("the version is not the one that you were shown: look at it again")
    if version.approvals.filter(approver=by).exists():
        raise NotAllowed("you have approved this version already")
    needed = rules.holding(version)
    if needed.require_passkey and passkey is None:
        raise NotAllowed("this envelope asks for a passkey with every approval")
    made, assertion = _signed(version, by, passkey)
    Approval.objects.create(
        version=version,
        approver=by,
        statement=made.statement,
        signature=made.signature,
        key_id=made.key_id,
        passkey=assertion,
    )
    count = version.approvals.count()
    after = {"digest": digest, "approvals": count, "passkey": bool(assertion)}
    append("version approved by one", "version", version, by=by, after=after)
    if count >= needed.approvals_needed:
        _move(version, Status.APPROVED, by=by, reason="")
    return version


def _signed(version: Version, by: User, passkey: PasskeyAnswer | None) -> tuple[signature.Signed, str]:
    """The statement signed by the newest key, and the passkey's assertion over that very statement where there is one."""
    key = keys.signing_key()
    if passkey is None:
        statement = passkeys.statement_of(version, by, key)
        return signature.sign_statement(key, statement), ""
    try:
        statement, assertion = passkeys.checked(version, by, key, passkey)
    except passkeys.Refused as why:
        raise NotAllowed(f"the passkey was not accepted: {why}") from None
    return signature.sign_statement(key, statement), assertion


@transaction.atomic
def reject_version(version: Version, *, by: User, why: str) -> Version:
    """Ends a review: the version stays as it is, and a new draft can start from it."""
    return _turn_down(version, Status.REJECTED, by=by, why=why)


@transaction.atomic
def send_back_version(version: Version, *, by: User, why: str) -> Version:
    """Ends a review with changes wanted: the author starts the next draft from it, with the comments beside the text."""
    return _turn_down(version, Status.CHANGES_WANTED, by=by, why=why)


def _turn_down(version: Version, status: Status, *, by: User, why: str) -> Version:
    version = _locked(version)
    _in_review(version)
    if version.author_id == by.pk:
        raise NotAllowed("authors withdraw their own version instead")
    _need(why)
    return _move(version, status, by=by, reason=why)


@transaction.atomic
def withdraw_version(version: Version, *, by: User, why: str) -> Version:
    """The author takes a version out of review."""
    version = _locked(version)
    if version.status != Status.IN_REVIEW or version.author_id != by.pk:
        raise NotAllowed("only the author withdraws a version, while it is in review")
    return _move(version, Status.WITHDRAWN, by=by, reason=why)


@transaction.atomic
def retire_version(version: Version, *, by: User, why: str) -> Version:
    """No further attempt starts under this version: runs in flight end with ``version_retired`` before their next call."""
    version = _locked(version)
    if version.status != Status.APPROVED:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}, not approved")
    _need(why)
    return _move(version, Status.RETIRED, by=by, reason=why)


def _locked(version: Version) -> Version:
    rows = Version.objects.select_for_update(of=("self",)).select_related("envelope", "author")
    return rows.get(pk=version.pk)


def _in_review(version: Version) -> None:
    if version.status != Status.IN_REVIEW:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}, not in review")


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
