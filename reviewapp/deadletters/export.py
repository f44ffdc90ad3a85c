"""The letters of a filter as CSV or JSON Lines, one at a time: memory does not grow with their number."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from reviewapp.deadletters.models import Correction, DeadLetter

FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
CHUNK = 500
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""Spreadsheets run cells that begin so."""

COLUMNS = (
    "letter",
    "record",
    "document_sha256",
    "batch",
    "envelope",
    "version",
    "version_digest",
    "run",
    "replay",
    "status",
    "resolution",
    "fuse",
    "class",
    "signature",
    "group",
    "failing",
    "created_at",
    "due_at",
    "resolved_at",
    "resolved_by",
    "active_ms",
    "original",
    "corrected",
    "overrides",
)


class _Line:
    """A file for ``csv`` that hands each line on instead of keeping it."""

    def write(self, text: str) -> str:
        return text


def lines(letters: QuerySet[DeadLetter], kind: str) -> Iterator[str]:
    """The export, line by line, in id order. ``original`` is the run's value, ``corrected`` a person's, if there is one."""
    if kind == "csv":
        writer = csv.writer(_Line())
        yield writer.writerow(COLUMNS)
        for row in _rows(letters):
            yield writer.writerow([safe(row[name]) for name in COLUMNS])
    else:
        for row in _rows(letters):
            yield json.dumps(row, ensure_ascii=False, default=str) + "\n"


def safe(value: Any) -> str:
    """The cell as text that no spreadsheet takes for a formula: an apostrophe before what would begin one."""
    text = "" if value is None else json.dumps(value) if isinstance(value, list | dict) else str(value)
    text = text.replace("\x00", "")
    return f"'{text}" if text.startswith(DANGEROUS) else text


def _rows(letters: QuerySet[DeadLetter]) -> Iterator[dict[str, Any]]:
    rows = letters.select_related("run__record", "run__outcome", "batch", "envelope", "version", "resolved_by")
    rows = rows.defer("run__state", "run__outcome__result", "version__source", "version__canonical").order_by("pk")
    last = 0
    # In steps of its own, not by a cursor: the stream outlives the transaction that it began in.
    while chunk := list(rows.filter(pk__gt=last)[:CHUNK]):
        last = chunk[-1].pk
        corrections = {
            row.decision.letter_id: row
            for row in Correction.objects.filter(decision__letter__in=chunk, decision__undone_at=None).select_related(
                "decision"
            )
        }
        for letter in chunk:
            yield _row(letter, corrections.get(letter.pk))


def _row(letter: DeadLetter, correction: Correction | None) -> dict[str, Any]:
    record = letter.run.record
    return {
        "letter": letter.pk,
        "record": record.key,
        "document_sha256": record.document_sha256,
        "batch": letter.batch.name,
        "envelope": letter.envelope.slug,
        "version": letter.version.number if letter.version else None,
        "version_digest": letter.version.digest if letter.version else "",
        "run": letter.run_id,
        "replay": letter.replay,
        "status": letter.status,
        "resolution": letter.resolution,
        "fuse": letter.fuse,
        "class": letter.final_class,
        "signature": letter.signature,
        "group": letter.group_id,
        "failing": letter.failing,
        "created_at": letter.created_at.isoformat(),
        "due_at": letter.due_at.isoformat() if letter.due_at else None,
        "resolved_at": letter.resolved_at.isoformat() if letter.resolved_at else None,
        "resolved_by": letter.resolved_by.username if letter.resolved_by else "",
        "active_ms": letter.active_ms,
        "original": letter.run.outcome.value,
        "corrected": correction.value if correction else "",
        "overrides": correction.overrides if correction else [],
    }
