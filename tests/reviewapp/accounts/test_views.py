from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from reviewapp.accounts.models import Role
from tests.reviewapp.conftest import World
from tests.reviewapp.factories import person

SignIn = Callable[..., Any]
pytestmark = pytest.mark.django_db


def test_signs_in_and_out(client: Client) -> None:
    user = person("someone", Role.REVIEWER)
    user.set_password("a long enough one")
    user.save()
    response = client.post(reverse("account_login"), {"login": "someone", "password": "a long enough one"})
    assert response.headers["Location"] == reverse("inbox")
    assert client.get(reverse("account_logout")).status_code == 200
    client.post(reverse("account_logout"))
    assert client.get(reverse("inbox")).status_code == 302


def test_wrong_password_is_told(client: Client) -> None:
    response = client.post(reverse("account_login"), {"login": "someone", "password": "wrong"})
    assert 'class="note bad"' in response.content.decode()


@pytest.mark.parametrize(
    "name",
    ["account_login", "account_logout", "account_change_password", "mfa_index", "mfa_activate_totp", "mfa_list_webauthn"],
)
def test_account_pages_share_the_look(client: Client, sign_in: SignIn, name: str) -> None:
    if name != "account_login":
        sign_in(Role.REVIEWER)
        user = person("someone-reviewer")
        user.set_password("a long enough one")
        user.save()
        client.post(reverse("account_login"), {"login": user.username, "password": "a long enough one"})
    html = client.get(reverse(name), follow=True).content.decode()
    assert '<div class="narrow flow">' in html
    assert "· Countersign</title>" in html


def test_nobody_signs_up_alone(client: Client) -> None:
    assert client.post(reverse("account_signup"), {"username": "x", "password1": "y", "password2": "y"}).status_code == 200
    assert "<form" not in client.get(reverse("account_signup")).content.decode()


@pytest.mark.parametrize(
    ("roles", "shown", "hidden"),
    [
        ((), {"Inbox"}, {"Dead letters", "Batches", "Envelopes", "Audit"}),
        ((Role.REVIEWER,), {"Inbox", "Dead letters", "Batches", "Envelopes"}, {"Audit"}),
        ((Role.MANAGER,), {"Inbox", "Dead letters", "Batches", "Envelopes", "Audit"}, set()),
    ],
)
def test_bar_offers_by_role(
    client: Client, sign_in: SignIn, roles: tuple[Role, ...], shown: set[str], hidden: set[str]
) -> None:
    sign_in(*roles)
    html = client.get(reverse("inbox")).content.decode()
    nav = html[html.index("<nav") : html.index("</nav>")]
    offered = set(re.findall(r">([^<>]+)</a>", nav))
    assert shown <= offered
    assert not hidden & offered
    assert re.findall(r'aria-current="page">([^<]+)', nav) == ["Inbox"]


def test_bar_marks_the_section(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    html = client.get(world.dead.get_absolute_url()).content.decode()
    assert re.findall(r'aria-current="true">([^<]+)', html) == ["Batches"]


def test_lost_pages_have_the_look(client: Client, sign_in: SignIn) -> None:
    sign_in(Role.REVIEWER)
    response = client.get("/no/such/page")
    assert response.status_code == 404
    assert "There is no such page" in response.content.decode()


def test_forbidden_pages_have_the_look(client: Client, sign_in: SignIn) -> None:
    sign_in(Role.REVIEWER)
    response = client.get(reverse("audit"))
    assert response.status_code == 403
    assert "You may not do this" in response.content.decode()


def test_broken_page_needs_no_database() -> None:
    from django.views.defaults import server_error

    response = server_error(RequestFactory().get("/"))
    assert "Something broke" in response.content.decode()


def test_stale_form_is_told(sign_in: SignIn, client: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(sign_in(Role.MANAGER))
    response = strict.post(reverse("batch-new"))
    assert response.status_code == 403
    assert "The form was too old" in response.content.decode()


def test_policy_allows_no_inline_code(client: Client, sign_in: SignIn) -> None:
    sign_in(Role.MANAGER)
    response = client.get(reverse("inbox"))
    policy, html = response.headers["Content-Security-Policy"], response.content.decode()
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert " style=" not in html
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"\son[a-z]+=", html)
