"""The best attempt without its failing fields, where the contract allows each of them to be missing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

from controller import pointer, strict_json
from controller.fallbacks.base import Answer, FallbackSpec, Fallen, Situation
from controller.report import JSON, FailureClass


class Spec(FallbackSpec):
    """``fields`` are the JSON pointers (``*`` for any item) that may be left out; empty: every field that is not required."""

    kind: Literal["partial"]
    fields: tuple[str, ...] = ()


def run(spec: Spec, situation: Situation) -> Fallen:
    best = situation.best
    if best is None or not best.parsed:
        return Fallen(Answer.DECLINED, detail="no attempt gave a value to take a part of")
    value = copy.deepcopy(best.value)
    missing = sorted({f.pointer for f in best.failures}, key=_deepest_last_first, reverse=True)
    if not missing:
        # Every check passed: what said no was the judge, and leaving nothing out would go around it.
        return Fallen(Answer.DECLINED, detail="no field failed, so there is none to leave out")
    for place in missing:
        if not _may_be_missing(spec, situation.envelope.contract, place) or not _remove(value, place):
            return Fallen(Answer.DECLINED, detail="a failing field may not be missing")
    report = situation.judge.evaluate_value(situation.document, value)
    if any(f.failure_class is not FailureClass.MISSING_SOURCE_DATA for f in report.failures):
        return Fallen(Answer.DECLINED, detail="what is left fails a check", report=report)
    return Fallen(
        Answer.ACCEPTED, value_text=strict_json.dumps(value), report=report, missing=tuple(sorted(missing)), detail="partial"
    )


def _deepest_last_first(place: str) -> tuple[int, list[tuple[int, str]]]:
    """Sort key under which a reversed sort removes later array items before earlier ones, inner places before outer ones."""
    tokens = pointer.split(place)
    return (len(tokens), [(int(t), "") if t.isdecimal() else (-1, t) for t in tokens])


def _may_be_missing(spec: Spec, contract: Mapping[str, Any], place: str) -> bool:
    tokens = pointer.split(place)
    if not tokens or tokens[-1].isdecimal():
        return False
    if spec.fields and not any(_matches(pointer.split(pattern), tokens) for pattern in spec.fields):
        return False
    schema: Any = contract
    for token in tokens[:-1]:
        schema = schema.get("items") if token.isdecimal() else schema.get("properties", {}).get(token)
        if not isinstance(schema, Mapping):
            return False
    return tokens[-1] not in schema.get("required", ())


def _matches(pattern: tuple[str, ...], tokens: tuple[str, ...]) -> bool:
    return len(pattern) == len(tokens) and all(p in ("*", t) for p, t in zip(pattern, tokens, strict=True))


def _remove(value: JSON, place: str) -> bool:
    tokens = pointer.split(place)
    parent: JSON = value
    for token in tokens[:-1]:
        if isinstance(parent, list) and token.isdecimal() and int(token) < len(parent):
            parent = parent[int(token)]
        elif isinstance(parent, dict) and token in parent:
            parent = parent[token]
        else:
            return False
    if isinstance(parent, dict) and tokens[-1] in parent:
        del parent[tokens[-1]]
        return True
    return False
