"""An equation between fields, for the whole reply or for every item: quantity times price is the line total."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from controller.checks.base import (
    PATH_FACT,
    Amount,
    Check,
    CheckSpec,
    NonNegative,
    Pattern,
    Reporter,
    Subject,
    reporter,
    require_named,
)
from controller.checks.equality import Operation, difference, equation_finding, product, total
from controller.checks.numbers import Locale
from controller.pointer import resolve
from controller.report import JSON, Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``of`` are pointers (from ``scope`` on) or fixed numbers; ``equals`` states the result. ``difference`` takes all later
    operands from the first. Where an operand is absent or null nothing is said. Fixed numbers are exact.
    """

    kind: Literal["arithmetic"] = "arithmetic"
    scope: Pattern = ""
    operation: Literal["product", "sum", "difference"]
    of: Annotated[tuple[Pattern | Amount, ...], Field(min_length=1, max_length=20)]
    equals: Pattern
    tolerance: NonNegative = Decimal(0)
    locale: Locale = Locale.PLAIN


_OPERATIONS: Mapping[str, tuple[Operation, str]] = {
    "product": (product, " × "),
    "sum": (total, " + "),
    "difference": (difference, " - "),
}


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "scope", spec.scope)
    require_named(contract, "of", *(spec.scope + operand for operand in spec.of if isinstance(operand, str)))
    require_named(contract, "equals", spec.scope + spec.equals)
    say = reporter(spec, contract)

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, say)

    return check


def _operands(scoped: JSON, spec: Spec) -> list[JSON] | None:
    """The operands in their order, ``None`` where one is missing."""
    gathered: list[JSON] = []
    for operand in spec.of:
        places: list[JSON] = [operand] if isinstance(operand, Decimal) else [node for _, node in resolve(scoped, operand)]
        if not places or None in places:
            return None
        gathered += places
    return gathered


def _findings(subject: Subject, spec: Spec, say: Reporter) -> Iterator[Finding]:
    operation, sign = _OPERATIONS[spec.operation]
    expected = sign.join(str(operand) for operand in spec.of)
    for pointer, scoped in resolve(subject.value, spec.scope):
        operands = _operands(scoped, spec)
        for place, stated in resolve(scoped, spec.equals):
            if operands is not None and stated is not None:
                yield equation_finding(
                    say,
                    pointer + place,
                    expected,
                    operation=operation,
                    operands=operands,
                    stated=stated,
                    locale=spec.locale,
                    tolerance=spec.tolerance,
                )
