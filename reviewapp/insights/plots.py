"""The plots as plain data: kind, rows, a title, and a sentence that says what the picture shows. Drawn in static/js/plots.js.

Every plot also is a table: ``header`` and ``cells`` hold the same numbers for people who do not see the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.breaker import Counter
from controller.intervals import NoData
from controller.rates import Rate
from controller.sequential import live_interval
from reviewapp.insights.figures import Effort, Line, Scope, Week
from reviewapp.samples.models import Sample, SampleStatus

LOOKS = 60
"""Points of the live interval at most; between them it is not recomputed."""

MOST_GRADES = 5_000
Plot = dict[str, Any]


def pct(share: float) -> str:
    return f"{100 * share:.1f} %"


def _plot(kind: str, title: str, summary: str, header: Sequence[str], cells: Sequence[Sequence[str]], **data: Any) -> Plot:
    return {"kind": kind, "title": title, "summary": summary, "header": list(header), "cells": [list(c) for c in cells], **data}


def intervals(title: str, lines: Sequence[Line], limit: float) -> Plot | None:
    """One interval per line; lines without data are in the table only."""
    known = [(line, line.rate) for line in lines if isinstance(line.rate, Rate)]
    if not known:
        return None
    rows = [
        {"name": line.name, "low": rate.interval.low, "high": rate.interval.high, "point": rate.point} for line, rate in known
    ]
    cells = [
        (
            line.name,
            f"{'' if rate.point is None else pct(rate.point) + ': '}{pct(rate.interval.low)} to {pct(rate.interval.high)}",
            f"{rate.wrong} of {rate.graded}",
        )
        for line, rate in known
    ]
    above = [line.name for line, rate in known if rate.interval.low > limit]
    said = f"{' and '.join(above)} lie{'' if above[1:] else 's'} wholly above" if above else "None lies wholly above"
    summary = f"{len(known)} interval{'s' if len(known) > 1 else ''} of 95 %. {said} the limit of {pct(limit)}."
    return _plot("intervals", title, summary, ("", "Rate: 95 % interval", "Wrong of graded"), cells, rows=rows, limit=limit)


def weeks(found: Sequence[Week], limit: float) -> Plot | None:
    """The base sample by week."""
    known = [(week, week.interval) for week in found if not isinstance(week.interval, NoData)]
    if not known:
        return None
    rows = [
        {"name": week.monday.isoformat(), "low": i.low, "high": i.high, "point": week.wrong / week.graded} for week, i in known
    ]
    cells = [(w.monday.isoformat(), f"{pct(i.low)} to {pct(i.high)}", f"{w.wrong} of {w.graded}") for w, i in known]
    summary = f"{len(known)} week{'s' if len(known) > 1 else ''} with grades; Wilson intervals of the base sample."
    header = ("Week from", "95 % interval", "Wrong of graded")
    return _plot("intervals", "Base sample by week", summary, header, cells, rows=rows, limit=limit)


def live(scope: Scope, found: Sequence[Week], limit: float) -> Plot | None:
    """The live interval narrowing: grade by grade up to a size, beyond it week by week."""
    counts = _by_grade(scope) if sum(week.graded for week in found) <= MOST_GRADES else _by_week(found)
    if not counts:
        return None
    rows = []
    for k, n in counts:
        interval = live_interval(k, n)
        rows.append({"n": n, "low": interval.low, "high": interval.high, "point": k / n})
    (k, n), last = counts[-1], rows[-1]
    summary = f"After {n} grades of the base sample, {k} wrong: {pct(last['low'])} to {pct(last['high'])}; limit {pct(limit)}."
    cells = [(str(row["n"]), f"{pct(row['low'])} to {pct(row['high'])}") for row in rows]
    return _plot("live", "Live interval as grades come in", summary, ("Grades", "Live interval"), cells, rows=rows, limit=limit)


def _by_grade(scope: Scope) -> list[tuple[int, int]]:
    rows = scope.narrow(Sample.objects.filter(in_base=True, status=SampleStatus.SETTLED))
    verdicts = list(rows.order_by("settled_at", "pk").values_list("verdict", flat=True)[:MOST_GRADES])
    step = max(1, -(-len(verdicts) // LOOKS))
    counts, wrong = [], 0
    for n, verdict in enumerate(verdicts, start=1):
        wrong += verdict != "right"
        if n % step == 0 or n == len(verdicts):
            counts.append((wrong, n))
    return counts


def _by_week(found: Sequence[Week]) -> list[tuple[int, int]]:
    counts, k, n = [], 0, 0
    for week in found:
        k, n = k + week.wrong, n + week.graded
        if week.graded:
            counts.append((k, n))
    return counts[-LOOKS:]


def counter(title: str, excesses: Sequence[int], rule: Counter) -> Plot | None:
    """The excess counter against its limit, in records."""
    if not excesses:
        return None
    rows = [{"n": number, "excess": excess / 100} for number, excess in enumerate(excesses, start=1)]
    highest = max(excesses) / 100
    summary = f"{len(rows)} counted; now {excesses[-1] / 100:g}, highest {highest:g}; the batch pauses at {rule.h}."
    step = max(1, len(rows) // LOOKS)
    cells = [(str(row["n"]), f"{row['excess']:g}") for row in rows if row["n"] % step == 0 or row["n"] == len(rows)]
    return _plot("counter", title, summary, ("After", "Counter"), cells, rows=rows, limit=rule.h)


def funnel(effort: Effort, whole: Line) -> Plot | None:
    """From record to outcome."""
    if not effort.finished:
        return None
    names = [(f"Accepted on attempt {at}", count) for at, count in sorted(effort.attempts.items(), key=lambda i: int(i[0]))]
    names += [(f"Accepted by {at}", count) for at, count in sorted(effort.fallbacks.items())]
    names += [("Dead letters", effort.dead_letters)]
    rows = [{"name": "Finished", "count": effort.finished}, *({"name": n, "count": c} for n, c in names)]
    rows += [{"name": "Sampled", "count": whole.sampled}, {"name": "With a verdict", "count": whole.resolved}]
    ended = f"{effort.accepted:,} were accepted and {effort.dead_letters:,} went to a person"
    summary = f"Of {effort.finished:,} finished records {ended}."
    cells = [(str(row["name"]), f"{row['count']:,} of {effort.finished:,}") for row in rows]
    return _plot("funnel", "From record to outcome", summary, ("", "Records"), cells, rows=rows)
