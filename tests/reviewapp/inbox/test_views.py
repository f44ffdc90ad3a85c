from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from reviewapp.accounts.models import Role
from reviewapp.batches.actions import pause_batch
from reviewapp.envelopes.actions import draft_version, submit_for_review
from reviewapp.envelopes.models import Version
from tests.envelopes import data
from tests.reviewapp.conftest import World
from tests.reviewapp.factories import person

SignIn = Callable[..., Any]
pytestmark = pytest.mark.django_db


@pytest.fixture
def in_review(world: World) -> Version:
    author = person("author", Role.OWNER)
    draft = draft_version(world.version.envelope, yaml.safe_dump(data(reminder="Slowly.")), by=author)
    return submit_for_review(draft, by=author)


def waiting(client: Client) -> tuple[int, int, int]:
    found = client.get(reverse("inbox")).context["waiting"]
    return len(found.letters), len(found.versions), len(found.batches)


def test_waits_by_role(client: Client, sign_in: SignIn, world: World, in_review: Version) -> None:
    pause_batch(world.batch, by=person("manager", Role.MANAGER), why="look")
    found = {}
    for role in Role:
        sign_in(role)
        found[role.value] = waiting(client)
    assert found == {"reviewer": (1, 0, 0), "owner": (0, 1, 0), "manager": (0, 0, 1), "operator": (0, 0, 0)}


def test_own_draft_never_waits(client: Client, in_review: Version) -> None:
    client.force_login(in_review.author)
    assert waiting(client) == (0, 0, 0)


def test_counts_and_links_letters(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    html = client.get(reverse("inbox")).content.decode()
    assert 'href="/dead-letters/?envelope=totals"' in html


def test_empty_inbox_says_so(client: Client, sign_in: SignIn, db: None) -> None:
    sign_in(Role.REVIEWER)
    assert "Nothing waits for you" in client.get(reverse("inbox")).content.decode()


def test_without_role_says_who_helps(client: Client, sign_in: SignIn, db: None) -> None:
    sign_in()
    assert "You have no role yet" in client.get(reverse("inbox")).content.decode()


def test_fragment_is_the_list(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    html = client.get(reverse("inbox"), headers={"HX-Request": "true"}).content.decode().strip()
    assert html.startswith('<div id="waiting">')


def test_asks_few_queries(client: Client, sign_in: SignIn, world: World, django_assert_max_num_queries: Any) -> None:
    sign_in(*Role)
    with django_assert_max_num_queries(12):
        client.get(reverse("inbox"))
