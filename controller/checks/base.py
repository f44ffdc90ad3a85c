"""What all checks share: the signed spec, the subject they look at, and how they word a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from controller.document import Document
from controller.pointer import BadPointer, ContractNames, split
from controller.report import JSON, Fact, FailureClass, Finding, SlotType, Span

MAX_SPANS = 20
"""Places in the document that one finding points at."""
MAX_FINDINGS = 50
"""Failing findings, and passing ones, that one check reports."""
MAX_EXPECTED = 200
"""Characters of ``Finding.expected``."""

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
RULE_CLASSES = frozenset({FailureClass.BUSINESS, FailureClass.MISSING_SOURCE_DATA, FailureClass.SCHEMA})
PATH_FACT: Mapping[str, SlotType] = {"path": SlotType.JSON_POINTER}


class SpecError(ValueError):
    """A check or contract that cannot be used, in words for the person who writes the envelope.

    ``field`` is the spec's field (dotted, empty for the whole), ``problems`` all (field, message) pairs.
    """

    def __init__(self, field: str, message: str, problems: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message
        self.problems = tuple(problems) or ((field, message),)


def _pointer(text: str) -> str:
    try:
        split(text)
    except BadPointer as error:
        raise ValueError(str(error)) from None
    return text


def _rule_class(value: FailureClass) -> FailureClass:
    if value not in RULE_CLASSES:
        raise ValueError("class is one of: " + ", ".join(sorted(RULE_CLASSES)))
    return value


Pattern = Annotated[str, StringConstraints(max_length=500), AfterValidator(_pointer)]
"""A JSON pointer in which ``*`` stands for every item."""
RuleClass = Annotated[FailureClass, AfterValidator(_rule_class)]
Amount = Annotated[Decimal, Field(max_digits=60, allow_inf_nan=False)]
NonNegative = Annotated[Decimal, Field(max_digits=60, allow_inf_nan=False, ge=0)]


class CheckSpec(BaseModel):
    """What an owner writes for one check; every kind adds its own fields. Dump it ``by_alias`` to get ``class`` back."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    document_only: ClassVar[bool] = False
    """Whether the check needs no reply, so that it can run before any call."""

    id: Slug
    group: Slug
    kind: str
    failure_class: RuleClass = Field(default=FailureClass.BUSINESS, alias="class")
    when: Annotated[str, StringConstraints(min_length=1, max_length=2_000)] | None = Field(
        default=None, description="A CEL condition; the check runs only where it is true."
    )
    hint: Annotated[str, StringConstraints(max_length=200)] = Field(default="", description="A title for people.")


class Subject:
    """One parsed reply beside its document. ``derived`` remembers per reply what several checks need."""

    __slots__ = ("_derived", "document", "value")

    def __init__(self, document: Document, value: JSON) -> None:
        self.document = document
        self.value = value
        self._derived: dict[str, Any] = {}

    def derived(self, key: str, build: Callable[[JSON], Any]) -> Any:
        if key not in self._derived:
            self._derived[key] = build(self.value)
        return self._derived[key]


Check: TypeAlias = Callable[[Subject], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Reporter:
    """Words findings of one check. Pointers are cut to the contract here, so that no check can leak a key."""

    spec: CheckSpec
    names: ContractNames
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def passed(self, pointer: str, expected: str = "", *, spans: Sequence[Span] = (), match: str = "") -> Finding:
        return self._finding(pointer, True, expected, "", spans, match)

    def failed(self, pointer: str, expected: str, *, aspect: str = "", spans: Sequence[Span] = (), match: str = "") -> Finding:
        """``aspect`` names a failure that needs other words, such as ``ambiguous``: it becomes ``<id>.<aspect>``."""
        return self._finding(pointer, False, expected, aspect, spans, match)

    def _finding(self, pointer: str, passed: bool, expected: str, aspect: str, spans: Sequence[Span], match: str) -> Finding:
        path = self.names.cut(pointer)
        return Finding(
            check=f"{self.spec.id}.{aspect}" if aspect else self.spec.id,
            group=self.spec.group,
            failure_class=self.spec.failure_class,
            pointer=path,
            passed=passed,
            expected=expected[:MAX_EXPECTED],
            facts={**self.facts, "path": path},
            spans=tuple(spans[:MAX_SPANS]),
            match=match,
        )


def reporter(spec: CheckSpec, contract: Mapping[str, Any], facts: Mapping[str, Fact] | None = None) -> Reporter:
    return Reporter(spec, ContractNames(contract), facts or {})


def require_named(contract: Mapping[str, Any], field_name: str, *patterns: str) -> None:
    """Raises ``SpecError`` where a pattern names nothing in the contract: a misspelt check would pass for ever."""
    names = ContractNames(contract)
    for pattern in patterns:
        if not names.allows(pattern):
            raise SpecError(field_name, f"{pattern} names nothing that the contract describes")


def listed(values: Iterable[object]) -> str:
    """Envelope values as plain words: ``one of: PAID, OPEN``."""
    return "one of: " + ", ".join(str(value) for value in values)
