"""What every fallback has in common: its spec, what it may see, and what it can answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from controller.report import CheckReport, FailureClass

if TYPE_CHECKING:
    from controller.document import Document
    from controller.envelope import Envelope
    from controller.evaluate import Judge


class FallbackSpec(BaseModel):
    """One item of the menu. ``id`` is what a run records as the item that decided it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
    kind: str

    def check_against(self, plans: Sequence[str]) -> None:
        """Raises ``ValueError`` where the item names a plan that the envelope does not have."""


class Answer(StrEnum):
    """What became of one item. ``DECLINED`` passes on to the next; the others end the run."""

    ACCEPTED = "accepted"
    DECLINED = "declined"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True)
class Fallen:
    """The answer of one fallback.

    ``value_text`` is the exact JSON of an accepted value; ``missing`` are the JSON pointers that a partial result leaves out;
    ``request`` is the typed request to the submitter as plain JSON types; ``detail`` says in words why it was declined.
    """

    answer: Answer
    detail: str = ""
    value_text: str = ""
    report: CheckReport | None = None
    missing: tuple[str, ...] = ()
    request: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What a fallback may look at: the document, the best attempt's report, and why the run stopped."""

    envelope: Envelope
    judge: Judge
    document: Document
    best: CheckReport | None
    final_class: FailureClass | None
