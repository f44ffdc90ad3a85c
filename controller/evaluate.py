"""Judging one reply: how it ended, whether it is one JSON value, whether it keeps the contract, whether it keeps the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from controller.checks import CHECKS, CheckSpec, SpecError, Subject
from controller.checks.base import MAX_FINDINGS, Check
from controller.checks.condition import conditioned
from controller.contract import SCHEMA, Contract
from controller.document import Document
from controller.reply import Finish, Reply
from controller.report import JSON, CheckReport, FailureClass, Finding
from controller.strict_json import Malformed, dumps, parse, strip_think, unfence

FINISH = "finish"
PARSE = "json"
SYNTAX_GROUP = "syntax"
IMPLICIT_CHECKS = {FINISH: FINISH, PARSE: SYNTAX_GROUP, SCHEMA: SCHEMA}
"""The checks that every envelope has, and their groups. No spec may take their ids."""

MAX_PLACES = 1_000
"""Places of a reply that one check looks at."""

_FINISH: Mapping[Finish, tuple[FailureClass, str]] = {
    Finish.REFUSAL: (FailureClass.POLICY_REJECTION, "a reply that is not refused"),
    Finish.CONTENT_FILTER: (FailureClass.POLICY_REJECTION, "a reply that no filter stops"),
    Finish.CONTEXT_OVERFLOW: (FailureClass.CONTEXT_OVERFLOW, "a prompt that fits the model's window"),
    Finish.LENGTH: (FailureClass.TRUNCATED, "a reply that ends by itself"),
    # An endpoint that does not say how the reply ended may have cut it: that is no success, and nothing of it is parsed.
    Finish.MISSING: (FailureClass.TRUNCATED, "a reply whose end the endpoint reports"),
    Finish.OTHER: (FailureClass.SYNTAX, "a reply that ends as text, not as something else"),
}
_SYNTAX_WORDS: Mapping[FailureClass, str] = {
    FailureClass.EMPTY_OUTPUT: "one JSON value, not an empty reply",
    FailureClass.DUPLICATE_KEY: "each key once",
    FailureClass.EXTRA_TEXT: "one JSON value and nothing around it",
    FailureClass.AMBIGUOUS_JSON: "exactly one JSON value",
    FailureClass.SYNTAX: "one valid JSON value",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled check with its spec."""

    spec: CheckSpec
    check: Check

    def findings(self, subject: Subject) -> list[Finding]:
        """At most ``MAX_FINDINGS`` failures and as many passes. More than ``MAX_PLACES`` places are a failure themselves:
        a reply must not decide how long it is judged.
        """
        kept: list[Finding] = []
        left = {True: MAX_FINDINGS, False: MAX_FINDINGS}
        for count, finding in enumerate(self.check(subject)):
            if count >= MAX_PLACES:
                kept.append(self._too_many())
                break
            if left[finding.passed] > 0:
                left[finding.passed] -= 1
                kept.append(finding)
        return kept

    def _too_many(self) -> Finding:
        spec = self.spec
        expected = f"no more than {MAX_PLACES} places for this check"
        return Finding(spec.id, spec.group, spec.failure_class, "", False, expected, {"path": ""})


@dataclass(frozen=True, slots=True)
class Judge:
    """A contract and its rules, compiled once per envelope version. Immutable; threads may share it."""

    contract: Contract
    rules: tuple[Rule, ...]
    tolerant_fence: bool = False
    max_reply_bytes: int = 262_144

    def evaluate(self, document: Document, reply: Reply) -> CheckReport:
        """The judgement over a reply. Never raises for anything that a model or an endpoint can send."""
        if (ended := _finish_failure(reply)) is not None:
            return CheckReport((ended,))
        try:
            value, extracted = self._parse(reply.text or "")
        except Malformed as error:
            return CheckReport((self._syntax_failure(error),))
        return self._judged(document, value, extracted)

    def evaluate_value(self, document: Document, value: JSON) -> CheckReport:
        """The judgement over a value that ``strict_json`` parsed already: a person's correction, a fallback's result."""
        return self._judged(document, value, extracted=False)

    def precheck(self, document: Document) -> tuple[Finding, ...]:
        """Findings of the checks that need only the document, before any call."""
        subject = Subject(document, None)
        return tuple(chain.from_iterable(rule.findings(subject) for rule in self.rules if rule.spec.document_only))

    def _parse(self, text: str) -> tuple[JSON, bool]:
        if len(text) > self.max_reply_bytes or len(text.encode("utf-8", "surrogatepass")) > self.max_reply_bytes:
            raise Malformed(FailureClass.SYNTAX, "", "longer than a reply may be", 0)
        text = strip_think(text)
        inside = unfence(text) if self.tolerant_fence else None
        return (parse(text), False) if inside is None else (parse(inside), True)

    def _judged(self, document: Document, value: JSON, extracted: bool) -> CheckReport:
        findings: list[Finding] = [_PARSED]
        failures = self.contract.failures(value)
        if failures:
            findings += failures
        else:
            subject = Subject(document, value)
            findings.append(_KEPT)
            findings += chain.from_iterable(rule.findings(subject) for rule in self.rules)
        return CheckReport(tuple(findings), parsed=True, value=value, value_text=dumps(value), extracted=extracted)

    def _syntax_failure(self, error: Malformed) -> Finding:
        path = self.contract.names.cut(error.pointer)
        expected = _SYNTAX_WORDS[error.failure_class]
        if error.detail in _SAID:
            expected = f"{expected}: {_SAID[error.detail]}"
        return Finding(PARSE, SYNTAX_GROUP, error.failure_class, path, False, expected, {"path": path})


_SAID = {
    "number out of range": "every number within range",
    "NaN and Infinity are not JSON": "no NaN or Infinity",
    "nested too deeply": "nested less deeply",
    "longer than a reply may be": "short enough",
}
_PARSED = Finding(PARSE, SYNTAX_GROUP, FailureClass.SYNTAX, "", True, _SYNTAX_WORDS[FailureClass.SYNTAX], {"path": ""})
_KEPT = Finding(SCHEMA, SCHEMA, FailureClass.SCHEMA, "", True, "the contract", {"path": ""})


def _finish_failure(reply: Reply) -> Finding | None:
    finish = Finish.REFUSAL if reply.refused else reply.finish
    if finish is Finish.STOP:
        return None
    failure_class, expected = _FINISH[finish]
    return Finding(FINISH, FINISH, failure_class, "", False, expected, {"path": ""})


def compile_checks(
    contract: Mapping[str, Any],
    specs: Sequence[CheckSpec],
    *,
    tolerant_fence: bool = False,
    max_reply_bytes: int = 262_144,
) -> Judge:
    """A judge for one envelope version. Raises ``SpecError`` naming the check (``checks.<id>.<field>``) that cannot be used."""
    compiled = Contract(contract)
    seen: set[str] = set(IMPLICIT_CHECKS)
    rules: list[Rule] = []
    for spec in specs:
        if spec.id in seen:
            raise SpecError(f"checks.{spec.id}.id", "another check has this id")
        seen.add(spec.id)
        try:
            rules.append(Rule(spec, conditioned(spec, CHECKS[spec.kind].compile(spec, contract), contract)))
        except SpecError as error:
            raise SpecError(f"checks.{spec.id}.{error.field}", error.message) from None
    return Judge(compiled, tuple(rules), tolerant_fence, max_reply_bytes)
