"""Keeping the counts behind the quality pages with every acceptance, draw, grade and finished run, in the same transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, models, transaction

from reviewapp import statements
from reviewapp.insights.models import FieldTally, GradingTime, Kind, RunTally, SampleTally
from reviewapp.runs.models import Run
from reviewapp.samples.marks import LEFT_OUT

if TYPE_CHECKING:
    from reviewapp.samples.models import Sample


def week_of(moment: datetime) -> date:
    """The Monday of its week, in UTC: the same whatever zone the pages show."""
    day = moment.astimezone(UTC).date()
    return day - timedelta(days=day.weekday())


def add(model: type[models.Model], key: Mapping[str, Any], **counts: int) -> None:
    """Adds to one row's counts, and makes the row where there is none. Safe under concurrency on both databases."""
    changes = {name: by for name, by in counts.items() if by}
    if not changes or statements.increase(model, key, **changes):
        return
    try:
        with transaction.atomic():
            model._default_manager.create(**key, **counts)
    except IntegrityError:
        statements.increase(model, key, **changes)


def kind_of(sample: Sample) -> Kind:
    """Which part of its cell a sampled output counts in."""
    if sample.in_base:
        return Kind.BASE
    return Kind.TOP_UP if sample.topped_up else Kind.DESIGN


def accepted(run: Run, epoch: int, stratum: str, rate_ppm: int, at: datetime) -> None:
    """One more accepted output in its cell."""
    key = {
        "envelope_id": run.version.envelope_id,
        "version_id": run.version_id,
        "batch_id": run.batch_id,
        "epoch": epoch,
        "stratum": stratum,
        "rate_ppm": rate_ppm,
        "week": week_of(at),
        "kind": Kind.FRAME.value,
    }
    add(SampleTally, key, accepted=1)


def sample_key(sample: Sample) -> dict[str, Any]:
    return {
        "envelope_id": sample.envelope_id,
        "version_id": sample.version_id,
        "batch_id": sample.batch_id,
        "epoch": sample.epoch,
        "stratum": sample.stratum,
        "rate_ppm": sample.rate_ppm,
        "week": week_of(sample.accepted_at),
        "kind": kind_of(sample).value,
    }


def sampled(sample: Sample) -> None:
    """One more sampled output in its cell."""
    add(SampleTally, sample_key(sample), sampled=1)


def settled(sample: Sample, marks: Mapping[str, Mapping[str, Any]], by: int = 1) -> None:
    """A verdict that counts from now on; ``by=-1`` for one that was taken back."""
    add(SampleTally, sample_key(sample), **{sample.verdict: by})
    key = {"envelope_id": sample.envelope_id, "version_id": sample.version_id, "batch_id": sample.batch_id}
    for field, mark in field_marks(marks).items():
        add(FieldTally, {**key, "field": field, "is_base": sample.in_base}, **{mark: by})


_INDEX = re.compile(r"/\d+(?=/|$)")
_WORST = ("wrong", "cannot_judge", "right")


def field_of(pointer: str) -> str:
    """The field that a pointer belongs to: ``/items/3/price`` is ``/items/*/price``."""
    return _INDEX.sub("/*", pointer)[:300]


def field_marks(marks: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """One mark per field and output: wrong where any of its places is, else not judged where any is not, else right.

    That nothing was left out is a mark too: each output either leaves something out or does not.
    """
    found: dict[str, str] = {LEFT_OUT: "right"}
    for pointer, mark in marks.items():
        field, said = field_of(pointer), mark["mark"]
        before = found.get(field, "right")
        found[field] = min(before, said, key=_WORST.index)
    return dict(sorted(found.items()))


def graded(envelope_id: int, active_ms: int, by: int = 1) -> None:
    """One more grade with the time it took."""
    add(GradingTime, {"envelope_id": envelope_id}, grades=by, active_ms=by * active_ms)


def way_of(status: str, accepted_on: int | None, fallback: str, fuse: str) -> tuple[str, str]:
    """What ended a run, as the tallies name it."""
    if status == "accepted":
        return ("fallback", fallback) if fallback else ("attempt", str(accepted_on or 0))
    return "dead", fuse or fallback or "person"


def finished(run: Run, way: tuple[str, str], *, calls: int, tokens: int, duration_ms: int, at: datetime) -> None:
    """One more finished run."""
    key = {
        "envelope_id": run.version.envelope_id,
        "version_id": run.version_id,
        "batch_id": run.batch_id,
        "week": week_of(at),
        "way": way[0],
        "detail": way[1],
    }
    add(RunTally, key, runs=1, calls=calls, tokens=tokens, duration_ms=duration_ms)
