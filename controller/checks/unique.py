"""No two values, or no two items by their keys, are the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, Subject, reporter, require_named
from controller.checks.values import identity
from controller.pointer import resolve
from controller.report import JSON, Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``at`` names the values; with ``keys`` it names items, which are compared by these fields. Null is never a repetition."""

    kind: Literal["unique"] = "unique"
    at: Pattern
    keys: tuple[str, ...] = Field(default=(), max_length=20)


def _compared(value: JSON, keys: tuple[str, ...]) -> Hashable | None:
    if not keys:
        return None if value is None else identity(value)
    if not isinstance(value, dict):
        return None
    parts = [value.get(key) for key in keys]
    return None if all(part is None for part in parts) else tuple(identity(part) for part in parts)


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    require_named(contract, "keys", *(f"{spec.at}/{key}" for key in spec.keys))
    say = reporter(spec, contract)
    expected = f"no two items with the same {', '.join(spec.keys)}" if spec.keys else "no value twice"

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        seen: set[Hashable] = set()
        for pointer, value in resolve(subject.value, spec.at):
            compared = _compared(value, spec.keys)
            if compared is not None:
                yield (say.failed if compared in seen else say.passed)(pointer, expected)
                seen.add(compared)

    return check
