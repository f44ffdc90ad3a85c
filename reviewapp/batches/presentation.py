"""What the batch pages show, worked out before the template sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from pydantic import ValidationError

from controller.budget import Bound, bound
from controller.fuse import WORDS, Fuse
from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.batches.queries import OutcomeTable
from reviewapp.envelopes.models import Version
from reviewapp.runs.models import Run


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The bound per record, and what it comes to for the whole batch."""

    per_record: Bound
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class BatchRow:
    batch: Batch
    counts: OutcomeTable
    state: str


def for_lists(queryset: QuerySet[Batch]) -> QuerySet[Batch]:
    """With what a list names and without the envelope's long texts."""
    return queryset.select_related("version__envelope", "created_by").defer("version__source", "version__canonical")


def runs_for_lists(queryset: QuerySet[Run]) -> QuerySet[Run]:
    return queryset.select_related("record").defer("state")


@dataclass(frozen=True, slots=True)
class Stopped:
    """Dead letters by what stopped the run: a fuse, or the fallback that handed the record on."""

    name: str
    words: str
    count: int
    is_fuse: bool


def stopped(table: OutcomeTable) -> list[Stopped]:
    """The most frequent reason first."""
    return [
        Stopped(name, WORDS[Fuse(name)] if name in Fuse.__members__.values() else "", count, name in Fuse.__members__.values())
        for name, count in sorted(table.dead_by_fuse.items(), key=lambda item: (-item[1], item[0]))
    ]


def state_of(batch: Batch, counts: OutcomeTable) -> str:
    """An open batch without a live run has ended: nothing will happen to it unless records are added."""
    if batch.status == BatchStatus.OPEN and counts.total and not counts.live:
        return "ended"
    return batch.status


def rows(batches: list[Batch], counts: dict[int, Any]) -> list[BatchRow]:
    return [BatchRow(batch, counts[batch.pk], state_of(batch, counts[batch.pk])) for batch in batches]


def ceiling(version: Version, records: int) -> Ceiling | None:
    """``None`` where the stored content is no envelope: then nothing runs either."""
    try:
        per_record = bound(version.content)
    except ValidationError:
        return None
    return Ceiling(per_record, per_record.calls * records, per_record.tokens * records)
