"""What the bar offers to whom, and which entry the current page belongs to."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from reviewapp.access import grants_of
from reviewapp.accounts.models import Role

AUDITORS = (Role.OWNER, Role.MANAGER, Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the bar. It stands for its own page, all below it, and those below ``also``; ``key`` is its shortcut.

    ``everywhere`` names roles one of which must hold for every envelope, ``somewhere`` for any; without, each member sees the
    entry.
    """

    title: str
    url_name: str
    key: str
    also: tuple[str, ...] = ()
    everywhere: tuple[Role, ...] = ()
    somewhere: tuple[Role, ...] = ()


ENTRIES = (
    Entry("Inbox", "inbox", "g i"),
    Entry("Dead letters", "deadletters", "g d"),
    Entry("Samples", "samples", "g s", somewhere=(Role.REVIEWER,)),
    Entry("Quality", "quality", "g q", somewhere=(Role.OWNER, Role.MANAGER)),
    Entry("Batches", "batches", "g b", also=("/runs/",)),
    Entry("Envelopes", "envelopes", "g e"),
    Entry("Audit", "audit", "g a", everywhere=AUDITORS),
)


@dataclass(frozen=True, slots=True)
class Link:
    title: str
    href: str
    key: str
    current: str


def links(request: HttpRequest) -> list[Link]:
    """The entries for the request's person. Someone without any role sees the inbox, which says what to do."""
    grants = grants_of(request.user)
    return [
        Link(entry.title, reverse(entry.url_name), entry.key, _current(entry, request.path))
        for entry in ENTRIES
        if (grants.anywhere or entry.url_name == "inbox")
        and (not entry.everywhere or grants.everywhere & set(entry.everywhere))
        and (not entry.somewhere or grants.anywhere & set(entry.somewhere))
    ]


def _current(entry: Entry, path: str) -> str:
    """The value of ``aria-current``: the page itself, or a page below it."""
    own = reverse(entry.url_name)
    if path == own:
        return "page"
    below = entry.also if entry.url_name == "inbox" else (own, *entry.also)
    return "true" if path.startswith(below) else ""


@cache
def product_version() -> str:
    with open(settings.BASE_DIR / "pyproject.toml", "rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context for every page. Lazy: a fragment that shows no bar asks no query."""
    user = getattr(request, "user", None)
    signed_in = user is not None and user.is_authenticated
    return {
        "navigation": SimpleLazyObject(lambda: links(request) if signed_in else []),
        "product_version": product_version(),
    }
