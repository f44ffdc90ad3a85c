"""Appending to the audit log, and proving that nothing in it was changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.audit.models import Entry

GENESIS = "0" * 64
SYSTEM = "Countersign"
_LOCK = 0x436F756E  # any constant of our own: one appender at a time on PostgreSQL


@transaction.atomic
def append(
    action: str,
    subject: str,
    subject_id: object,
    *,
    by: User | None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
) -> Entry:
    """One entry at the end of the chain, in the caller's transaction: the act and its entry stand or fall together.

    ``action`` is a past-tense verb phrase (``batch paused``); ``before``/``after`` hold what changed, never document or reply
    text. SQLite's immediate transaction already lets one writer in at a time; PostgreSQL takes an advisory lock for it.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    previous = Entry.objects.order_by("-id").values_list("hash", flat=True).first() or GENESIS
    entry = Entry(
        at=timezone.now(),
        actor=by,
        actor_name=str(by) if by is not None else SYSTEM,
        action=action,
        subject=subject,
        subject_id=str(subject_id),
        before=_text(before),
        after=_text(after),
        reason=reason,
        previous_hash=previous,
    )
    entry.hash = hash_of(entry)
    entry.save(force_insert=True)
    return entry


def _text(values: Mapping[str, Any] | None) -> str:
    return "" if values is None else json.dumps(values, sort_keys=True, ensure_ascii=False, default=str)


def hash_of(entry: Entry) -> str:
    """SHA-256 over every column but the hash itself, each with its length, so that no two entries read alike."""
    columns = [
        entry.previous_hash,
        _instant(entry.at),
        str(entry.actor_id or ""),
        entry.actor_name,
        entry.action,
        entry.subject,
        entry.subject_id,
        entry.before,
        entry.after,
        entry.reason,
    ]
    digest = hashlib.sha256(b"countersign.audit/1")
    for column in columns:
        data = column.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _instant(at: datetime) -> str:
    """Microseconds since 1970 UTC, in integers: both databases give the same back, whatever time zone they show."""
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return str((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


@dataclass(frozen=True)
class Break:
    """Where the chain does not hold: the entry's id, and why."""

    entry_id: int
    why: str


def verify_chain() -> Iterator[Break]:
    """Every place where the log was changed, cut or forked; nothing when it is whole. Reads in id order, constant memory."""
    previous = GENESIS
    for entry in Entry.objects.order_by("id").iterator(chunk_size=2000):
        if entry.previous_hash != previous:
            yield Break(entry.pk, "does not follow the entry before it: one was removed, inserted or changed")
        if hash_of(entry) != entry.hash:
            yield Break(entry.pk, "its columns are not those that were hashed")
        previous = entry.hash
