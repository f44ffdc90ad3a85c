from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviewapp.accounts.models import Role
from reviewapp.audit.actions import append
from tests.reviewapp.conftest import World

SignIn = Callable[..., Any]
pytestmark = pytest.mark.django_db


def test_lists_who_did_what(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    html = client.get(reverse("audit")).content.decode()
    assert "version approved by one" in html
    assert "records submitted" in html


def test_filters_by_url(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    for query, actions in (
        ({"action": "batch opened"}, {"batch opened"}),
        ({"subject": "version", "action": "draft created"}, {"draft created"}),
        ({"actor": "nobody of that name"}, set()),
    ):
        rows = client.get(reverse("audit"), query).context["page"].rows
        assert {entry.action for entry in rows} == actions


def test_fragment_is_the_rows(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    html = client.get(reverse("audit"), headers={"HX-Request": "true"}).content.decode().strip()
    assert html.startswith('<div id="rows">')


def test_pages_by_id(client: Client, sign_in: SignIn, world: World, django_assert_max_num_queries: Any) -> None:
    user = sign_in(Role.MANAGER)
    for n in range(60):
        append("looked", "batch", n, by=user, reason="<script>")
    with django_assert_max_num_queries(4):
        first = client.get(reverse("audit"))
    assert "<script>" not in first.content.decode().replace("<script src", "")
    assert len(first.context["page"].rows) == 50
    second = client.get(reverse("audit"), {"before": first.context["page"].next})
    assert second.context["page"].rows[0].pk == first.context["page"].next - 1
