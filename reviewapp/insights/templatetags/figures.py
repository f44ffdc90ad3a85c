"""Figures for people. There is deliberately no filter that prints a rate alone."""

from __future__ import annotations

from django import template

from controller.intervals import CountInterval, Interval, NoData, Refused
from controller.rates import Claim, Rate

register = template.Library()


@register.filter
def percent(share: float | None) -> str:
    """``0.0512`` → ``5.1 %``. For limits, levels and counts of everything; an estimate goes by ``span`` beside it."""
    return "–" if share is None else f"{100 * share:.1f} %"


@register.filter
def ppm(rate: int) -> str:
    """Parts per million as percent: ``5000`` → ``0.5 %``."""
    return f"{rate / 10_000:g} %"


@register.filter
def span(interval: Interval | CountInterval | NoData | None) -> str:
    """An interval; "no data" where there is none."""
    if isinstance(interval, CountInterval):
        return f"{interval.low:,}–{interval.high:,} of {interval.accepted:,}"
    if isinstance(interval, Interval):
        return f"{100 * interval.low:.1f}–{100 * interval.high:.1f} %"
    return "no data"


@register.filter
def difference(interval: Interval) -> str:
    """An interval of a difference, in points."""
    return f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f} points"


@register.filter
def headline(rate: Rate | NoData) -> str:
    """The estimate with its interval, or why there is none."""
    if isinstance(rate, NoData):
        return "no data"
    low_high = span(rate.interval)
    return f"between {low_high}" if rate.point is None else f"{100 * rate.point:.1f} % ({low_high})"


@register.filter
def why_not(value: object) -> str:
    """The reason for which something is not shown; empty where it is."""
    return value.reason if isinstance(value, NoData | Refused) else ""


@register.filter
def is_data(value: object) -> bool:
    return not isinstance(value, NoData | Refused | None)


@register.filter
def claim(value: Claim | Refused | NoData) -> str:
    """The sentence that may go into a report, or why it may not."""
    if isinstance(value, Claim):
        return value.text
    return f"withheld: {value.reason}" if isinstance(value, Refused) else f"no data: {value.reason}"


@register.filter
def minutes(grades: int | None, seconds: float | None) -> str:
    """What so many grades take, once grading time was measured."""
    if grades is None or seconds is None:
        return "–"
    return f"{grades * seconds / 60:,.0f} min"


@register.filter
def p_value(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "below 0.0001"


@register.filter
def share_of(part: int, whole: int) -> str:
    """A counted share of everything there is: no estimate, so it needs no interval."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


@register.filter
def two(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
