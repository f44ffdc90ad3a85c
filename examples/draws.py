"""Repeatable draws that give the same values on every Python and every machine."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def stream(seed: int, kind: str, index: int) -> Random:
    """The generator for one document. Each has its own, so that document k does not depend on how many are made."""
    return Random(f"{seed}/{kind}/{index}")


def whole(rng: Random, low: int, high: int) -> int:
    """An integer from ``low`` to ``high``, both included.

    Built on ``random()`` alone: it is the one method whose sequence Python promises to keep for a given seed, while
    ``choice``, ``sample`` and ``shuffle`` have changed between versions.
    """
    return low + int(rng.random() * (high - low + 1))


def one_of(rng: Random, options: Sequence[T]) -> T:
    """One of the options, all equally likely."""
    return options[whole(rng, 0, len(options) - 1)]


def several_of(rng: Random, options: Sequence[T], count: int) -> list[T]:
    """``count`` different options in drawn order."""
    left = list(options)
    return [left.pop(whole(rng, 0, len(left) - 1)) for _ in range(count)]
