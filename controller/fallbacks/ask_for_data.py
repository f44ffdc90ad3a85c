"""The submitter is asked for what the document does not have: a typed request with signed words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from controller.fallbacks.base import Answer, FallbackSpec, Fallen, Situation
from controller.report import FailureClass


class Spec(FallbackSpec):
    """``fields`` are JSON pointers into the contract; ``only_for`` limits the item to these final classes."""

    kind: Literal["ask_for_data"]
    fields: Annotated[
        tuple[Annotated[str, Field(pattern=r"^(/[^/]+)+$", max_length=500)], ...], Field(min_length=1, max_length=50)
    ]
    message: Annotated[str, Field(min_length=1, max_length=1000)]
    only_for: tuple[FailureClass, ...] = (FailureClass.MISSING_SOURCE_DATA,)


def run(spec: Spec, situation: Situation) -> Fallen:
    if spec.only_for and situation.final_class not in spec.only_for:
        return Fallen(Answer.DECLINED, detail="the run did not stop for a class that this item asks about")
    return Fallen(Answer.DEAD_LETTER, request={"type": "ask_for_data", "fields": list(spec.fields), "message": spec.message})
