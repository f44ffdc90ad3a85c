"""The run ends as a dead letter whose result carries a fixed, signed error code and message for the submitter's system."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from controller.fallbacks.base import Answer, FallbackSpec, Fallen, Situation


class Spec(FallbackSpec):
    kind: Literal["typed_error"]
    code: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    message: Annotated[str, Field(min_length=1, max_length=500)]


def run(spec: Spec, situation: Situation) -> Fallen:
    return Fallen(Answer.DEAD_LETTER, request={"type": "error", "code": spec.code, "message": spec.message})
