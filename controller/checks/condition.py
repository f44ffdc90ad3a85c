"""``when``: a check that runs only where its condition is true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.checks.base import Check, CheckSpec, SpecError, Subject, reporter
from controller.checks.cel import CompiledRule, RuleFailed, as_cel
from controller.report import Finding


def conditioned(spec: CheckSpec, check: Check, contract: Mapping[str, Any]) -> Check:
    """The check behind its condition. A condition that cannot be evaluated is a failure: it must not switch checks off."""
    if spec.when is None:
        return check
    if spec.document_only:
        raise SpecError("when", "this check runs before there is a reply, so it can have no condition")
    condition = CompiledRule(spec.when, "when")
    say = reporter(spec, contract)

    def guarded(subject: Subject) -> Iterable[Finding]:
        try:
            holds = condition.holds(subject.derived("cel", as_cel), None, subject.document.text)
        except RuleFailed:
            return (say.failed("", "the condition could not be evaluated"),)
        return check(subject) if holds else ()

    return guarded
