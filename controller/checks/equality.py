"""Whether a computed amount equals a stated one, under every way of reading both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, DecimalException
from enum import StrEnum

from controller.checks.base import Reporter
from controller.checks.numbers import EXACT, Locale, read_together
from controller.report import Finding

Operation = Callable[[Sequence[Decimal]], Decimal]


class Verdict(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    AMBIGUOUS = "ambiguous"
    UNREADABLE = "unreadable"


def total(numbers: Sequence[Decimal]) -> Decimal:
    result = Decimal(0)
    for number in numbers:
        result = EXACT.add(result, number)
    return result


def product(numbers: Sequence[Decimal]) -> Decimal:
    result = Decimal(1)
    for number in numbers:
        result = EXACT.multiply(result, number)
    return result


def difference(numbers: Sequence[Decimal]) -> Decimal:
    return EXACT.subtract(numbers[0], total(numbers[1:]))


def holds(operation: Operation, operands: Sequence[object], stated: object, locale: Locale, tolerance: Decimal) -> Verdict:
    """Whether ``operation(operands)`` is within ``tolerance`` of ``stated``.

    All values are read under one convention at a time: an equation that holds in one reading and not in another is ambiguous.
    """
    ways = read_together([*operands, stated], locale)
    if not ways:
        return Verdict.UNREADABLE
    verdicts = {_is_near(operation(way[:-1]), way[-1], tolerance) for way in ways}
    if len(verdicts) > 1:
        return Verdict.AMBIGUOUS
    return Verdict.HOLDS if verdicts == {True} else Verdict.FAILS


def _is_near(computed: Decimal, stated: Decimal, tolerance: Decimal) -> bool:
    return EXACT.abs(EXACT.subtract(computed, stated)) <= tolerance


def equation_finding(
    say: Reporter,
    pointer: str,
    expected: str,
    *,
    operation: Operation,
    operands: Sequence[object],
    stated: object,
    locale: Locale,
    tolerance: Decimal,
) -> Finding:
    """The finding of one equation, at the place that states its result."""
    try:
        verdict = holds(operation, operands, stated, locale, tolerance)
    except DecimalException:
        return say.failed(pointer, "amounts that can be computed exactly")
    if verdict is Verdict.HOLDS:
        return say.passed(pointer, expected)
    if verdict is Verdict.AMBIGUOUS:
        return say.failed(pointer, f"{expected}, in every way of reading the numbers", aspect="ambiguous", match="ambiguous")
    if verdict is Verdict.UNREADABLE:
        return say.failed(pointer, f"{expected}, all of them numbers")
    return say.failed(pointer, expected)
