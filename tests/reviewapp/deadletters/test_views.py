from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviewapp.accounts.models import Role
from reviewapp.deadletters.models import DeadLetter
from tests.reviewapp.conftest import DOCUMENT, World, work_all
from tests.reviewapp.factories import approved, batch

SignIn = Callable[..., Any]
HTMX = {"HX-Request": "true"}
pytestmark = pytest.mark.django_db


def keys(client: Client, query: str = "") -> list[str]:
    return [letter.run.record.key for letter in client.get(reverse("deadletters") + query).context["page"].rows]


def test_lists_longest_waiting_first(client: Client, sign_in: SignIn, world: World) -> None:
    batch(world.version, {"dead-2": DOCUMENT}, name="Tuesday")
    work_all()
    sign_in(Role.REVIEWER)
    html = client.get(reverse("deadletters")).content.decode()
    assert keys(client) == ["dead", "dead-2"]
    assert "2 dead letters" in html
    assert "open, in all envelopes that you may see" in html
    assert "total-printed /total" in html


def test_filters_by_url(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    letter = DeadLetter.objects.get()
    found = {
        query: len(keys(client, f"?{query}"))
        for query in (
            f"signature={letter.signature}",
            "signature=" + "0" * 32,
            "signature=x",
            "envelope=totals",
            "envelope=unknown",
            "fuse=same_signature",
            "fuse=elapsed",
            "class=business",
            "class=schema",
            f"batch={letter.batch_id}",
            "batch=x",
            "status=resolved",
            "status=any",
        )
    }
    assert list(found.values()) == [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]


def test_fragment_carries_count_and_filter(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    html = client.get(reverse("deadletters"), {"fuse": "elapsed"}, headers=HTMX).content.decode().strip()
    assert html.startswith('<div id="rows">')
    assert "0 dead letters" in html
    assert "stopped by elapsed" in html
    assert "None match the filter" in html


def test_shows_only_my_envelopes(client: Client, sign_in: SignIn, world: World) -> None:
    other = approved(slug="other")
    batch(other, {"theirs": DOCUMENT}, name="other")
    work_all()
    sign_in(Role.REVIEWER, envelope=other.envelope)
    assert keys(client) == ["theirs"]
    assert keys(client, "?envelope=totals") == []


def test_pages_by_id(client: Client, sign_in: SignIn, world: World, django_assert_max_num_queries: Any) -> None:
    sign_in(Role.REVIEWER)
    with django_assert_max_num_queries(10):
        keys(client)
    batch(world.version, {f"dead-{n:02}": DOCUMENT for n in range(60)}, name="many")
    work_all()
    with django_assert_max_num_queries(10):
        first = client.get(reverse("deadletters"))
    second = keys(client, f"?after={first.context['page'].next}")
    assert (len(first.context["page"].rows), len(second)) == (50, 11)


def test_empty_list_explains(client: Client, sign_in: SignIn, db: None) -> None:
    sign_in(Role.REVIEWER)
    assert "Every run so far ended by itself" in client.get(reverse("deadletters")).content.decode()
