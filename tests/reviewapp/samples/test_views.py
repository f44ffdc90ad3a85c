from __future__ import annotations

import re

import pytest
from django.test import Client

from reviewapp.accounts.models import Role
from reviewapp.samples.actions import claim_next, seed_gold, submit_grade
from reviewapp.samples.models import GoldItem, Grade, Sample, Task
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready
from tests.reviewapp.samples.test_grading import ALL_RIGHT, ONE_WRONG, grade, made, reviewer

pytestmark = pytest.mark.django_db

MARKS = {"mark-0": "wrong", "type-0": "other_value", "value-0": "13.00", "mark-1": "right"}


def client(name: str = "one") -> Client:
    found = Client()
    found.force_login(reviewer(name))
    return found


def open_next(browser: Client) -> str:
    answer = browser.post("/samples/next")
    assert answer.status_code == 302
    return answer["location"]


def test_grades_one_after_another() -> None:
    made(2)
    browser = client()
    first = open_next(browser)
    answer = browser.post(f"{first}/submit", MARKS)
    second = answer["location"]
    assert second.startswith("/samples/")
    assert second != first
    assert browser.post(f"{second}/submit", {"mark-0": "right", "mark-1": "right"})["location"] == "/samples/"
    assert sorted(Sample.objects.values_list("verdict", flat=True)) == ["right", "wrong"]


def test_page_asks_for_every_field() -> None:
    made(1)
    browser = client()
    page = browser.get(open_next(browser)).content.decode()
    assert page.count('type="radio"') == 6
    assert '<span class="place value">/total</span>' in page


def test_missing_marks_keep_what_was_given() -> None:
    made(1)
    browser = client()
    place = open_next(browser)
    answer = browser.post(f"{place}/submit", {"mark-0": "right", "comment": "not sure about the quantity"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "1 field has no mark yet: /qty." in page
    assert "not sure about the quantity" in page
    assert Sample.objects.get().status == "waiting"


def test_autosave_says_what_is_missing() -> None:
    made(1)
    browser = client()
    place = open_next(browser)
    answer = browser.post(f"{place}/save", {"mark-0": "right"}, headers={"hx-request": "true"})
    assert answer.status_code == 200
    assert "1 field without a mark" in answer.content.decode()
    assert browser.get(place).content.decode().count(" checked") >= 1


def test_late_autosave_changes_nothing() -> None:
    made(1)
    browser = client()
    place = open_next(browser)
    browser.post(f"{place}/submit", MARKS)
    before = list(Grade.objects.values())
    assert browser.post(f"{place}/save", {"mark-0": "right"}, headers={"hx-request": "true"}).status_code == 204
    assert list(Grade.objects.values()) == before


def test_seat_of_another_is_not_there() -> None:
    made(1)
    place = open_next(client())
    assert client("two").get(place).status_code == 404
    assert client("two").post(f"{place}/submit", MARKS).status_code == 404


def test_takes_back_and_opens_again() -> None:
    made(1)
    browser = client()
    place = open_next(browser)
    browser.post(f"{place}/submit", MARKS)
    assert "Take back" in browser.get("/samples/").content.decode()
    assert browser.post("/samples/undo")["location"] == place
    assert 'value="13.00"' in browser.get(place).content.decode()


def test_skip_needs_a_reason() -> None:
    made(1)
    browser = client()
    place = open_next(browser)
    assert browser.post(f"{place}/skip", {"reason": " "}).status_code == 422
    assert browser.post(f"{place}/skip", {"reason": "torn"})["location"] == "/samples/"


def test_third_person_sees_both_without_names() -> None:
    made(1, double=1.0)
    grade(reviewer("quixotic1"), ALL_RIGHT)
    grade(reviewer("quixotic2"), ONE_WRONG)
    browser = client("three")
    page = browser.get(browser.post("/samples/next", {"kind": "adjudicate"})["location"]).content.decode()
    assert page.count("<dt>Grader 1</dt>") == 3
    assert "13.00" in page
    assert "quixotic" not in page.lower()


SECRETS = ["fallback", "retried", "low_judge", "judge", "attempt", "stratum", "parser-7", "arm", "gold", "replay", "in_base"]


def test_no_answer_tells_how_it_came_about() -> None:
    """Page, autosave and refusal of every kind of item, word by word: nothing of arm, attempts, stratum, judge, version, others."""
    version = approved(sampling={"rate": 1.0, "min_per_stratum": 0, "double": 0.5})
    found = batch(version, {f"secret-key-{i}": "Tea 3.00\nCake 9.00\nTotal 12.00" for i in range(8)}, name="secret-batch")
    endings = [{}, {"attempts": 2}, {"fallback": "parser-7"}, {"votes": ("pass:+a,-b",)}]
    for number, run in enumerate(ready(found)):
        end(run, **endings[number % 4])
    for name in ("one", "two"):
        while (task := claim_next(reviewer(name))) is not None:
            submit_grade(task, reviewer(name), ALL_RIGHT, "only for me")
    seed_gold(version.envelope, wrong=3, right=2, by=person("owner", Role.OWNER))
    more = batch(version, {f"secret-key-{i}": "Total 12.00" for i in range(8, 16)}, name="secret-batch")
    for number, run in enumerate(ready(more)):
        end(run, **endings[number % 4])
    browser, seen = client("four"), 0
    place = open_next(browser)
    while place != "/samples/":
        answers = [
            browser.get(place),
            browser.post(f"{place}/save", {"mark-0": "right"}, headers={"hx-request": "true"}),
            browser.post(f"{place}/submit", {"mark-0": "right"}),
        ]
        for answer in answers:
            text = answer.content.decode().split("<main")[-1].split("</main")[0].lower()
            text = re.sub(r"cannot[_ ]judge", "", text)
            shown = [word for word in (*SECRETS, "secret", "totals v", "only for me", "one ") if re.search(rf"\b{word}", text)]
            assert shown == [], place
        seen += 1
        place = browser.post(f"{place}/submit", {"mark-0": "right", "mark-1": "right"})["location"]
    assert seen == Grade.objects.filter(grader=reviewer("four")).count() >= 8 + GoldItem.objects.count()
    assert Task.objects.filter(gold__isnull=False, is_open=True).count() == 0
