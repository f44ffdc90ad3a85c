"""Lints: what is allowed in an envelope but will not do what its author means.

``read`` in ``controller.authoring`` says whether a text is an envelope at all; a lint never keeps one from being signed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.authoring import Places
from controller.envelope import Envelope
from controller.lint import feedback, graph, limits, sampling, schema
from controller.lint.base import Context, Found, Lint, Weight

__all__ = ["LINTS", "Context", "Found", "Hint", "Lint", "Weight", "lint", "placed"]

_TOPICS = (feedback, graph, limits, schema, sampling)
LINTS: Mapping[str, Lint] = {lint.id: lint for topic in _TOPICS for lint in topic.LINTS}
"""Every lint by its id."""

_ORDER = {weight: number for number, weight in enumerate(Weight)}


@dataclass(frozen=True, slots=True)
class Hint:
    """A finding with its explanation and its place in the text: ``line`` and ``column`` count from 1."""

    lint: Lint
    where: str
    message: str
    line: int
    column: int


def lint(envelope: Envelope, context: Context | None = None) -> tuple[Found, ...]:
    """Everything found, the gravest first, then in the order of the fields."""
    context = context or Context()
    found = [one for topic in _TOPICS for one in topic.look(envelope, context)]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: _ORDER[LINTS[one.lint].weight]))


def placed(found: tuple[Found, ...], places: Places) -> tuple[Hint, ...]:
    """The findings where they stand in the text, the gravest first, then from top to bottom."""
    hints = [Hint(LINTS[one.lint], one.where, one.message, *places.at(one.where)) for one in found]
    return tuple(sorted(hints, key=lambda hint: (_ORDER[hint.lint.weight], hint.line, hint.column)))
