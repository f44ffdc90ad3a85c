from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controller.reply import Fault, InfrastructureError
from reviewapp.accounts.models import Role
from reviewapp.runs.models import AttemptPayload, Run
from reviewapp.runs.presentation import MOST_CHARS
from tests.reviewapp.conftest import GOOD, World, work_all
from tests.reviewapp.factories import approved, batch

SignIn = Callable[..., Any]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _reviewer(sign_in: SignIn) -> None:
    sign_in(Role.REVIEWER)


def page(client: Client, run: Run, query: str = "") -> str:
    return client.get(run.get_absolute_url() + query).content.decode()


def test_tells_the_story(client: Client, world: World) -> None:
    html = page(client, world.later)
    assert "Accepted on attempt 2" in html
    assert html.index("Attempt 2</a>") < html.index("Attempt 1</a>")
    assert "/total: copy the number as printed." in html
    assert re.search(r'<meter [^>]*max="4000"[^>]*value="\d+"', html)
    assert "Keys on this page" in html


def test_lights_evidence_in_document(client: Client, world: World) -> None:
    html = page(client, world.first)
    mark = re.search(r'<mark class="evidence is-passed" data-evidence="([^"]+)"[^>]*>15\.00</mark>', html)
    assert mark is not None
    assert f'data-finding="{mark[1]}"' in html


def test_words_say_why_it_stopped(client: Client, world: World) -> None:
    html = page(client, world.dead)
    assert "The same checks failed at the same places as before." in html
    assert "total-printed" in html
    assert "99.00" in html


def test_chooses_attempt_by_url(client: Client, world: World) -> None:
    assert "evidence of attempt 1" in page(client, world.later, "?attempt=1")
    assert "evidence of attempt 2" in page(client, world.later, "?attempt=ä")


def test_foreign_text_stays_text(client: Client, model_says: Any) -> None:
    nasty = "<script>alert(1)</script>\u202e</mark><img src=x onerror=alert(1)> Total 15.00"
    model_says(lambda request: json.dumps({"total": "15.00", "qty": 2}) + nasty)
    batch(approved(), {nasty[:25]: nasty}, name="<b>")
    work_all()
    html = page(client, Run.objects.get())
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "turn the direction of reading" in html


def test_half_characters_do_not_break(client: Client, model_says: Any) -> None:
    model_says(lambda request: '{"total":"\ud800","qty":2}')
    batch(approved(), {"a": "Total 15.00"})
    work_all()
    assert client.get(Run.objects.get().get_absolute_url()).status_code == 200


def test_long_texts_are_cut_until_asked(client: Client, model_says: Any) -> None:
    model_says(lambda request: GOOD)
    batch(
        approved(limits__caps__document=100_000, limits__total_tokens=900_000, model__context_window=200_000),
        {"a": "x" * 60_000 + " Total 15.00 END-OF-IT"},
    )
    work_all()
    run = Run.objects.get()
    assert (run.status, run.fuse, run.final_class) == ("accepted", "", "")
    short, whole = page(client, run), page(client, run, "?all=1")
    assert "END-OF-IT" not in short
    assert f"{60_022 - MOST_CHARS:,} more characters" in short
    assert "END-OF-IT" in whole


def test_infrastructure_is_told_apart(client: Client, model_says: Any) -> None:
    model_says(lambda request: InfrastructureError(Fault.CONFIGURATION, "no address", retryable=False))
    batch(approved(), {"a": "Total 15.00"})
    work_all()
    html = page(client, Run.objects.get())
    assert "The endpoint is not set up for this call." in html
    assert "no evidence yet" in html


def test_waits_for_running_call(client: Client, world: World) -> None:
    AttemptPayload.objects.filter(attempt__run=world.later).delete()
    assert client.get(world.later.get_absolute_url()).status_code == 200


def test_live_run_renews_its_state(client: Client, model_says: Any) -> None:
    model_says(lambda request: GOOD)
    batch(approved(), {"a": "Total 15.00"})
    run = Run.objects.get()
    assert 'hx-trigger="every 2s"' in page(client, run)
    work_all()
    fragment = client.get(run.get_absolute_url(), headers={"HX-Request": "true"}).content.decode()
    assert fragment.startswith('<span id="now"')
    assert "hx-trigger" not in fragment
    assert "It has ended" in fragment


def test_asks_few_queries(client: Client, world: World, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(7):
        page(client, world.first)
    with django_assert_max_num_queries(7):
        page(client, world.dead)


def test_unknown_run_is_404(client: Client, world: World) -> None:
    assert client.get("/runs/999999").status_code == 404
