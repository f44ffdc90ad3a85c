"""The fallback menu's items: one file each, one line each in ``FALLBACKS``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from controller.fallbacks import alternate_model, ask_for_data, deterministic_parser, needs_review, partial, typed_error
from controller.fallbacks.base import FallbackSpec, Fallen, Situation

FALLBACKS: dict[str, ModuleType] = {
    "deterministic_parser": deterministic_parser,
    "alternate_model": alternate_model,
    "partial": partial,
    "ask_for_data": ask_for_data,
    "typed_error": typed_error,
    "needs_review": needs_review,
}


def spec_from(data: dict[str, Any]) -> FallbackSpec:
    """The spec of one menu item; ``ValueError`` in plain words where the kind is unknown."""
    kind = data.get("kind")
    if kind not in FALLBACKS:
        raise ValueError(f"fallback kind {kind!r} is unknown; kinds: {', '.join(FALLBACKS)}")
    spec: FallbackSpec = FALLBACKS[kind].Spec.model_validate(data)
    return spec


def fall_back(spec: FallbackSpec, situation: Situation) -> Fallen:
    """Runs one item that needs no model call."""
    result: Fallen = FALLBACKS[spec.kind].run(spec, situation)
    return result
