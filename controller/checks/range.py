"""A number lies within declared bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal

from pydantic import model_validator

from controller.checks.base import Amount, Check, CheckSpec, Pattern, Reporter, Subject, reporter, require_named
from controller.checks.numbers import Locale, value_readings
from controller.pointer import resolve
from controller.report import Fact, Finding, SlotType

FACTS: Mapping[str, SlotType] = {
    "path": SlotType.JSON_POINTER,
    "minimum": SlotType.NUMBER,
    "maximum": SlotType.NUMBER,
}


class Spec(CheckSpec):
    """At least one bound. ``exclusive`` leaves the bounds themselves out."""

    kind: Literal["range"] = "range"
    at: Pattern
    minimum: Amount | None = None
    maximum: Amount | None = None
    exclusive: bool = False
    locale: Locale = Locale.PLAIN

    @model_validator(mode="after")
    def _has_a_bound(self) -> Spec:
        if self.minimum is None and self.maximum is None:
            raise ValueError("a range needs a minimum or a maximum")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("the minimum is above the maximum")
        return self


def is_within(number: Decimal, spec: Spec) -> bool:
    if spec.minimum is not None and (number < spec.minimum or (spec.exclusive and number == spec.minimum)):
        return False
    return spec.maximum is None or number < spec.maximum or (number == spec.maximum and not spec.exclusive)


def words(spec: Spec) -> str:
    low, high = ("more than", "less than") if spec.exclusive else ("at least", "at most")
    parts = [f"{low} {spec.minimum}"] if spec.minimum is not None else []
    parts += [f"{high} {spec.maximum}"] if spec.maximum is not None else []
    return "a number, " + " and ".join(parts)


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    bounds: dict[str, Fact] = {}
    if spec.minimum is not None:
        bounds["minimum"] = spec.minimum
    if spec.maximum is not None:
        bounds["maximum"] = spec.maximum
    say = reporter(spec, contract, bounds)
    expected = words(spec)

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, say, expected)

    return check


def _findings(subject: Subject, spec: Spec, say: Reporter, expected: str) -> Iterator[Finding]:
    for pointer, value in resolve(subject.value, spec.at):
        if value is None:
            continue
        verdicts = {is_within(number, spec) for number in value_readings(value, spec.locale)}
        if verdicts == {True}:
            yield say.passed(pointer, expected)
        elif len(verdicts) > 1:
            yield say.failed(pointer, f"{expected}, in every way of reading it", aspect="ambiguous", match="ambiguous")
        else:
            yield say.failed(pointer, expected)
