"""What a breaker rule would do: by the exact chain, and on batches that have been."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.breaker import Counter, Rule, description, replay
from controller.breaker_planner import delay, mean_run, trip_probability
from reviewapp.batches.models import Batch, BreakerStep

PAST = 12
MOST_STEPS = 20_000
QUANTILES = (0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Forecast:
    """``false_pause`` is a chance within ``records``; delays are records at the bad rate, ``None`` beyond the horizon."""

    sentence: str
    false_pause: float
    records: int
    mean_between: float | None
    median_delay: int | None
    late_delay: int | None


def forecast(rule: Rule, counter: Counter, *, normal: float, bad: float, records: int) -> Forecast:
    """Exact, for records that are independent. ``normal`` and ``bad`` are shares."""
    median, late = (delay(counter, bad, quantile) for quantile in QUANTILES)
    between = mean_run(counter, normal) if normal else None
    return Forecast(description(counter, rule), trip_probability(counter, normal, records), records, between, median, late)


@dataclass(frozen=True, slots=True)
class Past:
    """One past batch under the rule: paused after so many counted, or never."""

    batch: Batch
    counted: int
    bad: int
    paused_at: int | None
    highest: float


def past(rule: Rule, counter: Counter, envelope_id: int) -> list[Past]:
    """The newest batches of the envelope, replayed from their stored order of endings or grades."""
    found = []
    batches = Batch.objects.filter(version__envelope=envelope_id).select_related("version__envelope")
    for batch in batches.defer("version__source", "version__canonical").order_by("-pk")[:PAST]:
        outcomes = outcomes_of(batch.pk, rule)
        if outcomes:
            told = replay(counter, outcomes)
            highest = max(told.excesses) / 100
            found.append(Past(batch, len(outcomes), sum(outcomes), told.tripped_at, highest))
    return found


def outcomes_of(batch_id: int, rule: Rule) -> list[bool]:
    """What the rule counted in this batch, in order; resumes and undone grades left out."""
    rows: Any = BreakerStep.objects.filter(batch=batch_id, rule=rule.value, undone=False).exclude(kind="resumed")
    return list(rows.order_by("number").values_list("is_bad", flat=True)[:MOST_STEPS])


def excesses_of(batch_id: int, rule: Rule) -> list[int]:
    """The counter after each step as it was stored, resumes included."""
    rows = BreakerStep.objects.filter(batch=batch_id, rule=rule.value, undone=False).order_by("-number")
    return list(rows.values_list("excess", flat=True)[:MOST_STEPS])[::-1]
