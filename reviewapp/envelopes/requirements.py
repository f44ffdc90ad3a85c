"""What a version still needs before it may run: which requirement is met, which is missing, whose turn it is since when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import Q

from controller.authoring import NotAnEnvelope, Problem, read
from controller.signature import strictest
from reviewapp.accounts.models import Membership, Role
from reviewapp.envelopes import keys, rules
from reviewapp.envelopes.models import Approval, Envelope, Status, Version
from reviewapp.envelopes.verification import verified


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement in words. Where it is missing, ``whose`` turn it is, and ``since`` when."""

    id: str
    words: str
    met: bool
    whose: str = ""
    since: datetime | None = None


ENDED = {
    Status.RETIRED: "It was retired: no further attempt starts under it.",
    Status.REJECTED: "It was rejected. A new draft can start from it.",
    Status.WITHDRAWN: "Its author withdrew it. A new draft can start from it.",
    Status.CHANGES_WANTED: "Changes are wanted. Its author goes on with a new draft from it.",
}


def requirements(version: Version) -> tuple[Requirement, ...]:
    """In the order in which they are met. A version that ended needs nothing more and has the one row that says so."""
    if version.status in ENDED:
        turn = str(version.author) if version.status == Status.CHANGES_WANTED else ""
        return (Requirement("ended", ENDED[Status(version.status)], False, turn, version.decided_at),)
    return tuple(_live(version))


def _live(version: Version) -> Iterator[Requirement]:
    author = str(version.author)
    if version.status == Status.DRAFT:
        count = len(problems(version.source, version.envelope.slug))
        words = "The text is a valid envelope" if not count else f"The text has {count} problem{'' if count == 1 else 's'}"
        yield Requirement("valid", words, not count, author, version.created_at)
        yield Requirement("submitted", "It is given into review, which freezes its text", False, author, version.created_at)
    else:
        yield Requirement("valid", "The text is a valid envelope", True)
        yield Requirement("submitted", "It is in review: its text is frozen", True, since=version.submitted_at)
    yield from _approvals(version)
    if version.status == Status.APPROVED:
        invalid = verified(version)
        words = "Every signature holds" if invalid is None else f"It may not run: {invalid.why}"
        yield Requirement("signatures", words, invalid is None, "an operator", version.decided_at)
    elif not _can_sign():
        yield Requirement("key", "There is a key to sign with (signing_keys make)", False, "an operator")


def _approvals(version: Version) -> Iterator[Requirement]:
    given = list(Approval.objects.filter(version=version).select_related("approver"))
    asked = strictest(rules.now(version.envelope), (approval.statement for approval in given))
    needed, how = asked.approvals_needed, " by passkey" if asked.require_passkey else ""
    for approval in given:
        by_passkey = " by passkey" if approval.passkey else ""
        yield Requirement(
            f"approval-{approval.pk}", f"Approved by {approval.approver}{by_passkey}", True, since=approval.created_at
        )
    for place in range(len(given) + 1, needed + 1):
        words = f"Approval {place} of {needed}{how}, by somebody other than {version.author}"
        since = max([version.submitted_at, *(a.created_at for a in given)]) if version.submitted_at else None
        yield Requirement(f"missing-{place}", words, False, _owners(version, given), since)


def _owners(version: Version, given: list[Approval]) -> str:
    """Who can give the next approval: owners of the envelope that neither wrote it nor have approved it."""
    if version.status == Status.DRAFT:
        return ""  # its author has the turn: see the row before
    done = {version.author_id, *(approval.approver_id for approval in given)}
    rows = (
        Membership.objects.filter(Q(envelope=None) | Q(envelope=version.envelope), role=Role.OWNER)
        .exclude(user_id__in=done)
        .select_related("user")
        .order_by("user__username")
    )
    names = list(dict.fromkeys(str(row.user) for row in rows))
    if not names:
        return "nobody: no other person is an owner of this envelope"
    return " or ".join(names[:4]) + (f" or {len(names) - 4} more" if len(names) > 4 else "")


def _can_sign() -> bool:
    try:
        keys.signing_key()
    except keys.NoSigningKey:
        return False
    return True


def problems(source: str, slug: str) -> tuple[Problem, ...]:
    """Everything that keeps a text from being a valid version of the envelope."""
    return _problems(source, slug)


@lru_cache(maxsize=64)
def _problems(source: str, slug: str) -> tuple[Problem, ...]:
    try:
        content = read(source)
    except NotAnEnvelope as error:
        return error.problems
    if content.task != slug:
        return (Problem(1, 1, "task", f"this envelope is {slug}, the text says {content.task}"),)
    return ()


def stopped_by(envelope: Envelope, *, approvals_needed: int, require_passkey: bool) -> list[Version]:
    """Approved versions that would stop running under other approval rules."""
    rows = Version.objects.filter(envelope=envelope, status=Status.APPROVED).select_related("envelope", "author")
    stopped = []
    for version in rows:
        if verified(version) is not None:
            continue
        version.envelope.approvals_needed, version.envelope.require_passkey = approvals_needed, require_passkey
        if verified(version) is not None:
            stopped.append(version)
    return stopped
