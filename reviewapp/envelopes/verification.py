"""Whether a version may run: its stored content, digest and approvals, checked before each run, cached by their very values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from controller.signature import Invalid, Signed, verify
from reviewapp.envelopes import keys
from reviewapp.envelopes.models import Version


def verified(version: Version, approvals: Iterable[Signed] | None = None) -> Invalid | None:
    """``None`` when enough people other than the author signed exactly what is stored; else why not.

    The cache key is everything that the verdict depends on, so an altered row, a new approval or a revoked key is seen at once.
    """
    if approvals is None:
        approvals = signed(version.pk)
    canonical = version.canonical.encode("utf-8", "surrogatepass")
    return _verified(
        hashlib.sha256(canonical).digest(),
        _Bytes(canonical),
        version.envelope.slug,
        version.number,
        version.digest,
        version.author.username,
        tuple(approvals),
        version.envelope.approvals_needed,
        keys.stamp(),
    )


def signed(version_id: int) -> tuple[Signed, ...]:
    """The stored approvals of a version."""
    from reviewapp.envelopes.models import Approval

    rows = Approval.objects.filter(version_id=version_id).values_list("statement", "signature", "key_id")
    return tuple(Signed(*row) for row in rows)


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
    approvals: tuple[Signed, ...],
    needed: int,
    stamp: tuple[str, int, int],
) -> Invalid | None:
    return verify(
        content.data,
        task=task,
        version=number,
        digest=digest,
        author=author,
        approvals=approvals,
        needed=needed,
        keys=keys.trusted(),
    )
