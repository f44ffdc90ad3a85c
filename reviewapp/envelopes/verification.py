"""Whether a version may run: its stored content, digest and approvals, checked before each run, cached by their very values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from controller.signature import Invalid, Rules, Signed, strictest, verify
from reviewapp import statements
from reviewapp.envelopes import keys, passkeys, rules
from reviewapp.envelopes.models import Approval, Version


@dataclass(frozen=True, slots=True)
class Stored:
    """One approval as it is stored: the signed statement, and the passkey's assertion over it, or an empty text."""

    signed: Signed
    passkey: str = ""


def verified(version: Version, approvals: Iterable[Stored] | None = None) -> Invalid | None:
    """``None`` when enough people other than the author signed exactly what is stored; else why not.

    The cache key is everything that the verdict depends on, so an altered row, a new approval or a revoked key is seen at once.
    """
    if approvals is None:
        approvals = stored(version.pk)
    canonical = version.canonical.encode("utf-8", "surrogatepass")
    return _verified(
        hashlib.sha256(canonical).digest(),
        _Bytes(canonical),
        version.envelope.slug,
        version.number,
        version.digest,
        version.author.username,
        tuple(approvals),
        rules.now(version.envelope),
        keys.stamp(),
    )


def stored(version_id: int) -> tuple[Stored, ...]:
    """The stored approvals of a version."""
    rows = statements.every(Approval, ("statement", "signature", "key_id", "passkey"), {"version_id": version_id}, order="id")
    return tuple(Stored(Signed(*row[:3]), row[3]) for row in rows)


class _Bytes:
    """Content that rides along with its hash: the hash is the cache key, the bytes are not compared."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bytes)


@lru_cache(maxsize=512)
def _verified(
    content_hash: bytes,
    content: _Bytes,
    task: str,
    number: int,
    digest: str,
    author: str,
    approvals: tuple[Stored, ...],
    asked: Rules,
    stamp: tuple[str, int, int],
) -> Invalid | None:
    invalid = verify(
        content.data,
        task=task,
        version=number,
        digest=digest,
        author=author,
        approvals=[approval.signed for approval in approvals],
        needed=asked.approvals_needed,
        keys=keys.trusted(),
    )
    if invalid is not None:
        return invalid
    by_passkey = strictest(asked, (approval.signed.statement for approval in approvals)).require_passkey
    return next(filter(None, (_passkey(approval, by_passkey) for approval in approvals)), None)


def _passkey(approval: Stored, is_required: bool) -> Invalid | None:
    """An assertion that is there must hold, asked for or not: an altered row is a reason to stop."""
    if not approval.passkey:
        return Invalid("an approval without the passkey that this envelope asks for") if is_required else None
    why = passkeys.problem(approval.passkey, approval.signed.statement)
    return Invalid(why) if why is not None else None
