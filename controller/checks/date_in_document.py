"""The document prints this date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, Reporter, Subject, reporter, require_named
from controller.checks.dates import Order, date_text, printed_dates
from controller.document import Document
from controller.pointer import resolve
from controller.report import Finding, Span

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``format`` is how the reply writes the date (``iso`` is 2024-03-05), ``orders`` how the document may print it;
    month names are English. Two-digit years fall into the hundred years that begin with ``two_digit_years_from``.
    """

    kind: Literal["date_in_document"] = "date_in_document"
    at: Pattern
    format: Literal["iso", "dmy", "mdy", "ymd"] = "iso"
    orders: Annotated[tuple[Order, ...], Field(min_length=1, max_length=3)]
    two_digit_years_from: Annotated[int, Field(ge=1900, le=2000)] = 1970


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    say = reporter(spec, contract)

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, say)

    return check


def stated_date(value: object, spec: Spec) -> date | None:
    """The date that the reply states, ``None`` where it is none in the declared format."""
    text = date_text(value) if isinstance(value, str) else None
    if text is None or not isinstance(value, str):
        return None
    if spec.format == "iso":
        return _iso(value)
    readings = text.readings((Order(spec.format),), spec.two_digit_years_from)
    return readings.pop() if len(readings) == 1 else None


def _iso(text: str) -> date | None:
    if len(text) != 10:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _places(document: Document, wanted: date, spec: Spec) -> tuple[list[Span], list[Span]]:
    """Where the document prints the date, and where only one of several readings would be it."""
    sure: list[Span] = []
    ambiguous: list[Span] = []
    for text, span in printed_dates(document):
        readings = text.readings(spec.orders, spec.two_digit_years_from)
        if wanted in readings:
            (sure if len(readings) == 1 else ambiguous).append(span)
    return sure, ambiguous


_WORDS: Mapping[str, str] = {
    "iso": "YYYY-MM-DD",
    "dmy": "day, month, year",
    "mdy": "month, day, year",
    "ymd": "year, month, day",
}


def _findings(subject: Subject, spec: Spec, say: Reporter) -> Iterator[Finding]:
    for pointer, value in resolve(subject.value, spec.at):
        if value is None:
            continue
        wanted = stated_date(value, spec)
        if wanted is None:
            yield say.failed(pointer, f"a date written as {_WORDS[spec.format]}")
            continue
        sure, ambiguous = _places(subject.document, wanted, spec)
        if sure:
            yield say.passed(pointer, spans=sure, match="date")
        elif ambiguous:
            expected = "a date that the document prints in one way of reading only"
            yield say.failed(pointer, expected, aspect="ambiguous", spans=ambiguous, match="ambiguous")
        else:
            yield say.failed(pointer, "a date that the document prints")
