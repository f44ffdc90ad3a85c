"""The counts told again from the rows they count, to compare with what was kept, or to replace it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncWeek

from reviewapp.insights.models import FieldTally, GradingTime, Kind, RunTally, SampleTally
from reviewapp.insights.tallies import field_marks, way_of
from reviewapp.runs.models import ENDED, Run
from reviewapp.samples import drawing
from reviewapp.samples import marks as marking
from reviewapp.samples.models import Accepted, Epoch, Grade, GradeStatus, Sample, SampleStatus, TaskKind

MODELS: tuple[type[models.Model], ...] = (SampleTally, FieldTally, RunTally, GradingTime)
Counts = dict[tuple[Any, ...], list[int]]


@dataclass(frozen=True, slots=True)
class Difference:
    """One row whose counts are not what the rows say. ``kept`` or ``told`` is ``None`` where the row is missing there."""

    table: str
    key: tuple[Any, ...]
    kept: tuple[int, ...] | None
    told: tuple[int, ...] | None

    def __str__(self) -> str:
        return f"{self.table} {self.key}: kept {self.kept}, the rows say {self.told}"


def tell() -> dict[type[models.Model], Counts]:
    """Every count from its source."""
    return {SampleTally: _samples(), FieldTally: _fields(), RunTally: _runs(), GradingTime: _times()}


def differences() -> Iterator[Difference]:
    """Rows that differ; a row of zeros is as good as none."""
    for model, told in tell().items():
        kept = _kept(model)
        for key in sorted(kept.keys() | told.keys(), key=repr):
            before, after = kept.get(key), told.get(key)
            if (before or [0]) != (after or [0]) and (any(before or ()) or any(after or ())):
                yield Difference(
                    model._meta.model_name or "", key, tuple(before) if before else None, tuple(after) if after else None
                )


@transaction.atomic
def rebuild() -> int:
    """Replaces everything that was kept; how many rows there are then. Writers wait until it is done."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {', '.join(model._meta.db_table for model in MODELS)} IN EXCLUSIVE MODE")
    total = 0
    for model, told in tell().items():
        model._default_manager.all().delete()
        rows = [model(**dict(zip(_names(model), (*key, *counts), strict=True))) for key, counts in told.items() if any(counts)]
        model._default_manager.bulk_create(rows, batch_size=500)
        total += len(rows)
    return total


def _names(model: Any) -> tuple[str, ...]:
    return (*model.KEY, *model.COUNTS)


def _kept(model: Any) -> Counts:
    size = len(model.KEY)
    return {tuple(row[:size]): list(row[size:]) for row in model._default_manager.values_list(*_names(model))}


def _week(moment: Any) -> date:
    found: date = moment.date()
    return found


def _samples() -> Counts:
    counts: Counts = defaultdict(lambda: [0] * len(SampleTally.COUNTS))
    rates = {
        (epoch.batch_id, epoch.number, stratum.value): rate
        for epoch in Epoch.objects.all()
        for stratum, rate in drawing.plan_from(epoch.plan).strata.items()
    }
    frame = _by_week(Accepted.objects.all(), "at").values(
        "version__envelope_id", "version_id", "batch_id", "epoch", "stratum", "week"
    )
    for row in frame.annotate(n=Count("pk")):
        rate = rates[row["batch_id"], row["epoch"], row["stratum"]]
        key = (
            row["version__envelope_id"],
            row["version_id"],
            row["batch_id"],
            row["epoch"],
            row["stratum"],
            rate,
            _week(row["week"]),
            Kind.FRAME.value,
        )
        counts[key][0] += row["n"]
    drawn = _by_week(Sample.objects.all(), "accepted_at").values(
        "envelope_id",
        "version_id",
        "batch_id",
        "epoch",
        "stratum",
        "rate_ppm",
        "week",
        "in_base",
        "topped_up",
        "verdict",
    )
    for row in drawn.annotate(n=Count("pk")):
        kind = Kind.BASE if row["in_base"] else Kind.TOP_UP if row["topped_up"] else Kind.DESIGN
        key = (*(row[name] for name in SampleTally.KEY[:6]), _week(row["week"]), kind.value)
        counts[key][1] += row["n"]
        if row["verdict"]:
            counts[key][SampleTally.COUNTS.index(row["verdict"])] += row["n"]
    return dict(counts)


def _by_week(rows: QuerySet[Any], moment: str) -> QuerySet[Any]:
    return rows.order_by().annotate(week=TruncWeek(moment, tzinfo=UTC))


def _fields() -> Counts:
    counts: Counts = defaultdict(lambda: [0] * len(FieldTally.COUNTS))
    done = Grade.objects.filter(status=GradeStatus.DONE, task__sample__status=SampleStatus.SETTLED)
    rows = done.order_by("task__sample_id").values_list(
        "task__sample_id",
        "task__kind",
        "task__seat",
        "marks",
        "task__sample__envelope_id",
        "task__sample__version_id",
        "task__sample__batch_id",
        "task__sample__in_base",
    )
    deciding: dict[int, tuple[Any, ...]] = {}
    for row in rows.iterator(chunk_size=5_000):
        rank = (row[1] != TaskKind.ADJUDICATE, row[2])
        if row[0] not in deciding or rank < deciding[row[0]][0]:
            deciding[row[0]] = (rank, row)
    for _, (_, _, _, marks, envelope, version, batch, in_base) in deciding.values():
        for field, said in field_marks(marking.load(marks)).items():
            counts[envelope, version, batch, field, in_base][FieldTally.COUNTS.index(said)] += 1
    return dict(counts)


def _runs() -> Counts:
    counts: Counts = defaultdict(lambda: [0] * len(RunTally.COUNTS))
    rows = (
        _by_week(Run.objects.filter(status__in=ENDED), "outcome__created_at")
        .values("version__envelope_id", "version_id", "batch_id", "week", "status", "accepted_on", "fallback", "fuse")
        .annotate(n=Count("pk"), calls=Sum("calls"), tokens=Sum("tokens_counted"), duration=Sum("duration_ms"))
    )
    for row in rows:
        if row["week"] is None:
            continue  # ended by hand in a console: it has no outcome, and was never counted
        way = way_of(row["status"], row["accepted_on"], row["fallback"], row["fuse"])
        key = (row["version__envelope_id"], row["version_id"], row["batch_id"], _week(row["week"]), *way)
        for at, name in enumerate(("n", "calls", "tokens", "duration")):
            counts[key][at] += row[name]
    return dict(counts)


def _times() -> Counts:
    rows = Grade.objects.filter(status=GradeStatus.DONE).order_by().values("task__envelope_id")
    return {(row["task__envelope_id"],): [row["n"], row["ms"]] for row in rows.annotate(n=Count("pk"), ms=Sum("active_ms"))}
