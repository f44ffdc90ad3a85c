"""What changed between two replies, line by line."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from decimal import Decimal

import simplejson

MOST_LINES = 2_000
CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Line:
    """``kind`` is same, added, removed or skipped (some unchanged lines left out)."""

    kind: str
    text: str


def laid_out(text: str) -> str:
    """One JSON value over several lines, its numbers as they were written; any other text as it is."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        return simplejson.dumps(value, indent=2, ensure_ascii=False, use_decimal=True)
    except (ValueError, RecursionError, ArithmeticError):
        return text


def differences(before: str, after: str) -> list[Line] | None:
    """The lines around every change; empty where nothing changed, ``None`` where the texts are too long to compare at once."""
    old, new = laid_out(before).splitlines(), laid_out(after).splitlines()
    if len(old) + len(new) > MOST_LINES:
        return None
    lines: list[Line] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        if lines or group[0][1] > 0:
            lines.append(Line("skipped", "…"))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += [Line("same", line) for line in old[old_from:old_to]]
            else:
                lines += [Line("removed", line) for line in old[old_from:old_to]]
                lines += [Line("added", line) for line in new[new_from:new_to]]
    return lines
