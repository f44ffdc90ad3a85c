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
    """One entry of the bar. ``pages`` are the URL names that it stands for; ``key`` is its shortcut."""

    title: str
    url_name: str
    key: str
    pages: frozenset[str] = frozenset()
    everywhere: tuple[Role, ...] = ()


ENTRIES = (
    Entry("Inbox", "inbox", "g i"),
    Entry("Dead letters", "deadletters", "g d"),
    Entry("Batches", "batches", "g b", frozenset({"batch", "batch-new", "run", "batch-pause", "batch-resume"})),
    Entry("Envelopes", "envelopes", "g e", frozenset({"envelope", "version", "version-download"})),
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
    here = getattr(request.resolver_match, "url_name", "") or ""
    return [
        Link(entry.title, reverse(entry.url_name), entry.key, _current(entry, here))
        for entry in ENTRIES
        if (grants.anywhere or entry.url_name == "inbox")
        and (not entry.everywhere or grants.everywhere & set(entry.everywhere))
    ]


def _current(entry: Entry, here: str) -> str:
    """The value of ``aria-current``: the page itself, or a page below it."""
    return "page" if here == entry.url_name else "true" if here in entry.pages else ""


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
