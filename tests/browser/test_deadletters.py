"""The queue as reviewers use it: by keyboard alone, and when the lease is lost in the middle of an edit."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from reviewapp.deadletters.models import DeadLetter, Delivery, Draft
from tests.reviewapp.deadletters.cases import claimed, letters, reviewer

OpenAs = Callable[..., Page]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
COUNT = 25


def test_clears_the_queue_by_keyboard(open_as: OpenAs) -> None:
    letters(COUNT)
    page = open_as(reviewer(), "/dead-letters/")
    page.keyboard.press("n")
    for number in range(COUNT):
        page.wait_for_url(lambda url: url.rstrip("/").rsplit("/", 1)[-1].isdigit())
        expect(page.get_by_role("heading", level=1)).to_have_text(f"batch-{number:04}")
        page.keyboard.press("1")
        expect(page.get_by_label("total")).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type("15.00")
        page.keyboard.press("Control+Enter")
    expect(page.locator(".toasts")).to_contain_text("Nothing waits for you")
    assert Delivery.objects.filter(kind="human_corrected").count() == COUNT
    assert set(DeadLetter.objects.values_list("resolution", flat=True)) == {"corrected"}


def test_lost_lease_loses_no_text(open_as: OpenAs) -> None:
    (letter,) = letters(1)
    rae = reviewer("rae")
    claimed(letter, rae)
    page = open_as(rae, letter.get_absolute_url())
    page.keyboard.press("1")
    page.keyboard.press("Control+a")
    page.keyboard.type("15.00 half")
    expect(page.locator("#draft-state")).to_contain_text("Draft saved")
    DeadLetter.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    claimed(letter, reviewer("ben"))
    page.keyboard.type(" and more")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Ben holds this letter now")
    expect(page.get_by_label("total")).to_have_value("15.00 half and more")
    assert json.loads(Draft.objects.get(user=rae).fields)["v:/total"] == "15.00 half and more"
    assert not Delivery.objects.exists()


def test_checks_answer_while_typing(open_as: OpenAs) -> None:
    (letter,) = letters(1)
    rae = reviewer()
    claimed(letter, rae)
    page = open_as(rae, letter.get_absolute_url())
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("1 thing still wrong")
    page.keyboard.press("1")
    page.keyboard.press("Control+a")
    page.keyboard.type("15.00")
    expect(verdict).to_contain_text("Every check passes")
    expect(page.get_by_label("total")).to_be_focused()
    expect(page.locator("#document mark.is-passed")).to_have_text("15.00")


def test_mark_fills_the_field(open_as: OpenAs) -> None:
    (letter,) = letters(1, reply='{"total":"15.00","qty":"three"}')
    rae = reviewer()
    claimed(letter, rae)
    page = open_as(rae, letter.get_absolute_url())
    page.get_by_label("qty").fill("3")
    expect(page.locator("#document mark")).to_have_count(1)
    page.get_by_label("total").fill("")
    page.get_by_label("total").fill("15.0")
    page.get_by_label("total").fill("15.00")
    expect(page.locator("#document mark.is-passed")).to_have_text("15.00")
    page.get_by_label("total").fill("15.00")
    page.locator("#document mark").click()
    expect(page.get_by_label("total")).to_have_value("15.00")


def test_no_single_key_decides(open_as: OpenAs) -> None:
    (letter,) = letters(1)
    rae = reviewer()
    claimed(letter, rae)
    page = open_as(rae, letter.get_absolute_url())
    for key in "qradsxhu":
        page.keyboard.press(key)
        page.keyboard.press("Escape")
        page.locator("h1").click()
    assert DeadLetter.objects.get().status == "open"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Reject")


def test_works_without_javascript(open_as: OpenAs) -> None:
    letters(1)
    page = open_as(reviewer(), "/dead-letters/", java_script_enabled=False)
    page.get_by_role("button", name="Claim next").click()
    page.get_by_label("total").fill("16.00")
    page.get_by_role("button", name="Check and keep as draft").click()
    expect(page.locator("#verdict")).to_contain_text("1 thing still wrong")
    page.get_by_label("total").fill("15.00")
    page.get_by_role("button", name="Accept", exact=True).click()
    expect(page.locator(".toasts")).to_contain_text("Accepted as corrected by you")
