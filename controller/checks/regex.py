"""A text matches a pattern from its first character to its last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, Subject, reporter, require_named
from controller.checks.patterns import compile_pattern
from controller.pointer import resolve
from controller.report import Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``pattern`` is RE2. ``says`` are the words for it in findings; without them the pattern itself is shown."""

    kind: Literal["regex"] = "regex"
    at: Pattern
    pattern: str
    says: str = ""


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    say = reporter(spec, contract)
    pattern = compile_pattern(spec.pattern, "pattern")
    expected = spec.says or f"text that matches {spec.pattern}"

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        for pointer, value in resolve(subject.value, spec.at):
            if value is not None:
                matches = isinstance(value, str) and pattern.fullmatch(value) is not None
                yield (say.passed if matches else say.failed)(pointer, expected)

    return check
