"""The pages as they are used: by keyboard, without JavaScript, and while something changes underneath."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from reviewapp.accounts.models import Role
from reviewapp.batches.models import Batch
from reviewapp.runs.models import Run
from tests.reviewapp.conftest import DOCUMENT, World, work_all
from tests.reviewapp.factories import batch, person

OpenAs = Callable[..., Page]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_keys_go_to_pages(open_as: OpenAs, world: World) -> None:
    page = open_as(person("reviewer", Role.REVIEWER))
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url("**/dead-letters/")
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.wait_for_url("**/batches/")


def test_sheet_lists_keys_and_switches_off(open_as: OpenAs, world: World) -> None:
    page = open_as(person("manager", Role.MANAGER), "/batches/")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("New batch")
    expect(sheet).to_contain_text("Inbox")
    sheet.get_by_label("Single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.keyboard.press("n")
    page.reload()
    page.keyboard.press("n")
    assert page.url.endswith("/batches/")


def test_keys_rest_while_typing(open_as: OpenAs, world: World) -> None:
    page = open_as(person("manager", Role.MANAGER), world.batch.get_absolute_url())
    field = page.get_by_label("Record id")
    field.click()
    page.keyboard.type("gin?")
    expect(field).to_have_value("gin?")
    expect(page.locator("#keys")).to_be_hidden()
    assert page.url.endswith(world.batch.get_absolute_url())


def test_skip_link_leads_to_content(open_as: OpenAs, world: World) -> None:
    page = open_as(person("reviewer", Role.REVIEWER))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


def test_theme_is_kept(open_as: OpenAs, world: World) -> None:
    page = open_as(person("reviewer", Role.REVIEWER), color_scheme="light")
    toggle = page.locator("[data-theme-toggle]")
    toggle.click()
    toggle.click()
    page.goto("/batches/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 17, 15)"
    toggle.click()
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_finding_lights_its_place(open_as: OpenAs, world: World) -> None:
    page = open_as(person("reviewer", Role.REVIEWER), world.later.get_absolute_url())
    mark = page.locator("mark[data-evidence]").first
    finding = page.locator("li[data-finding]").first
    finding.focus()
    assert "is-lit" in (mark.get_attribute("class") or "")
    page.get_by_role("heading", name="Attempts").hover()
    page.evaluate("document.activeElement.blur()")
    mark.hover()
    assert "is-lit" in (finding.get_attribute("class") or "")


def test_filter_swaps_and_keeps_url(open_as: OpenAs, world: World) -> None:
    page = open_as(person("reviewer", Role.REVIEWER), world.batch.get_absolute_url())
    page.get_by_label("State").focus()
    page.get_by_label("State").select_option("accepted")
    expect(page.locator("#runs tbody tr")).to_have_count(2)
    page.wait_for_url("**status=accepted**")
    expect(page.get_by_label("State")).to_be_focused()
    page.go_back()
    expect(page.locator("#runs tbody tr")).to_have_count(3)


def test_progress_renews_itself(open_as: OpenAs, world: World) -> None:
    made = batch(world.version, {"first": DOCUMENT, "dead": DOCUMENT}, name="live")
    page = open_as(person("reviewer", Role.REVIEWER), made.get_absolute_url())
    expect(page.locator("#progress")).to_contain_text("0 of 2 records ended")
    work_all()
    expect(page.locator("#progress")).to_contain_text("2 of 2 records ended")
    assert page.locator("#progress").get_attribute("hx-trigger") is None


def test_manager_pauses_in_place(open_as: OpenAs, world: World) -> None:
    made = batch(world.version, {"first": DOCUMENT}, name="live")
    page = open_as(person("manager", Role.MANAGER), made.get_absolute_url())
    page.get_by_label("Reason").fill("The replies look strange")
    page.keyboard.press("Enter")
    expect(page.locator("#progress")).to_contain_text("The replies look strange")
    expect(page.locator("#live")).to_contain_text("Paused")
    made.refresh_from_db()
    assert made.status == "paused"


def test_typing_survives_progress(open_as: OpenAs, world: World) -> None:
    made = batch(world.version, {"first": DOCUMENT, "waits": DOCUMENT}, name="live")
    Run.objects.filter(record__key="waits").update(not_before=timezone.now() + timedelta(hours=1))
    page = open_as(person("manager", Role.MANAGER), made.get_absolute_url())
    page.get_by_label("Reason").fill("half a sen")
    work_all()
    expect(page.locator("#progress")).to_contain_text("1 of 2 records ended")
    expect(page.get_by_label("Reason")).to_have_value("half a sen")
    expect(page.get_by_label("Reason")).to_be_focused()


def test_upload_by_keyboard(open_as: OpenAs, world: World, tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong.jsonl", tmp_path / "right.jsonl"
    wrong.write_text('{"id": "a"}\n')
    right.write_text(json.dumps({"id": "a", "document": DOCUMENT}) + "\n")
    page = open_as(person("manager", Role.MANAGER), "/batches/")
    page.keyboard.press("n")
    page.get_by_label("Batch name").fill("By hand")
    page.get_by_label("Records").set_input_files(wrong)
    page.get_by_label("Batch name").press("Enter")
    expect(page.locator("#result")).to_contain_text("is missing")
    expect(page.get_by_label("Batch name")).to_have_value("By hand")
    page.get_by_label("Records").set_input_files(right)
    page.get_by_label("Batch name").press("Enter")
    page.wait_for_url("**/batches/*")
    expect(page.get_by_role("heading", name="By hand")).to_be_visible()
    assert Batch.objects.filter(name="By hand").exists()


def test_works_without_javascript(open_as: OpenAs, world: World) -> None:
    user = person("manager", Role.MANAGER)
    user.set_password("a long enough one")
    user.save()
    page = open_as(None, "/", java_script_enabled=False)
    page.get_by_label("User name").fill("manager")
    page.get_by_label("Password").fill("a long enough one")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="Batches").click()
    page.get_by_role("link", name="Monday").click()
    page.get_by_label("State").select_option("dead_lettered")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#runs tbody tr")).to_have_count(1)
    page.get_by_role("link", name="dead", exact=True).click()
    expect(page.get_by_text("The same checks failed at the same places")).to_be_visible()
    page.locator("details.menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/account/login/**")


def test_foreign_text_runs_nothing(open_as: OpenAs, world: World) -> None:
    nasty = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'> " + "long" * 12_000
    made = batch(
        world.version, {"first<img src=x onerror=alert(1)>": nasty[:3_900]}, name="<script>window.ran = 1</script>" + "n" * 160
    )
    work_all()
    page = open_as(person("reviewer", Role.REVIEWER), made.runs.get().get_absolute_url())
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    assert page.evaluate("window.ran") is None
    assert not [url for url in asked if url.endswith("/x")]
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    page.goto("/batches/")
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
