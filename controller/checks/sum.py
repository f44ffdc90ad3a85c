"""Values add up to a stated total."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from controller.checks.base import PATH_FACT, Check, CheckSpec, NonNegative, Pattern, Reporter, Subject, reporter, require_named
from controller.checks.equality import equation_finding, total
from controller.checks.numbers import Locale
from controller.pointer import WILDCARD, join, resolve, split
from controller.report import JSON, Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``of`` may name several places. Where one is absent or null nothing can be said, unless ``missing`` is ``zero``."""

    kind: Literal["sum"] = "sum"
    of: Pattern | tuple[Pattern, ...] = Field(description="What is added; * stands for every item.")
    equals: Pattern
    tolerance: NonNegative = Decimal(0)
    locale: Locale = Locale.PLAIN
    missing: Literal["skip", "zero"] = "skip"


def addends(value: JSON, patterns: tuple[str, ...], missing: str) -> list[JSON] | None:
    """What is to be added, or ``None`` where a part is missing and counts."""
    found: list[JSON] = []
    for pattern in patterns:
        places = [node for _, node in resolve(value, pattern)]
        if missing == "skip" and (None in places or not _is_complete(value, pattern, len(places))):
            return None
        found += [node for node in places if node is not None]
    return found


def _is_complete(value: JSON, pattern: str, found: int) -> bool:
    """Whether every item that should have the field has it: a sum over some of the items says nothing. An empty list is 0."""
    tokens = split(pattern)
    if WILDCARD not in tokens:
        return found == 1
    container = resolve(value, join(tokens[: tokens.index(WILDCARD)]))
    if not container or container[0][1] is None:
        return False
    return tokens[-1] == WILDCARD or found == len(resolve(value, join(tokens[:-1])))


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    patterns = (spec.of,) if isinstance(spec.of, str) else spec.of
    require_named(contract, "of", *patterns)
    require_named(contract, "equals", spec.equals)
    say = reporter(spec, contract)

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, patterns, say)

    return check


def _findings(subject: Subject, spec: Spec, patterns: tuple[str, ...], say: Reporter) -> Iterator[Finding]:
    for pointer, stated in resolve(subject.value, spec.equals):
        operands = addends(subject.value, patterns, spec.missing)
        if stated is None or operands is None:
            continue
        yield equation_finding(
            say,
            pointer,
            f"the sum of {', '.join(patterns)}",
            operation=total,
            operands=operands,
            stated=stated,
            locale=spec.locale,
            tolerance=spec.tolerance,
        )
