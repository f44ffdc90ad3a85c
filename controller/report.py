"""What judging one reply found: failure classes, findings, the report, and the failure signature."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

JSON: TypeAlias = "None | bool | int | Decimal | str | list[JSON] | dict[str, JSON]"
"""A parsed reply. Numbers are exact: ``int`` or ``Decimal``, never ``float``."""

Fact: TypeAlias = "str | int | Decimal | tuple[str, ...]"
"""What a check may tell a directive's slot. Comes from the envelope or the document position, never from the reply."""


class FailureClass(StrEnum):
    """Why a reply was not accepted (DESIGN §5). The envelope maps each to retry or stop."""

    SYNTAX = "syntax"
    DUPLICATE_KEY = "duplicate_key"
    EXTRA_TEXT = "extra_text"
    AMBIGUOUS_JSON = "ambiguous_json"
    TRUNCATED = "truncated"
    EMPTY_OUTPUT = "empty_output"
    SCHEMA = "schema"
    BUSINESS = "business"
    JUDGEMENT = "judgement"
    MISSING_SOURCE_DATA = "missing_source_data"
    POLICY_REJECTION = "policy_rejection"
    CONTEXT_OVERFLOW = "context_overflow"
    INFRASTRUCTURE = "infrastructure"

    @property
    def severity(self) -> int:
        """Rank for "moved to a worse class": 1 rules, 2 schema, 3 not one JSON value, 4 no usable reply at all."""
        return _SEVERITY[self]


_SEVERITY = {
    FailureClass.BUSINESS: 1,
    FailureClass.JUDGEMENT: 1,
    FailureClass.MISSING_SOURCE_DATA: 1,
    FailureClass.SCHEMA: 2,
    FailureClass.SYNTAX: 3,
    FailureClass.DUPLICATE_KEY: 3,
    FailureClass.EXTRA_TEXT: 3,
    FailureClass.AMBIGUOUS_JSON: 3,
    FailureClass.TRUNCATED: 4,
    FailureClass.EMPTY_OUTPUT: 4,
    FailureClass.POLICY_REJECTION: 4,
    FailureClass.CONTEXT_OVERFLOW: 4,
    FailureClass.INFRASTRUCTURE: 4,
}

SYNTAX_FAMILY = frozenset(
    {
        FailureClass.SYNTAX,
        FailureClass.DUPLICATE_KEY,
        FailureClass.EXTRA_TEXT,
        FailureClass.AMBIGUOUS_JSON,
        FailureClass.TRUNCATED,
        FailureClass.EMPTY_OUTPUT,
    }
)


class SlotType(StrEnum):
    """What a directive's slot may hold. ``MODEL_TEXT`` must be declared, is capped and is marked as data."""

    JSON_POINTER = "json_pointer"
    NUMBER = "number"
    INTEGER = "integer"
    ENUM = "enum"
    DATE = "date"
    QUOTED_TOKEN = "quoted_token"
    MODEL_TEXT = "model_text"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the document, as code point offsets: ``document[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One check at one place.

    ``pointer`` is a JSON pointer into the value, cut at the first key that the contract does not name, so that it never
    carries text that the model made up. ``expected`` and ``facts`` come from the envelope. ``spans`` are where the document
    prints the value; ``match`` names the kind of match (``exact``, ``folded``, …).
    """

    check: str
    group: str
    failure_class: FailureClass
    pointer: str
    passed: bool
    expected: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    match: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The judgement over one reply. ``value`` is the parsed reply (``None`` unless ``parsed``), ``value_text`` its exact JSON.

    Layers run in order syntax, schema, rules; a failed layer hides the later ones, so ``failures`` all belong to one layer.
    ``extracted`` says that a signed tolerant mode took the value out of a fence around the whole reply.
    """

    findings: tuple[Finding, ...] = ()
    parsed: bool = False
    value: JSON = None
    value_text: str = ""
    extracted: bool = False

    @property
    def failures(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if not f.passed)

    @property
    def passed(self) -> bool:
        return self.parsed and not self.failures

    @property
    def final_class(self) -> FailureClass | None:
        """The failing layer's class; the gravest where several failed; ``None`` when everything passed.

        ``missing_source_data`` wins over other rules: no retry can supply what the document does not have.
        """
        classes = {f.failure_class for f in self.failures}
        if not classes:
            return None
        if FailureClass.MISSING_SOURCE_DATA in classes:
            return FailureClass.MISSING_SOURCE_DATA
        return max(classes, key=lambda c: (c.severity, c.value))

    def signature(self) -> tuple[tuple[str, str], ...]:
        """The sorted set of (check id, pointer) pairs that failed."""
        return tuple(sorted({(f.check, f.pointer) for f in self.failures}))

    def shape(self) -> tuple[tuple[str, str], ...]:
        """The signature without array positions: ``/items/0/qty`` and ``/items/7/qty`` are both ``/items/*/qty``."""
        return tuple(sorted({(f.check, index_free(f.pointer)) for f in self.failures}))


_INDEX = re.compile(r"/(?:0|[1-9][0-9]*)(?=/|$)")

SIGNATURE_VERSION = 1
"""Goes into every stored signature hash: groups made under another version never mix with these."""


def index_free(pointer: str) -> str:
    """The pointer with every array position replaced by ``*``."""
    return _INDEX.sub("/*", pointer)


def signature_hash(shape: tuple[tuple[str, str], ...], extra: str = "") -> str:
    """A stable name for an index-free signature: 32 hex digits, versioned. ``extra`` tells classes without checks apart."""
    text = json.dumps([SIGNATURE_VERSION, extra, shape], separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
