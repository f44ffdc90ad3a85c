"""A value is one of a declared list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, Subject, listed, reporter, require_named
from controller.checks.values import identity
from controller.pointer import resolve
from controller.report import Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """Whole numbers equal numbers by value; text is compared letter by letter."""

    kind: Literal["enum"] = "enum"
    at: Pattern
    values: Annotated[tuple[StrictStr | StrictBool | StrictInt, ...], Field(min_length=1, max_length=500)]


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    say = reporter(spec, contract)
    allowed = frozenset(identity(value) for value in spec.values)
    expected = listed(spec.values)

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        for pointer, value in resolve(subject.value, spec.at):
            if value is not None:
                tell = say.passed if identity(value) in allowed else say.failed
                yield tell(pointer, expected)

    return check
