"""What changed between two texts, line by line."""

from __future__ import annotations

import difflib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a raw diff. ``kind`` is same, added, removed or skipped; ``number`` is its line in the text it is from."""

    kind: str
    text: str
    number: int = 0


CONTEXT = 3
EXACT_LINES = 6_000
"""Above this many changed lines, lines that occur very often no longer anchor the comparison: it stays quick, and valid."""


def raw(before: str, after: str) -> list[Line]:
    """The lines around every change; nothing where both texts are the same."""
    old, new = before.splitlines(), after.splitlines()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    many = len(inner_old) + len(inner_new) > EXACT_LINES
    opcodes = difflib.SequenceMatcher(None, inner_old, inner_new, autojunk=many).get_opcodes()
    marked = [Line("same", text, number) for number, text in enumerate(old[:start], start=1)]
    for tag, a, b, c, d in opcodes:
        if tag == "equal":
            marked += [Line("same", inner_new[i], start + i + 1) for i in range(c, d)]
        else:
            marked += [Line("removed", inner_old[i], start + i + 1) for i in range(a, b)]
            marked += [Line("added", inner_new[i], start + i + 1) for i in range(c, d)]
    marked += [Line("same", text, len(new) - end + i + 1) for i, text in enumerate(new[len(new) - end :])]
    return _shortened(marked)


def _common(old: list[str], new: list[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _shortened(lines: list[Line]) -> list[Line]:
    """Only what stands within three lines of a change; each gap is one line that says so."""
    near = {
        place
        for number, line in enumerate(lines)
        if line.kind != "same"
        for place in range(number - CONTEXT, number + CONTEXT + 1)
    }
    found: list[Line] = []
    for number, line in enumerate(lines):
        if number in near:
            found.append(line)
        elif near and (not found or found[-1].kind != "skipped"):
            found.append(Line("skipped", "…"))
    return found
