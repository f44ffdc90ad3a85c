"""What lints share: the lint as a description, one finding, and what is known beyond the envelope's text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from controller.envelope import Envelope


class Weight(StrEnum):
    """``BROKEN``: something in the envelope can never work. ``LIKELY``: it will probably hurt. ``THINK``: worth a look."""

    BROKEN = "broken"
    LIKELY = "likely"
    THINK = "think"


@dataclass(frozen=True, slots=True)
class Lint:
    """One thing to look for, in words for the person who writes the envelope."""

    id: str
    weight: Weight
    title: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True)
class Found:
    """``where`` is the field's path, such as ``templates[2].text``; ``message`` says what is wrong there."""

    lint: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Context:
    """What is known from outside the text; what is unknown is ``None`` or empty, and lints that need it say nothing.

    ``outputs``: sizes of recent valid outputs of the task, in tokens of the envelope's counter. ``documents``: sizes of recent
    documents, marks included. ``accepted_per_month``: recent volume. ``profile``: what the endpoint refuses in a schema, a key
    of ``schema.PROFILES``. ``max_calls``, ``max_tokens``, ``max_ms``: the stated budget for one record.
    """

    outputs: Sequence[int] = ()
    documents: Sequence[int] = ()
    accepted_per_month: int | None = None
    profile: str = ""
    max_calls: int | None = None
    max_tokens: int | None = None
    max_ms: int | None = None


Look: TypeAlias = Callable[[Envelope, Context], Iterator[Found]]


def quantile(sizes: Sequence[int], share: float) -> int:
    """The smallest size that at least ``share`` of the sizes do not exceed; ``sizes`` is not empty."""
    ordered = sorted(sizes)
    return ordered[min(len(ordered) - 1, max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1))]
