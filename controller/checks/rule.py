"""A rule in CEL over the reply and the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, SpecError, Subject, reporter, require_named
from controller.checks.cel import CompiledRule, RuleFailed, as_cel
from controller.pointer import WILDCARD, resolve, split
from controller.report import Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``each`` evaluates the rule for every item that it names, as ``item``. ``at`` is where a failure is reported (from the
    item on), ``says`` what is expected, in plain words.
    """

    kind: Literal["rule"] = "rule"
    cel: Annotated[str, StringConstraints(min_length=1)]
    each: Pattern | None = None
    at: Pattern = ""
    says: str = Field(default="", max_length=200)


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "each", spec.each or "")
    require_named(contract, "at", (spec.each or "") + spec.at)
    if WILDCARD in split(spec.at):
        raise SpecError("at", "a failure is reported at one place: use each for a rule over items")
    say = reporter(spec, contract)
    rule = CompiledRule(spec.cel, "cel")
    expected = spec.says or f"the rule {spec.id}"

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        doc = subject.derived("cel", as_cel)
        for pointer, item in resolve(subject.value, spec.each) if spec.each is not None else (("", None),):
            try:
                holds = rule.holds(doc, as_cel(item), subject.document.text)
            except RuleFailed:
                yield say.failed(pointer + spec.at, "the rule could not be evaluated")
            else:
                yield (say.passed if holds else say.failed)(pointer + spec.at, expected)

    return check
