"""Everything the quality page of one envelope shows, worked out before the template sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controller.comparison import Trend
from controller.intervals import Interval, NoData, Refused
from controller.rates import Claim, FieldRate, Rate, Tally
from reviewapp.batches.models import Batch
from reviewapp.batches.rules import rules_of
from reviewapp.envelopes.models import Envelope, Version
from reviewapp.insights import figures, plots
from reviewapp.insights.figures import Compared, Effort, Graders, Line, Row, Scope, Week

DEFAULT_LIMIT = 0.10
MOST_LINES = 30


@dataclass(frozen=True, slots=True)
class Choice:
    """What the reader narrowed the page to."""

    version: Version | None = None
    batch: Batch | None = None

    @property
    def words(self) -> str:
        if self.batch is not None:
            return f"batch {self.batch.name}"
        return f"version {self.version.number}" if self.version is not None else "all versions and batches"


@dataclass(frozen=True, slots=True)
class Page:
    """The figures of one scope. ``limit`` is the signed silent-failure limit, as a share."""

    envelope: Envelope
    choice: Choice
    limit: float
    whole: Line
    claim: Claim | Refused | NoData
    base: Tally
    versions: list[Line]
    batches: list[Line]
    more_batches: int
    strata: list[Line]
    fields: tuple[FieldRate, ...]
    weeks: list[Week]
    trend: Trend | NoData
    graders: Graders
    effort: Effort
    plots: dict[str, Any]
    compared: Compared | None = None


def limit_of(envelope: Envelope, choice: Choice) -> float:
    """The silent-failure limit of the version looked at, else of the newest approved one."""
    version = choice.version or (choice.batch.version if choice.batch is not None else None)
    if version is None:
        version = envelope.versions.filter(status="approved").order_by("-number").first()
    return rules_of(version).silent_limit if version is not None and version.canonical else DEFAULT_LIMIT


def page(envelope: Envelope, choice: Choice, pair: tuple[tuple[int, int], tuple[int, int]] | None) -> Page:
    """A fixed number of queries over kept counts, whatever the number of outputs."""
    batch, version = choice.batch, choice.version
    scope = Scope(envelope.pk, version.pk if version else None, batch.pk if batch else None)
    limit, closed = limit_of(envelope, choice), figures.is_closed(scope)
    rows = figures.sample_rows(scope)
    whole = figures.line(choice.words, rows, limit, closed=closed)
    base = figures.base_of(rows)
    weeks = figures.weeks_of(rows)
    versions = [] if batch else _by_version(rows, limit)
    batches, more = ([], 0) if batch else _by_batch(rows, limit)
    effort = figures.effort_of(scope)
    return Page(
        envelope=envelope,
        choice=choice,
        limit=limit,
        whole=whole,
        claim=figures.claim_of(whole.tallies, closed=closed),
        base=base,
        versions=versions,
        batches=batches,
        more_batches=more,
        strata=figures.lines_by(rows, lambda r: r["stratum"], limit, lambda s: s.replace("_", " "), lambda s: f"stratum={s}"),
        fields=figures.fields_of(scope, limit),
        weeks=weeks,
        trend=figures.trend_of(weeks),
        graders=figures.graders_of(scope, base),
        effort=effort,
        plots={
            "versions": plots.intervals("Rate by version", versions, limit),
            "weeks": plots.weeks(weeks, limit),
            "live": plots.live(scope, weeks, limit),
            "funnel": plots.funnel(effort, whole),
        },
        compared=figures.compared(envelope.pk, *pair) if pair else None,
    )


def _by_version(rows: Sequence[Row], limit: float) -> list[Line]:
    return figures.lines_by(rows, lambda r: r["number"], limit, lambda n: f"v{n}", lambda n: f"version={n}")


def _by_batch(rows: Sequence[Row], limit: float) -> tuple[list[Line], int]:
    """The newest batches first; how many more there are."""
    ids = sorted({row["batch_id"] for row in rows}, reverse=True)
    shown = ids[:MOST_LINES]
    known = dict(Batch.objects.filter(pk__in=shown).values_list("pk", "name"))
    status = dict(Batch.objects.filter(pk__in=shown).values_list("pk", "status"))
    found = [
        figures.line(
            known[pk], [r for r in rows if r["batch_id"] == pk], limit, query=f"batch={pk}", closed=status[pk] == "closed"
        )
        for pk in shown
    ]
    return found, len(ids) - len(shown)


def span(interval: Interval | NoData) -> str:
    """An interval in percent; the reason where there is none."""
    if isinstance(interval, NoData):
        return "no data"
    return f"{100 * interval.low:.1f}–{100 * interval.high:.1f} %"


def rate_words(rate: Rate | NoData) -> str:
    """The one line of a rate; never a bare percentage."""
    return f"no data: {rate.reason}" if isinstance(rate, NoData) else rate.text
