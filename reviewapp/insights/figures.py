"""From kept counts to figures: which cells may be weighted or pooled, and which part of a sample may answer what.

One batch is estimated from its own cells (stratum in an epoch), top-ups included: within a cell the sample is a simple random
one. Over several batches, cells of the same stratum and rate are pooled, without top-ups: then every output of the cell had
the same chance. Trends, fields, lights and version comparisons use the base sample alone, which needs no weights at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db.models import Count, F, QuerySet, Sum

from controller import rates
from controller.agreement import (
    Agreement,
    CorrectedRate,
    CrossTable,
    Gold,
    agreement,
    corrected_rate,
)
from controller.comparison import Comparison, Pairs, Trend, compare_paired, compare_unpaired, trend
from controller.intervals import Interval, NoData, Refused, wilson
from controller.rates import Claim, FieldRate, LiveRate, Rate, Tally
from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.deadletters.models import BatchEffort
from reviewapp.insights.models import FieldTally, GradingTime, Kind, RunTally, SampleTally
from reviewapp.samples.models import Grade, GradeStatus, Sample, SampleStatus

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a figure is about: an envelope, or one version or batch of it."""

    envelope_id: int
    version_id: int | None = None
    batch_id: int | None = None

    def narrow(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        found = rows.filter(envelope_id=self.envelope_id)
        if self.version_id is not None:
            found = found.filter(version_id=self.version_id)
        return found if self.batch_id is None else found.filter(batch_id=self.batch_id)


COUNTS = {name: Sum(name) for name in SampleTally.COUNTS}


def sample_rows(scope: Scope) -> list[Row]:
    """The scope's counts with version and batch, one query."""
    rows = scope.narrow(SampleTally.objects.order_by())
    keys = ("version_id", "batch_id", "epoch", "stratum", "rate_ppm", "week", "kind")
    return list(rows.values(*keys).annotate(number=F("version__number"), **{f"n_{n}": s for n, s in COUNTS.items()}))


def tallies_of(rows: Iterable[Row]) -> list[Tally]:
    """The cells that an estimate over these rows is made of."""
    rows = list(rows)
    one_batch = len({row["batch_id"] for row in rows}) == 1
    cells: dict[tuple[Any, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        if row["kind"] == Kind.TOP_UP and not one_batch:
            continue
        cell = (row["stratum"], row["epoch"]) if one_batch else (row["stratum"], row["rate_ppm"])
        for name in SampleTally.COUNTS:
            cells[cell][name] += row[f"n_{name}"] or 0
    several = len({cell[0] for cell in cells}) < len(cells)
    return [_tally(_cell_name(cell, one_batch, several), counts) for cell, counts in sorted(cells.items())]


def _cell_name(cell: tuple[Any, ...], one_batch: bool, several: bool) -> str:
    name = str(cell[0]).replace("_", " ")
    if not several:
        return name
    return f"{name}, epoch {cell[1]}" if one_batch else f"{name} at {cell[1] / 10_000:g} %"


def _tally(name: str, counts: Mapping[str, int]) -> Tally:
    return Tally(name, counts["accepted"], counts["sampled"], counts["wrong"], counts["right"], counts["cannot_judge"])


def base_of(rows: Iterable[Row]) -> Tally:
    """The base sample over all strata. Its frame is everything accepted."""
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        if row["kind"] == Kind.FRAME:
            counts["accepted"] += row["n_accepted"] or 0
        elif row["kind"] == Kind.BASE:
            for name in SampleTally.COUNTS[1:]:
                counts[name] += row[f"n_{name}"] or 0
    return _tally("base", counts)


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table of rates: what it is about, the rate with everything that stands beside it, and the light."""

    name: str
    rate: Rate | NoData
    live: LiveRate
    tallies: tuple[Tally, ...] = ()
    query: str = ""
    closed: bool = False

    @property
    def has_rate(self) -> bool:
        return isinstance(self.rate, Rate)

    @property
    def sampled(self) -> int:
        return sum(t.sampled for t in self.tallies)

    @property
    def accepted(self) -> int:
        return sum(t.accepted for t in self.tallies)

    @property
    def resolved(self) -> int:
        return self.sampled - sum(t.unresolved for t in self.tallies)


def line(name: str, rows: Sequence[Row], limit: float, *, query: str = "", closed: bool = False) -> Line:
    """The rate over these rows."""
    tallies = tuple(tallies_of(rows))
    shown = rates.rate(tallies, is_closed=closed)
    return Line(name, shown, rates.live_rate(base_of(rows), limit), tallies, query, closed)


def lines_by(
    rows: Sequence[Row], key: Callable[[Row], Any], limit: float, name: Callable[[Any], str], query: Callable[[Any], str]
) -> list[Line]:
    """One line for each value of ``key``, in order."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return [line(name(found), groups[found], limit, query=query(found)) for found in sorted(groups)]


@dataclass(frozen=True, slots=True)
class Week:
    """The base sample of the outputs that were accepted in one week."""

    monday: date
    wrong: int
    graded: int
    sampled: int
    accepted: int
    interval: Interval | NoData


def weeks_of(rows: Sequence[Row]) -> list[Week]:
    """Base sample by week of acceptance, oldest first."""
    groups: dict[date, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["week"]].append(row)
    found = []
    for monday in sorted(groups):
        base = base_of(groups[monday])
        interval = wilson(base.wrong, base.graded) if base.graded else NoData("nothing graded yet")
        found.append(Week(monday, base.wrong, base.graded, base.sampled, base.accepted, interval))
    return found


def trend_of(weeks: Sequence[Week]) -> Trend | NoData:
    return trend([(week.wrong, week.graded - week.wrong) for week in weeks if week.graded])


def fields_of(scope: Scope, limit: float) -> tuple[FieldRate, ...]:
    """Each field over the graded base sample in which it applies, first those that are wrong most often."""
    rows = scope.narrow(FieldTally.objects.filter(is_base=True)).order_by().values("field")
    counted = {r["field"]: (r["w"], r["w"] + r["r"]) for r in rows.annotate(w=Sum("wrong"), r=Sum("right")) if r["w"] + r["r"]}
    found = rates.field_rates(dict(sorted(counted.items())), limit)
    return tuple(sorted(found, key=lambda f: (-f.wrong / f.graded, f.name)))


def cross_table(scope: Scope) -> CrossTable:
    """Outputs that two people graded without seeing each other; those that either could not judge are left out."""
    rows = scope.narrow(Sample.objects.exclude(second_verdict="")).order_by().values_list("first_verdict", "second_verdict")
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for first, second, number in rows.annotate(n=Count("pk")):
        counts[first, second] += number
    return CrossTable(counts["wrong", "wrong"], counts["wrong", "right"], counts["right", "wrong"], counts["right", "right"])


def gold_of(envelope_id: int) -> Gold:
    """What graders made of the gold items."""
    rows = (
        Grade.objects.filter(status=GradeStatus.DONE, task__gold__envelope=envelope_id)
        .exclude(verdict="cannot_judge")
        .order_by()
        .values_list("task__gold__answer", "verdict")
        .annotate(n=Count("pk"))
    )
    counts = {(answer, said): number for answer, said, number in rows}
    caught, missed = counts.get(("wrong", "wrong"), 0), counts.get(("wrong", "right"), 0)
    passed, accused = counts.get(("right", "right"), 0), counts.get(("right", "wrong"), 0)
    return Gold(caught, caught + missed, passed, passed + accused)


@dataclass(frozen=True, slots=True)
class Graders:
    """How far the grades can be trusted."""

    table: CrossTable
    agreement: Agreement | NoData
    gold: Gold
    corrected: CorrectedRate | Refused | NoData


def graders_of(scope: Scope, base: Tally) -> Graders:
    table, gold = cross_table(scope), gold_of(scope.envelope_id)
    return Graders(table, agreement(table), gold, corrected_rate(base.wrong, base.graded, gold))


@dataclass(frozen=True, slots=True)
class Compared:
    """Two versions: over the records that both were graded on, and over all graded outputs of each."""

    first: int
    second: int
    pairs: Pairs
    paired: Comparison | NoData
    counts: tuple[int, int, int, int]
    unpaired: Comparison | NoData


def compared(envelope_id: int, first: tuple[int, int], second: tuple[int, int]) -> Compared:
    """``first`` and ``second`` are (version id, version number). Base samples only, so that nothing needs a weight."""
    one, two = _verdicts(first[0]), _verdicts(second[0])
    both = [(one[key], two[key]) for key in one.keys() & two.keys()]
    pairs = Pairs(
        sum(1 for a, b in both if a and b),
        sum(1 for a, b in both if a and not b),
        sum(1 for a, b in both if b and not a),
        sum(1 for a, b in both if not a and not b),
    )
    counts = (sum(one.values()), len(one), sum(two.values()), len(two))
    return Compared(first[1], second[1], pairs, compare_paired(pairs), counts, compare_unpaired(*counts))


def _verdicts(version_id: int) -> dict[tuple[str, str], bool]:
    """(record id, document hash) → wrong, for the settled base sample of one version."""
    rows = Sample.objects.filter(version=version_id, in_base=True, status=SampleStatus.SETTLED).exclude(verdict="cannot_judge")
    found = rows.values_list("run__record__key", "run__record__document_sha256", "verdict")
    return {(key, sha): verdict == "wrong" for key, sha, verdict in found}


@dataclass(slots=True)
class Effort:
    """What finished runs took: accepted by attempt and by fallback, dead letters by fuse, or by fallback."""

    finished: int = 0
    accepted: int = 0
    calls: int = 0
    tokens: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    fallbacks: dict[str, int] = field(default_factory=dict)
    dead: dict[str, int] = field(default_factory=dict)
    grades: int = 0
    grading_ms: int = 0
    clearing_ms: int = 0

    @property
    def dead_letters(self) -> int:
        return sum(self.dead.values())

    @property
    def dead_rate(self) -> Interval | NoData:
        return wilson(self.dead_letters, self.finished) if self.finished else NoData("no run has finished yet")

    @property
    def calls_per_accepted(self) -> float | None:
        return self.calls / self.accepted if self.accepted else None

    @property
    def tokens_per_accepted(self) -> float | None:
        return self.tokens / self.accepted if self.accepted else None

    @property
    def seconds_per_grade(self) -> float | None:
        return self.grading_ms / self.grades / 1000 if self.grades and self.grading_ms else None

    @property
    def grading_minutes_per_record(self) -> float | None:
        return self.grading_ms / 60_000 / self.finished if self.finished and self.grading_ms else None

    @property
    def clearing_minutes_per_record(self) -> float | None:
        return self.clearing_ms / 60_000 / self.finished if self.finished else None


def effort_of(scope: Scope) -> Effort:
    """From the kept counts: three queries."""
    found = Effort()
    rows = scope.narrow(RunTally.objects.order_by()).values("way", "detail")
    for row in rows.annotate(n=Sum("runs"), c=Sum("calls"), t=Sum("tokens")).order_by("way", "detail"):
        found.finished += row["n"]
        found.calls += row["c"]
        found.tokens += row["t"]
        if row["way"] == "dead":
            found.dead[row["detail"]] = row["n"]
            continue
        found.accepted += row["n"]
        (found.fallbacks if row["way"] == "fallback" else found.attempts)[row["detail"]] = row["n"]
    time = GradingTime.objects.filter(envelope=scope.envelope_id).first()
    if time is not None:
        found.grades, found.grading_ms = time.grades, time.active_ms
    cleared = BatchEffort.objects.filter(batch__version__envelope=scope.envelope_id)
    if scope.version_id is not None:
        cleared = cleared.filter(batch__version=scope.version_id)
    if scope.batch_id is not None:
        cleared = cleared.filter(batch=scope.batch_id)
    found.clearing_ms = cleared.aggregate(ms=Sum("spent_ms"))["ms"] or 0
    return found


def claim_of(tallies: Sequence[Tally], *, closed: bool, missing_as_wrong: bool = False) -> Claim | Refused | NoData:
    return rates.claim_at_most(tallies, is_closed=closed, missing_as_wrong=missing_as_wrong)


def is_closed(scope: Scope) -> bool:
    """Whether the scope is one closed batch: only then is the frame complete."""
    return scope.batch_id is not None and Batch.objects.filter(pk=scope.batch_id, status=BatchStatus.CLOSED).exists()
