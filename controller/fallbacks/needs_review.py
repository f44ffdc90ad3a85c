"""The record goes to a reviewer as it is."""

from __future__ import annotations

from typing import Literal

from controller.fallbacks.base import Answer, FallbackSpec, Fallen, Situation


class Spec(FallbackSpec):
    kind: Literal["needs_review"]


def run(spec: Spec, situation: Situation) -> Fallen:
    return Fallen(Answer.DEAD_LETTER)
