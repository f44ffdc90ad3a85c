"""A JSON value as rows of place and literal, exactly as it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 500


class Written(str):
    """A number as its text: never turned into a float on the way to a page."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Row:
    """``pointer`` is a JSON pointer, ``text`` the JSON literal there, ``is_null`` says that nothing is there."""

    pointer: str
    text: str
    is_null: bool


def printable(text: str) -> str:
    """The text as it can be sent to a browser: halves of surrogate pairs, which UTF-8 cannot carry, become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def rows(value_text: str) -> list[Row] | None:
    """The leaves of the value in order, at most ``MOST_ROWS`` + 1 of them; ``None`` where the text is no JSON value."""
    try:
        value = json.loads(value_text, parse_float=Written, parse_int=Written)
    except (ValueError, RecursionError):
        return None
    found = []
    for row in _leaves(value, ""):
        found.append(row)
        if len(found) > MOST_ROWS:
            break
    return found


def _leaves(value: Any, place: str) -> Iterator[Row]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{place}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{place}/{index}")
    else:
        text = value if isinstance(value, Written) else json.dumps(value, ensure_ascii=False)
        yield Row(printable(place) or "/", printable(text), value is None)
