"""The check library. One module each, one line each in ``CHECKS``.

Behaviour whose results are stored is frozen: a change of meaning is a new kind beside the old one (``sum_v2`` beside ``sum``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from operator import or_
from types import ModuleType
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from controller.checks import (
    arithmetic,
    cross_reference,
    date_in_document,
    document_has,
    enum,
    no_invented_value,
    number_in_document,
    range,
    regex,
    required_if,
    rule,
    state_transition,
    sum,
    text_in_document,
    unique,
)
from controller.checks.base import Check, CheckSpec, SpecError, Subject
from controller.report import SlotType

__all__ = ["CHECKS", "SPEC_UNION_SCHEMA", "Check", "CheckSpec", "SpecError", "Subject", "facts_of", "spec_from"]

CHECKS: Mapping[str, ModuleType] = {
    "number_in_document": number_in_document,
    "text_in_document": text_in_document,
    "date_in_document": date_in_document,
    "no_invented_value": no_invented_value,
    "document_has": document_has,
    "sum": sum,
    "arithmetic": arithmetic,
    "range": range,
    "enum": enum,
    "regex": regex,
    "unique": unique,
    "cross_reference": cross_reference,
    "state_transition": state_transition,
    "required_if": required_if,
    "rule": rule,
}


def spec_from(data: Mapping[str, Any]) -> CheckSpec:
    """The spec of one check from the envelope's plain data. Raises ``SpecError`` with every problem in it."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in CHECKS:
        raise SpecError("kind", f"no such kind of check; known kinds: {', '.join(sorted(CHECKS))}")
    try:
        spec: CheckSpec = CHECKS[kind].Spec.model_validate(dict(data))
    except ValidationError as error:
        problems = [
            (".".join(str(part) for part in problem["loc"]), problem["msg"].removeprefix("Value error, "))
            for problem in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise SpecError(*problems[0], problems=problems) from None
    return spec


def facts_of(kind: str) -> Mapping[str, SlotType]:
    """What a check of this kind can tell a directive's slots."""
    facts: Mapping[str, SlotType] = CHECKS[kind].FACTS
    return facts


@lru_cache(maxsize=1)
def SPEC_UNION_SCHEMA() -> dict[str, Any]:  # noqa: N802 - reads as the constant that it is
    """The JSON Schema of any check, for completion in editors."""
    union: Any = reduce(or_, (module.Spec for module in CHECKS.values()))
    return TypeAdapter(Annotated[union, Field(discriminator="kind")]).json_schema(by_alias=True)
