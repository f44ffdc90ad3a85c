from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from reviewapp.accounts.models import Role
from reviewapp.samples.models import Sample
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready
from tests.reviewapp.samples.test_grading import ALL_RIGHT, ONE_WRONG, grade, reviewer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Open = Callable[..., Page]


def made(count: int, *, double: float = 0.0, slug: str = "totals") -> object:
    version = approved(
        slug=slug,
        sampling={"rate": 1.0, "min_per_stratum": 0, "double": double},
        breaker={"silent": {"limit": 0.1, "h": 99}, "ungraded": 999},
    )
    found = batch(version, {f"r{i}": "1 tea\nTotal 12.00" for i in range(count)})
    for number, run in enumerate(ready(found)):
        end(run, attempts=1 + number % 2)
    return found


def test_two_graders_never_see_each_other(open_as: Open) -> None:
    """Two people in two browsers grade the same output; no answer that either gets holds a mark of the other."""
    made(1, double=1.0)
    one = open_as(reviewer("one"), "/samples/")
    two = open_as(reviewer("two"), "/samples/")
    heard: list[str] = []
    two.on("response", lambda answer: heard.append(answer.text()) if "/samples/" in answer.url and answer.ok else None)
    for page in (one, two):
        page.get_by_role("button", name="Grade next").click()
        expect(page.get_by_role("heading", name="Is this output right?")).to_be_visible()
    first = one.locator("fieldset").first
    first.get_by_label("Wrong", exact=True).check()
    first.get_by_label("What is wrong").select_option("other_value")
    first.get_by_label("Right value").fill("987.65")
    one.locator("fieldset").nth(1).get_by_label("Right", exact=True).check()
    one.get_by_label("Comment").fill("only the first knows")
    expect(one.locator("#saved")).to_contain_text("Every field has a mark")
    two.reload()
    two.locator("fieldset").first.get_by_label("Right", exact=True).check()
    two.locator("fieldset").nth(1).get_by_label("Right", exact=True).check()
    expect(two.locator("#saved")).to_contain_text("Every field has a mark")
    one.get_by_role("button", name="Submit, next").click()
    expect(one.get_by_role("heading", name="Samples")).to_be_visible()
    two.reload()
    two.get_by_role("button", name="Submit, next").click()
    expect(two.get_by_role("heading", name="Samples")).to_be_visible()
    assert len(heard) >= 3
    assert not any("987.65" in text or "only the first" in text for text in heard)
    assert Sample.objects.get().status == "disputed"
    three = open_as(reviewer("three"), "/samples/")
    three.get_by_role("button", name="Decide next").click()
    expect(three.locator(".others").first).to_contain_text("987.65")


def test_grades_by_keyboard_alone(open_as: Open) -> None:
    made(2)
    page = open_as(reviewer("one"), "/samples/")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="Is this output right?")).to_be_visible()
    for expected in ("right", "wrong"):
        page.keyboard.press("j")
        page.keyboard.press("1")
        page.keyboard.press("1" if expected == "right" else "2")
        if expected == "wrong":
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Escape")
        expect(page.locator("#saved")).to_contain_text("Every field has a mark")
        before = page.url
        page.keyboard.press("s")
        page.wait_for_url(lambda url, before=before: url != before)
    assert sorted(Sample.objects.values_list("verdict", flat=True)) == ["right", "wrong"]


def test_plots_draw_without_complaint(open_as: Open) -> None:
    """Every picture is drawn under the page's strict policy (an error on the console fails the test), with its table."""
    found = made(8)
    for number in range(8):
        grade(reviewer("one"), ONE_WRONG if number < 2 else ALL_RIGHT)
    page = open_as(person("manager", Role.MANAGER), "/quality/of/totals")
    expect(page.locator("figure svg.plot-svg")).to_have_count(4)
    assert page.locator("figure svg style").count() == 0
    for figure in page.locator("figure").all():
        assert figure.locator("table").count() == 1
        assert figure.locator("svg").get_attribute("aria-label")
    page.goto(f"/batches/{found.pk}/breaker")  # type: ignore[attr-defined]
    expect(page.locator("figure svg.plot-svg")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(open_as: Open, scheme: str) -> None:
    found = made(4)
    grade(reviewer("one"), ONE_WRONG)
    places = [("manager", Role.MANAGER, place) for place in ("/quality/", "/quality/of/totals", "/quality/of/totals/rows")]
    places += [
        ("manager", Role.MANAGER, "/quality/of/totals/planner"),
        ("manager", Role.MANAGER, f"/batches/{found.pk}/breaker"),
    ]  # type: ignore[attr-defined]
    places += [("one", Role.REVIEWER, "/samples/")]
    for name, role, place in places:
        page = open_as(person(name, role), place, color_scheme=scheme)
        if place == "/samples/":
            page.get_by_role("button", name="Grade next").click()
            expect(page.get_by_role("heading", name="Is this output right?")).to_be_visible()
        wrong = Axe().run(page).response["violations"]
        assert [(place, rule["id"], rule["nodes"][0]["html"][:200]) for rule in wrong] == []


def test_narrow_page_does_not_scroll_sideways(open_as: Open) -> None:
    made(2)
    grade(reviewer("one"), ONE_WRONG)
    page = open_as(person("manager", Role.MANAGER), "/quality/of/totals")
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(400)
    wide = page.evaluate("""[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > 361)
        .map((e) => `${e.tagName}.${e.getAttribute("class")} ${e.textContent.trim().slice(0, 40)}`).slice(0, 8)""")
    assert (page.evaluate("document.documentElement.scrollWidth"), wide) == (360, [])
