"""The document cut into stretches, each with the findings that point at it: evidence as plain data for the template."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """``document[start:end]`` is evidence for the finding ``key``. ``shown``: visible before anything is pointed at."""

    start: int
    end: int
    key: str
    name: str
    passed: bool
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the document. ``keys`` is empty where nothing points; ``tone`` is passed, failed or empty (not shown)."""

    text: str
    keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tone: str = ""


def segments(document: str, marks: Iterable[Mark], limit: int | None = None) -> list[Segment]:
    """The document's first ``limit`` code points (all without a limit), cut at every mark's ends.

    Joined, the texts are the document again, byte for byte. Marks that reach outside the document are cut to it, empty ones
    vanish. Time grows with the marks, not with the document times the marks.
    """
    end = len(document) if limit is None else min(limit, len(document))
    inside = [m for m in marks if 0 <= m.start < min(m.end, end)]
    cuts = sorted({0, end} | {m.start for m in inside} | {min(m.end, end) for m in inside})
    opening: dict[int, list[Mark]] = {}
    for mark in inside:
        opening.setdefault(mark.start, []).append(mark)
    active: list[Mark] = []
    found = []
    for start, stop in itertools.pairwise(cuts):
        active = [m for m in active if m.end > start] + opening.get(start, [])
        found.append(_segment(document[start:stop], active))
    return found


def _segment(text: str, active: list[Mark]) -> Segment:
    shown = [mark for mark in active if mark.shown]
    tone = "" if not shown else "passed" if all(mark.passed for mark in shown) else "failed"
    return Segment(text, _once(m.key for m in active), _once(m.name for m in active), tone)


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
