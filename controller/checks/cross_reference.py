"""Every value at one place occurs at another place of the same reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, Subject, reporter, require_named
from controller.checks.values import identity
from controller.pointer import resolve
from controller.report import Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    kind: Literal["cross_reference"] = "cross_reference"
    at: Pattern
    among: Pattern


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    require_named(contract, "among", spec.among)
    say = reporter(spec, contract)
    expected = f"a value that occurs at {spec.among}"

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        known = {identity(value) for _, value in resolve(subject.value, spec.among) if value is not None}
        for pointer, value in resolve(subject.value, spec.at):
            if value is not None:
                yield (say.passed if identity(value) in known else say.failed)(pointer, expected)

    return check
