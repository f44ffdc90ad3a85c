"""A version as its page shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from controller.explain import Explanation, explain
from reviewapp.envelopes.models import Comment, Version


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a source and what is said about it."""

    number: int
    text: str
    comments: tuple[Comment, ...]


def reading(version: Version) -> Explanation | None:
    """The version in words; ``None`` where it has no readable content yet (a draft) or any more (an altered row)."""
    if not version.canonical:
        return None
    try:
        return explain(version.content)
    except ValidationError:
        return None


def lines_with_comments(source: str, comments: Iterable[Comment]) -> list[Line]:
    """Every line of the text with its comments. Those about the whole text (line 0) are not among them."""
    by_line: dict[int, list[Comment]] = {}
    for comment in comments:
        by_line.setdefault(comment.line, []).append(comment)
    lines = source.splitlines()
    return [Line(number, text, tuple(by_line.get(number, ()))) for number, text in enumerate(lines, start=1)]
