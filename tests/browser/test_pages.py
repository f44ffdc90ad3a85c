"""Every page in light and dark, wide and narrow: no accessibility violation, nothing wider than the screen, a clean console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from reviewapp.accounts.models import Role
from tests.reviewapp.conftest import World
from tests.reviewapp.factories import person

OpenAs = Callable[..., Page]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOOKS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 360)]


def violations(page: Page) -> list[Any]:
    found = Axe().run(page).response["violations"]
    return [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]


def is_too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_pages_are_accessible(open_as: OpenAs, world: World, scheme: str, width: int) -> None:
    user = person("everything", *Role)
    addresses = [
        "/",
        "/batches/",
        "/batches/new",
        world.batch.get_absolute_url(),
        world.later.get_absolute_url(),
        world.dead.get_absolute_url(),
        "/dead-letters/",
        "/dead-letters/?fuse=elapsed",
        "/envelopes/",
        world.version.envelope.get_absolute_url(),
        world.version.get_absolute_url(),
        "/audit/",
        "/account/password/change/",
        "/account/2fa/",
    ]
    page = open_as(user, color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    for address in addresses:
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = !e.matches('.menu'); })")
        assert violations(page) == [], address
        assert not is_too_wide(page), address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_sign_in_is_accessible(open_as: OpenAs, scheme: str) -> None:
    page = open_as(None, "/account/login/", color_scheme=scheme)
    assert violations(page) == []
