"""What a grader says about one output, field by field, and the verdict that follows. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypedDict

from reviewapp.samples.models import Verdict

LEFT_OUT = "(left out)"
"""The place of what the document has and the output does not; no pointer looks like it."""

MOST_CHARS = 2_000


class Kind(StrEnum):
    """What is wrong with a value."""

    OTHER_VALUE = "other_value"
    OTHER_PLACE = "other_place"
    INVENTED = "invented"
    MISSING = "missing"
    WRITTEN = "written"


KIND_WORDS = {
    Kind.OTHER_VALUE: "another value is right",
    Kind.OTHER_PLACE: "printed, but belongs to another field",
    Kind.INVENTED: "not in the document",
    Kind.MISSING: "the document has a value here",
    Kind.WRITTEN: "right, but written otherwise",
}


class Mark(TypedDict):
    """``mark`` is right, wrong or cannot_judge; ``type`` a ``Kind`` and ``value`` the right value, both for wrong ones only."""

    mark: str
    type: str
    value: str


Marks = dict[str, Mark]


def read(data: Mapping[str, str], pointers: Sequence[str]) -> Marks:
    """The marks in a posted form with numbered fields: ``mark-0``, ``type-0``, ``value-0``. Unknown words are left out."""
    found: Marks = {}
    for number, pointer in enumerate(pointers):
        said = data.get(f"mark-{number}", "")
        if said in Verdict.values:
            found[pointer] = _mark(said, data.get(f"type-{number}", ""), data.get(f"value-{number}", ""))
    if data.get("left-out"):
        found[LEFT_OUT] = _mark(Verdict.WRONG, Kind.MISSING, data.get("left-out-value", ""))
    return found


def _mark(said: str, kind: str, value: str) -> Mark:
    if said != Verdict.WRONG:
        return Mark(mark=said, type="", value="")
    known = kind if kind in set(Kind) else ""
    return Mark(mark=said, type=str(known), value=value.replace("\x00", "")[:MOST_CHARS])


def verdict(marks: Mapping[str, Mark], pointers: Sequence[str]) -> Verdict | None:
    """Of the whole output: wrong where any field is, not judged where any is not, else right. ``None``: a field has no mark."""
    said = [mark["mark"] for mark in marks.values()]
    if any(pointer not in marks for pointer in pointers):
        return None
    if Verdict.WRONG in said:
        return Verdict.WRONG
    return Verdict.CANNOT_JUDGE if Verdict.CANNOT_JUDGE in said else Verdict.RIGHT


def unmarked(marks: Mapping[str, Mark], pointers: Sequence[str]) -> list[str]:
    """The fields that still need a mark, in order."""
    return [pointer for pointer in pointers if pointer not in marks]


def untyped(marks: Mapping[str, Mark]) -> list[str]:
    """Wrong fields without a kind of error."""
    return [pointer for pointer, mark in marks.items() if mark["mark"] == Verdict.WRONG and not mark["type"]]


def dump(marks: Mapping[str, Mark]) -> str:
    return json.dumps(marks, ensure_ascii=True, sort_keys=True)


def load(text: str) -> Marks:
    found: Marks = json.loads(text or "{}")
    return found
