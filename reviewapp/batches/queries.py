"""What became of batches, in a fixed number of queries whatever their size or number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum

from controller import budget
from controller.machine import RunStatus
from reviewapp.batches.models import Batch
from reviewapp.runs.models import Run


@dataclass
class OutcomeTable:
    """Counts of one batch's runs. ``seconds`` is wall time from the first start to the last end, ``tokens`` as counted."""

    total: int = 0
    live: int = 0
    first: int = 0
    later: int = 0
    fallback: int = 0
    dead_by_fuse: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def accepted(self) -> int:
        return self.first + self.later + self.fallback

    @property
    def dead(self) -> int:
        return sum(self.dead_by_fuse.values())

    @property
    def ended(self) -> int:
        return self.accepted + self.dead


def counts_by_batch(batches: Iterable[Batch | int]) -> dict[int, OutcomeTable]:
    """One query for any number of batches; a batch without runs has a table of zeros."""
    ids = [batch if isinstance(batch, int) else batch.pk for batch in batches]
    tables = {pk: OutcomeTable() for pk in ids}
    rows = (
        Run.objects.filter(batch_id__in=ids)
        .order_by()
        .values("batch_id", "status", "fuse", "fallback", later=Q(accepted_on__gt=1))
        .annotate(
            n=Count("pk"), calls=Sum("calls"), tokens=Sum("tokens_counted"), began=Min("started_at"), ended=Max("ended_at")
        )
    )
    spans: dict[int, list[object]] = {}
    for row in rows:
        table = tables[row["batch_id"]]
        table.total += row["n"]
        table.calls += row["calls"] or 0
        table.tokens += row["tokens"] or 0
        _count(table, row)
        spans.setdefault(row["batch_id"], []).extend(at for at in (row["began"], row["ended"]) if at is not None)
    for pk, instants in spans.items():
        if instants:
            tables[pk].seconds = (max(instants) - min(instants)).total_seconds()  # type: ignore[operator, type-var]
    return tables


def _count(table: OutcomeTable, row: Mapping[str, Any]) -> None:
    number = row["n"]
    assert isinstance(number, int)
    if row["status"] == RunStatus.DEAD_LETTERED:
        name = str(row["fuse"] or row["fallback"] or "person")
        table.dead_by_fuse[name] = table.dead_by_fuse.get(name, 0) + number
    elif row["status"] != RunStatus.ACCEPTED:
        table.live += number
    elif row["fallback"]:
        table.fallback += number
    elif row["later"]:
        table.later += number
    else:
        table.first += number


def outcome_table(batch: Batch) -> OutcomeTable:
    return counts_by_batch([batch])[batch.pk]


def bound_of(batch: Batch) -> budget.Bound:
    """The bound on one run of the batch."""
    return budget.bound(batch.version.content)
