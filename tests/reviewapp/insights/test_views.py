from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.test import Client

from reviewapp.accounts.models import Role
from reviewapp.audit.models import Entry
from reviewapp.batches.models import Batch
from reviewapp.insights.export import safe
from reviewapp.samples.models import CorrectionRequest, Sample
from tests.reviewapp.factories import person
from tests.reviewapp.samples.test_grading import ALL_RIGHT, ONE_WRONG, grade, made, reviewer

pytestmark = pytest.mark.django_db

HTMX = {"hx-request": "true"}


def client(name: str = "manager", role: Role = Role.MANAGER) -> Client:
    found = Client()
    found.force_login(person(name, role))
    return found


def graded(count: int = 4, wrong: int = 1) -> Batch:
    found = made(count, silent={"limit": 0.1, "h": 99})
    for number in range(count):
        grade(reviewer(), ONE_WRONG if number < wrong else ALL_RIGHT)
    return found


def text(answer: object) -> str:
    return answer.content.decode()  # type: ignore[attr-defined]


def test_shows_rate_with_interval_and_counts() -> None:
    graded()
    page = text(client().get("/quality/of/totals"))
    assert "25.0 % (4.6–69.9 %)" in page
    assert "1 wrong of 4 graded" in page
    assert "4 sampled</a> of 4 accepted" in page


@pytest.mark.parametrize("place", ["/quality/", "/quality/of/totals", "/quality/of/totals?batch={batch}"])
def test_no_grades_are_no_data(place: str) -> None:
    found = made(3)
    page = text(client().get(place.format(batch=found.pk)))
    assert "no data" in page.lower()
    assert not re.search(r"(?<!\d)0\.0 %", page.split("Beside it")[0])


@pytest.mark.parametrize("place", ["/quality/", "/quality/of/totals"])
def test_never_shows_a_bare_percentage(place: str) -> None:
    """Every estimated share stands beside an interval or its counts."""
    graded()
    page = re.sub(r"<details class=.made.*?</details>", "", text(client().get(place)), flags=re.S)
    rates = re.findall(r">\s*(\d+\.\d %)\s*<", page.split("<main")[1])
    assert rates == [] or set(rates) <= {"10.0 %"}


def test_figures_say_how_they_are_made() -> None:
    graded()
    page = text(client().get("/quality/of/totals"))
    assert page.count("How it is made") >= 5


def test_exports_with_its_inputs() -> None:
    graded()
    found = json.loads(client().get("/quality/of/totals?form=json").content)
    assert found["whole"]["rate"]["wrong"] == 1
    assert found["whole"]["cells"] == [
        {
            "kind": "Tally",
            "stratum": "rest",
            "accepted": 4,
            "sampled": 4,
            "wrong": 1,
            "right": 3,
            "cannot_judge": 0,
        }
    ]
    rows = list(csv.DictReader(io.StringIO(text(client().get("/quality/of/totals?form=csv")))))
    assert (rows[0]["what"], rows[0]["wrong"], rows[0]["method"]) == ("whole", "1", "wilson")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_cells_are_no_formulas(cell: str) -> None:
    assert safe(cell).startswith("'")


def test_links_to_the_rows_behind() -> None:
    graded()
    browser = client()
    page = text(browser.get("/quality/of/totals"))
    assert "/quality/of/totals/rows" in page
    rows = text(browser.get("/quality/of/totals/rows?verdict=wrong"))
    assert rows.count("<tr>") == 2
    assert "1 output" in rows
    assert "<html" not in text(browser.get("/quality/of/totals/rows", headers=HTMX))


def test_compares_versions_only_when_both_exist() -> None:
    graded()
    assert client().get("/quality/of/totals?compare=1&with=2").status_code == 404


def test_sizes_the_sample() -> None:
    graded()
    page = text(client().get("/quality/of/totals?at_most=5&wrong=0&accepted=300"))
    assert all(f">{grades}<" in page for grades in (59, 74, 50))


def test_planner_forecasts_and_replays() -> None:
    graded(6)
    page = text(client().get("/quality/of/totals/planner?limit=10&h=4&normal=3&bad=30&records=1000"))
    assert "5 in a row, 6 of 20" in page
    assert ">1.0 % <small>within 1,000" in page
    assert "run through" in page
    again = client().get(
        "/quality/of/totals/planner?limit=10&h=1&normal=3&bad=30&records=10&rule=silent_failures", headers=HTMX
    )
    assert "<html" not in text(again)
    assert "graded base" not in text(again)


@pytest.mark.parametrize("query", ["limit=0", "limit=abc", "h=0", "records=99999999", "bad=-1"])
def test_planner_names_wrong_input(query: str) -> None:
    made(1)
    answer = client().get(f"/quality/of/totals/planner?{query}")
    assert answer.status_code == 422
    assert "note bad" in text(answer)


def test_batch_page_shows_counters_and_pauses() -> None:
    found = made(6)
    for _ in range(3):
        grade(reviewer(), ONE_WRONG)
    page = text(client().get(f"/batches/{found.pk}/breaker"))
    assert "Silent failures" in page
    assert "2.7 above the 10 % allowed" in page
    assert "secret until the batch is closed" in page
    assert "Who was told" in page


def test_closing_discloses_on_the_page() -> None:
    found = graded()
    assert client().post(f"/batches/{found.pk}/close", {"name": "another"}).status_code == 422
    answer = client().post(f"/batches/{found.pk}/close", {"name": found.name})
    assert answer.status_code == 302
    page = text(client().get(f"/batches/{found.pk}/breaker"))
    assert "secret until" not in page
    assert f"verify_sample {found.pk}" in page
    assert client().post(f"/batches/{found.pk}/close", {"name": found.name}).status_code == 422


def test_rate_is_only_ever_raised() -> None:
    found = graded()
    answer = client().post(f"/batches/{found.pk}/rate", {"rate": "50", "why": "less work"})
    assert answer.status_code == 422
    assert "at least the signed 100.00%" in text(answer)


def test_correction_goes_from_rows_to_owner() -> None:
    graded()
    wrong = Sample.objects.get(verdict="wrong")
    browser = client()
    assert browser.post(f"/quality/corrections/{wrong.pk}/ask", {"why": "it was billed"}).status_code == 302
    request = CorrectionRequest.objects.get()
    assert "13.00" in text(browser.get("/quality/corrections"))
    assert browser.post(f"/quality/corrections/{request.pk}/decide", {"why": "yes", "take": "1"}).status_code == 403
    owner = client("owner", Role.OWNER)
    assert owner.post(f"/quality/corrections/{request.pk}/decide", {"why": "", "take": "1"}).status_code == 422
    assert owner.post(f"/quality/corrections/{request.pk}/decide", {"why": "yes", "take": "1"}).status_code == 302
    assert Entry.objects.filter(action="correction taken up").exists()


def test_quality_page_asks_few_queries(django_assert_max_num_queries: object) -> None:
    graded()
    browser = client()
    browser.get("/quality/of/totals")
    with django_assert_max_num_queries(30):  # type: ignore[operator]
        browser.get("/quality/of/totals")
