"""A new state may follow the old one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from controller.checks.base import (
    MAX_SPANS,
    PATH_FACT,
    Check,
    CheckSpec,
    Pattern,
    Reporter,
    SpecError,
    Subject,
    listed,
    reporter,
    require_named,
)
from controller.checks.patterns import compile_pattern
from controller.document import Document
from controller.pointer import WILDCARD, resolve, split
from controller.report import Finding, Span

FACTS = PATH_FACT


class Spec(CheckSpec):
    """The old state stands in the reply (``from``) or in the document (``from_document``, RE2 with one group around it).

    ``allowed`` maps each state to those that may follow it; capitals do not matter. A state that stays the same is allowed only
    where the map says so.
    """

    kind: Literal["state_transition"] = "state_transition"
    before: Pattern | None = Field(default=None, alias="from")
    before_in_document: str | None = Field(default=None, alias="from_document")
    to: Pattern
    allowed: Annotated[Mapping[str, tuple[str, ...]], Field(min_length=1, max_length=200)]

    @model_validator(mode="after")
    def _has_one_origin(self) -> Spec:
        if (self.before is None) == (self.before_in_document is None):
            raise ValueError("name the old state once: in the reply (from) or in the document (from_document)")
        return self


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    for field, pattern in (("from", spec.before), ("to", spec.to)):
        if pattern is not None:
            require_named(contract, field, pattern)
            if WILDCARD in split(pattern):
                raise SpecError(field, "a transition has one old and one new state: name them without *")
    printed = compile_pattern(spec.before_in_document, "from_document", groups=1) if spec.before_in_document else None
    allowed = {old.casefold(): {new.casefold(): new for new in following} for old, following in spec.allowed.items()}
    say = reporter(spec, contract)

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        for pointer, new in resolve(subject.value, spec.to):
            if new is None:
                continue
            if printed is not None:
                old, spans = _printed_states(subject.document, printed)
                yield _from_document(say, pointer, old, new, allowed, spans)
            else:
                for _, stated in resolve(subject.value, spec.before or ""):
                    if stated is not None:
                        yield _transition(say, pointer, stated, new, allowed, ())

    return check


def _printed_states(document: Document, pattern: Any) -> tuple[frozenset[str], tuple[Span, ...]]:
    def find(text: str) -> tuple[frozenset[str], tuple[Span, ...]]:
        matches = [match for match in pattern.finditer(text) if match.group(1)]
        return (
            frozenset(match.group(1).strip().casefold() for match in matches),
            tuple(Span(*match.span(1)) for match in matches[:MAX_SPANS]),
        )

    return document.derived(("state", pattern.pattern), find)


def _from_document(
    say: Reporter,
    pointer: str,
    old: frozenset[str],
    new: object,
    allowed: Mapping[str, Mapping[str, str]],
    spans: tuple[Span, ...],
) -> Finding:
    if len(old) > 1:
        return say.failed(pointer, "a document that prints one old state", aspect="ambiguous", spans=spans, match="ambiguous")
    if not old:
        return say.failed(pointer, "a document that prints the old state")
    return _transition(say, pointer, next(iter(old)), new, allowed, spans)


def _transition(
    say: Reporter,
    pointer: str,
    old: object,
    new: object,
    allowed: Mapping[str, Mapping[str, str]],
    spans: tuple[Span, ...],
) -> Finding:
    following = allowed.get(old.casefold()) if isinstance(old, str) else None
    if following is None:
        return say.failed(pointer, "a transition from a known state", spans=spans)
    expected = listed(following.values()) if following else "no transition: the old state is final"
    is_allowed = isinstance(new, str) and new.casefold() in following
    return (say.passed if is_allowed else say.failed)(pointer, expected, spans=spans)
