"""Printed dates: the orders in which day, month and year may stand, and the dates that a text can mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import re2

from controller.checks.numbers import flatten_marks
from controller.document import Document
from controller.report import Span


class Order(StrEnum):
    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"


_NAMES = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTHS: Mapping[str, int] = {
    name[:length]: number for number, name in enumerate(_NAMES, start=1) for length in (3, len(name))
} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))

_NUMERIC = r"(?P<a>\d{1,4})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{4}|\d{1,2})"
_COMPACT = r"(?P<compact>(?:19|20)\d{6})"
_NAMED_DMY = rf"(?P<day1>\d{{1,2}})(?:st|nd|rd|th)?[ ./-]{{0,2}}(?P<month1>{_MONTH})[ .,/'-]{{1,2}}(?P<year1>\d{{4}}|\d{{2}})"
_NAMED_MDY = rf"(?P<month2>{_MONTH})\.?[ -](?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,? ?(?:[ '-])(?P<year2>\d{{4}}|\d{{2}})"
_NAMED_YMD = rf"(?P<year3>\d{{4}})[ ./-](?P<month3>{_MONTH})[ ./-](?P<day3>\d{{1,2}})"
_DATE = re.compile(
    rf"(?<![\w])(?<!\d[./-])(?:{_NUMERIC}|{_COMPACT}|{_NAMED_YMD}|{_NAMED_DMY}|{_NAMED_MDY})(?![./]?\d|-\d(?!\d?:))(?![^\W\dTt_])",
    re.IGNORECASE,
)

_ABBREVIATION = "|".join(name[:3] for name in _NAMES)
_HINT = re2.compile(
    rf"(?i)\d[./-]\d{{1,2}}[./-]\d|(?:19|20)\d{{6}}|\d[a-z]{{0,2}}[ ./-]{{0,2}}(?:{_ABBREVIATION})"
    rf"|(?:{_ABBREVIATION})[a-z]{{0,6}}\.?[ -]\d"
)
"""Where a date may be: one fast pass, so that the exact expression looks at a few windows and not at every character."""
_MARGIN = 48


@dataclass(frozen=True, slots=True)
class DateText:
    """A printed date. ``parts`` are its three numbers as printed, in ``order``, or in any order where that is ``None``."""

    parts: tuple[str, str, str]
    order: Order | None

    def readings(self, orders: Sequence[Order], pivot: int) -> set[date]:
        """Every date of the calendar that it can mean. A month name or a year in front settles the order by itself."""
        return {
            read for order in ((self.order,) if self.order else orders) if (read := _read(self.parts, order, pivot)) is not None
        }


def _read(parts: tuple[str, str, str], order: Order, pivot: int) -> date | None:
    by_letter = dict(zip(order.value, parts, strict=True))
    if len(by_letter["d"]) > 2 or len(by_letter["m"]) > 2 or len(by_letter["y"]) not in (2, 4):
        return None
    year = int(by_letter["y"])
    if len(by_letter["y"]) == 2:
        year += pivot // 100 * 100
        year += 100 if year < pivot else 0
    try:
        return date(year, int(by_letter["m"]), int(by_letter["d"]))
    except ValueError:
        return None


def _date_text(found: re.Match[str]) -> DateText:
    if found["compact"]:
        text = found["compact"]
        return DateText((text[:4], text[4:6], text[6:]), Order.YMD)
    for place in "123":
        if month := found[f"month{place}"]:
            return DateText((found[f"day{place}"], str(_MONTHS[month.lower()]), found[f"year{place}"]), Order.DMY)
    order = Order.YMD if len(found["a"]) == 4 else None
    return DateText((found["a"], found["b"], found["c"]), order)


def date_text(text: str) -> DateText | None:
    """The whole text as one date, or ``None``."""
    found = _DATE.fullmatch(flatten_marks(text.strip()))
    return _date_text(found) if found else None


def printed_dates(document: Document) -> Iterable[tuple[DateText, Span]]:
    """Every date that the document prints."""
    return document.derived("dates", _find)


def _find(text: str) -> tuple[tuple[DateText, Span], ...]:
    plain = flatten_marks(text)
    found: dict[tuple[int, int], DateText] = {}
    covered = 0
    for hint in _HINT.finditer(plain):
        start, end = hint.span()
        if start < covered:
            continue
        begin = max(0, start - _MARGIN)
        for near in _DATE.finditer(plain[begin : end + _MARGIN]):
            place = (begin + near.start(), begin + near.end())
            if place[0] < end and start < place[1]:
                found.setdefault(place, _date_text(near))
                covered = max(covered, place[1])
    return tuple((date, Span(*place)) for place, date in sorted(found.items(), key=lambda item: item[0]))
