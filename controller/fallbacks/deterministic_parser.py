"""Declared patterns over the document fill the contract's fields; the result goes through the same checks as a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

import re2
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from controller import pointer, strict_json
from controller.fallbacks.base import Answer, FallbackSpec, Fallen, Situation
from controller.report import JSON

Place = Annotated[str, Field(pattern=r"^(/[^/*]+)+$", max_length=500)]
"""A JSON pointer to one field: no wildcard, not the whole value."""


class FieldPattern(BaseModel):
    """One field: an RE2 pattern whose first group is the value; ``take`` says which match where there are several."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: Place
    pattern: Annotated[str, Field(min_length=1, max_length=1000)]
    take: Literal["first", "last", "only"] = "only"
    type: Literal["string", "integer", "number"] = "string"

    @field_validator("pattern")
    @classmethod
    def _compiles_with_a_group(cls, text: str) -> str:
        try:
            compiled = re2.compile(text)
        except re2.error as error:
            raise ValueError(f"the pattern does not compile: {error}") from error
        if compiled.groups < 1:
            raise ValueError("the pattern needs one group: the value")
        return text


class Spec(FallbackSpec):
    """``fields`` are the patterns; ``constants`` are values for fields that are always the same (null included)."""

    kind: Literal["deterministic_parser"]
    fields: Annotated[tuple[FieldPattern, ...], Field(min_length=1, max_length=50)]
    constants: dict[Place, str | int | bool | None] = {}

    @model_validator(mode="after")
    def _places_do_not_meet(self) -> Spec:
        places = [field.at for field in self.fields] + list(self.constants)
        for place in places:
            pointer.split(place)
        if meeting := _meeting(places):
            raise ValueError(f"{meeting} is filled twice, or stands inside another field that is filled")
        return self


def _meeting(places: Iterable[str]) -> str | None:
    """The first place that is another one or lies inside it."""
    ordered = sorted(pointer.split(place) for place in places)
    for before, after in pairwise(ordered):
        if after[: len(before)] == before:
            return pointer.join(after)
    return None


def run(spec: Spec, situation: Situation) -> Fallen:
    value: JSON = {}
    for place, constant in spec.constants.items():
        _put(value, place, constant)
    for field in spec.fields:
        found = re2.compile(field.pattern).findall(situation.document.text)
        texts = [match[0] if isinstance(match, tuple) else match for match in found]
        if not texts or (field.take == "only" and len(set(texts)) > 1):
            why = "matched nothing" if not texts else "matched different values"
            return Fallen(Answer.DECLINED, detail=f"the pattern for {field.at} {why}")
        text = texts[-1] if field.take == "last" else texts[0]
        typed = _typed(text, field.type)
        if typed is None:
            return Fallen(Answer.DECLINED, detail=f"what the pattern for {field.at} matched is no {field.type}")
        _put(value, field.at, typed)
    report = situation.judge.evaluate_value(situation.document, value)
    if not report.passed:
        return Fallen(Answer.DECLINED, detail="the parsed value fails a check", report=report)
    return Fallen(Answer.ACCEPTED, value_text=strict_json.dumps(value), report=report)


_NUMBER = {
    "integer": re.compile(r"-?(?:0|[1-9][0-9]{0,17})"),
    "number": re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?"),
}
"""As JSON writes them. Python's own conversions also take ``NaN``, ``1_000`` and digits of other scripts."""


def _typed(text: str, kind: str) -> JSON:
    if kind == "string":
        return text
    if not _NUMBER[kind].fullmatch(text):
        return None
    return int(text) if kind == "integer" else Decimal(text)


def _put(value: JSON, place: str, item: JSON) -> None:
    *parents, last = pointer.split(place)
    for token in parents:
        assert isinstance(value, dict)
        value = value.setdefault(token, {})
    assert isinstance(value, dict)
    value[last] = item
