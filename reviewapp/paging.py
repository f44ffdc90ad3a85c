"""Keyset paging: a page is what lies beyond an id, so that a late page costs what the first one costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)

SIZE = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """``rows`` in order; ``next`` is the id to go on from, ``None`` on the last page; ``name`` the parameter for it."""

    rows: list[Row]
    next: int | None
    name: str
    is_first: bool


def number(text: str | None) -> int | None:
    """A row id from a URL. What is none counts as absent: a mangled link still shows a page."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def newest_first(queryset: QuerySet[Row], params: Mapping[str, str], size: int = SIZE) -> Page[Row]:
    """Rows by falling id; ``?before=<id>`` goes on."""
    before = number(params.get("before"))
    rows = list((queryset if before is None else queryset.filter(pk__lt=before)).order_by("-pk")[: size + 1])
    return _page(rows, size, "before", before)


def oldest_first(queryset: QuerySet[Row], params: Mapping[str, str], size: int = SIZE) -> Page[Row]:
    """Rows by rising id; ``?after=<id>`` goes on."""
    after = number(params.get("after"))
    rows = list((queryset if after is None else queryset.filter(pk__gt=after)).order_by("pk")[: size + 1])
    return _page(rows, size, "after", after)


def _page(rows: list[Row], size: int, name: str, start: int | None) -> Page[Row]:
    return Page(rows[:size], rows[size - 1].pk if len(rows) > size else None, name, start is None)
