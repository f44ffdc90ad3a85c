"""Every figure with its inputs, as JSON and as CSV: who has the file can compute the figures again."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

from controller.rates import Rate, Tally
from reviewapp.insights.figures import Line
from reviewapp.insights.page import Page

FORMAT = "countersign.quality/1"


def as_json(page: Page) -> dict[str, Any]:
    """Plain data. Shares are of 1; each rate has its cells, its method and its counts beside it."""
    return {
        "format": FORMAT,
        "envelope": page.envelope.slug,
        "scope": page.choice.words,
        "limit": page.limit,
        "whole": _line(page.whole),
        "claim": _plain(page.claim),
        "base_sample": _plain(page.base),
        "versions": [_line(line) for line in page.versions],
        "batches": [_line(line) for line in page.batches],
        "strata": [_line(line) for line in page.strata],
        "fields": [_plain(found) for found in page.fields],
        "weeks": [{**_plain(week), "monday": week.monday.isoformat()} for week in page.weeks],
        "trend": _plain(page.trend),
        "graders": {
            "cross_table": _plain(page.graders.table),
            "agreement": _plain(page.graders.agreement),
            "gold": _plain(page.graders.gold),
            "corrected_rate": _plain(page.graders.corrected),
        },
        "effort": _plain(page.effort),
        "compared": _plain(page.compared) if page.compared else None,
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "name": line.name,
        "rate": _plain(line.rate),
        "text": line.rate.text if isinstance(line.rate, Rate) else f"no data: {line.rate.reason}",
        "live": _plain(line.live),
        "cells": [_plain(tally) for tally in line.tallies],
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": type(value).__name__, **asdict(value)}
    return value


HEADER = (
    "what",
    "name",
    "cell",
    "accepted",
    "sampled",
    "wrong",
    "right",
    "cannot_judge",
    "unresolved",
    "point",
    "low",
    "high",
    "method",
    "confidence",
    "band_low",
    "band_high",
    "light",
    "limit",
)


def as_csv(page: Page) -> str:
    """One row per figure, then one per cell that it is made of."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADER)
    for what, lines in (
        ("whole", [page.whole]),
        ("version", page.versions),
        ("batch", page.batches),
        ("stratum", page.strata),
    ):
        for line in lines:
            writer.writerows(_rows(what, line, page.limit))
    return out.getvalue()


def _rows(what: str, line: Line, limit: float) -> Iterator[list[Any]]:
    yield [what, safe(line.name), "", *_counts(line.tallies), *_figure(line), line.live.light.value, limit]
    for tally in line.tallies:
        yield [what, safe(line.name), safe(tally.stratum), *_counts([tally]), *[""] * 8, limit]


def _counts(tallies: Any) -> list[int]:
    found: list[Tally] = list(tallies)
    names = ("accepted", "sampled", "wrong", "right", "cannot_judge", "unresolved")
    return [sum(getattr(tally, name) for tally in found) for name in names]


def _figure(line: Line) -> list[Any]:
    rate = line.rate
    if not isinstance(rate, Rate):
        return ["", "", "", "", "", "", ""]
    interval = rate.interval
    return [
        "" if rate.point is None else rate.point,
        interval.low,
        interval.high,
        interval.method.value,
        interval.confidence,
        rate.band.low,
        rate.band.high,
    ]


def safe(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
