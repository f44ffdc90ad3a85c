"""A real Chromium against the live server. Skipped, with one line that says what to install, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from reviewapp.accounts.models import User
from tests.reviewapp.conftest import model_says, world  # noqa: F401 - the same world as in the page tests

# The browser driver keeps an event loop in this thread to the end of the session; Django would refuse every query there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

PATIENCE_MS = 60_000
"""How long a page may take before a test gives up on it: long, since the machine may have other things to do."""
expect.set_options(timeout=PATIENCE_MS)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def is_error(message: ConsoleMessage) -> bool:
    """A 409 or 422 is an answer that pages show; the browser writes a line about it all the same."""
    return message.type == "error" and not any(f"status of {code}" in message.text for code in (409, 422))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: install the package chromium")
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": list(QUIET)}


@pytest.fixture
def open_as(browser: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """A page of a browser of its own, signed in as ``user``; the test fails where the console shows an error."""
    contexts = []
    errors: list[str] = []

    def open_as(user: User | None, path: str = "/", **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        if user is not None:
            client = Client()
            client.force_login(user)
            cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: errors.append(message.text) if is_error(message) else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path)
        return page

    yield open_as
    for context in contexts:
        context.close()
    assert errors == []
