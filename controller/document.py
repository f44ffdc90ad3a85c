"""The source text of one record, with everything that checks derive from it computed at most once per run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Derived = TypeVar("Derived")


class Document:
    """An immutable text. Build one per run and hand it to every attempt: indexes and foldings are shared.

    Two threads may at worst build the same index twice; they never see half of one.
    """

    __slots__ = ("_derived", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._derived: dict[Hashable, Any] = {}

    def derived(self, key: Hashable, build: Callable[[str], Derived]) -> Derived:
        """What ``build`` makes of the text, remembered under ``key`` as long as the document lives: for one run."""
        if key not in self._derived:
            self._derived[key] = build(self.text)
        made: Derived = self._derived[key]
        return made
