"""Every page and act × every role × every method. A URL that is missing from the table fails the first test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from reviewapp.accounts.models import Role
from reviewapp.envelopes.models import Comment, Notice, ShadowResult, ShadowRun
from tests.reviewapp.conftest import World
from tests.reviewapp.factories import approved, person

FOREIGN = ("account/", "admin/")
"""Prefixes whose access is decided and tested by the packages that they come from."""

MEMBERS = ("reviewer", "owner", "manager", "operator")
PEOPLE = ("anonymous", "nobody", "outsider", *MEMBERS, "auditor")
"""``nobody`` has no role; ``outsider`` is an owner of another envelope; members hold one role on the envelope of the world;
``auditor`` is an operator of every envelope."""


def read(outsider: int, nobody: int = 404, auditor: int = 200) -> dict[str, int]:
    """A page that every member may read."""
    return {"anonymous": 302, "nobody": nobody, "outsider": outsider, **dict.fromkeys(MEMBERS, 200), "auditor": auditor}


def act(*allowed: str, status: int, outsider: int = 404) -> dict[str, int]:
    """An act of the ``allowed`` roles: members without it get 403. ``status`` is what the empty form of the test gets."""
    table = {"anonymous": 302, "nobody": 404, "outsider": outsider, "auditor": 403}
    return table | {role: status if role in allowed else 403 for role in MEMBERS}


ON_ENVELOPE = read(404)
LIST = read(200)
NO = dict.fromkeys(PEOPLE[1:], 405) | {"anonymous": 405}
ONLY_AUDITORS = {"anonymous": 302, "nobody": 404, "outsider": 403, **dict.fromkeys(MEMBERS, 403), "auditor": 200}

DECIDERS = ("reviewer", "owner", "manager")
"""Who acts on dead letters at all: an open one is a reviewer's, an escalated one an owner's or manager's."""

NOT_MINE = {person: 302 if person == "anonymous" else 404 for person in PEOPLE}
"""What is not there, or not this person's own: the two look alike."""

ONLY_OWNERS_OF_ALL = {"anonymous": 302, "nobody": 404, "outsider": 403, **dict.fromkeys(MEMBERS, 403), "auditor": 403}


def V1(world: World) -> dict[str, Any]:  # noqa: N802 - reads as the constant that it nearly is
    return {"slug": "totals", "number": 1}


def comment_on(world: World) -> Comment:
    return Comment.objects.create(version=world.version, text="Why?", author=person("author"))


def notice_on(world: World) -> Notice:
    return Notice.objects.create(version=world.version, text="it may not run")


def shadow_of(world: World) -> ShadowRun:
    about = {"canonical": world.version.canonical, "digest": world.version.digest, "max_calls": 7, "max_tokens": 9}
    version = world.version
    return ShadowRun.objects.create(version=version, against=version, started_by=person("author"), **about)


def result_of(world: World) -> dict[str, Any]:
    shadow = shadow_of(world)
    return {"pk": shadow.pk, "result": ShadowResult.objects.create(shadow=shadow, run=world.dead).pk}


TABLE: dict[str, tuple[Callable[[World], dict[str, Any]], dict[str, int], dict[str, int]]] = {
    # name: (arguments, GET, POST)
    "inbox": (lambda w: {}, read(200, nobody=200), NO),
    "batches": (lambda w: {}, LIST, NO),
    "batch-new": (
        lambda w: {},
        act("owner", "manager", status=200, outsider=200),
        act("owner", "manager", status=422, outsider=422),
    ),
    "batch": (lambda w: {"pk": w.batch.pk}, ON_ENVELOPE, NO),
    "batch-pause": (lambda w: {"pk": w.batch.pk}, NO, act("manager", status=422)),
    "batch-resume": (lambda w: {"pk": w.batch.pk}, NO, act("manager", status=422)),
    "run": (lambda w: {"pk": w.dead.pk}, ON_ENVELOPE, NO),
    "deadletters": (lambda w: {}, LIST, NO),
    "deadletter": (lambda w: {"pk": w.dead.dead_letter.pk}, ON_ENVELOPE, NO),
    "deadletter-next": (lambda w: {}, NO, act("reviewer", status=302, outsider=403)),
    "deadletter-claim": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act("reviewer", status=302)),
    "deadletter-release": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act(*DECIDERS, status=302)),
    "deadletter-heartbeat": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act(*DECIDERS, status=409)),
    "deadletter-check": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act(*DECIDERS, status=200)),
    "deadletter-draft-drop": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act(*DECIDERS, status=302)),
    "deadletter-decide": (lambda w: {"pk": w.dead.dead_letter.pk, "kind": "reject"}, NO, act(*DECIDERS, status=409)),
    "deadletter-reopen": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act(*DECIDERS, status=302)),
    "deadletter-return": (lambda w: {"pk": w.dead.dead_letter.pk}, NO, act(*DECIDERS, status=302)),
    "decision-undo": (lambda w: {"pk": 999_999}, NO, NOT_MINE),
    "record-result": (lambda w: {"pk": w.dead.record_id}, ON_ENVELOPE, NO),
    "deadletters-export": (lambda w: {}, {who: 400 if code == 200 else code for who, code in LIST.items()}, NO),
    "saved-view-save": (lambda w: {}, NO, {who: 302 if code == 200 else code for who, code in LIST.items()}),
    "saved-view-delete": (lambda w: {"pk": 999_999}, NO, NOT_MINE),
    "failure-groups": (lambda w: {}, LIST, NO),
    "failure-group": (lambda w: {"pk": w.dead.dead_letter.group_id}, ON_ENVELOPE, NO),
    "failure-group-change": (
        lambda w: {"pk": w.dead.dead_letter.group_id, "what": "note"},
        NO,
        act("owner", "manager", status=302),
    ),
    "bulk-jobs": (lambda w: {}, LIST, NO),
    "bulk-new": (lambda w: {}, act("reviewer", status=200, outsider=403), NO),
    "bulk-start": (lambda w: {}, NO, act("reviewer", status=422, outsider=403)),
    "bulk-job": (lambda w: {"pk": 999_999}, NOT_MINE, NO),
    "bulk-steer": (lambda w: {"pk": 999_999, "step": "pause"}, NO, NOT_MINE),
    "queue-effort": (lambda w: {}, LIST, NO),
    "queue-policy": (
        lambda w: {"slug": "totals"},
        act("owner", "manager", status=200),
        act("owner", "manager", status=422),
    ),
    "batch-cap": (lambda w: {"pk": w.batch.pk}, NO, act("owner", "manager", status=302)),
    "leases-release": (lambda w: {"pk": w.version.author_id}, NO, act("owner", "manager", status=302, outsider=302)),
    "envelopes": (lambda w: {}, LIST, NO),
    "envelope": (lambda w: {"slug": "totals"}, ON_ENVELOPE, NO),
    "version": (lambda w: {"slug": "totals", "number": 1}, ON_ENVELOPE, NO),
    "version-download": (lambda w: {"slug": "totals", "number": 1, "form": "json"}, ON_ENVELOPE, NO),
    "version-diff": (lambda w: {"slug": "totals", "before": 1, "after": 1}, ON_ENVELOPE, NO),
    "version-preview": (V1, ON_ENVELOPE, act(*MEMBERS, status=422) | {"auditor": 422}),
    "envelope-new": (lambda w: {}, ONLY_OWNERS_OF_ALL, ONLY_OWNERS_OF_ALL),
    "envelope-rules": (lambda w: {"slug": "totals"}, NO, act("operator", status=422) | {"auditor": 422}),
    "draft-new": (lambda w: {"slug": "totals"}, NO, act("owner", status=422)),
    "version-edit": (V1, act("owner", status=302), act("owner", status=422)),
    "version-complete": (V1, NO, act("owner", status=200)),
    "set-aside": (lambda w: V1(w) | {"pk": 1}, act("owner", status=404), NO),
    "version-submit": (V1, NO, act("owner", status=422)),
    "version-discard": (V1, NO, act("owner", status=422)),
    "version-beat": (V1, NO, act(*MEMBERS, status=204) | {"auditor": 204}),
    "version-approve": (V1, NO, act("owner", status=422)),
    "version-passkey": (V1, NO, act("owner", status=409)),
    "version-reject": (V1, NO, act("owner", status=422)),
    "version-send-back": (V1, NO, act("owner", status=422)),
    "version-withdraw": (V1, NO, act("owner", status=422)),
    "version-retire": (V1, NO, act("owner", "manager", "operator", status=422) | {"auditor": 422}),
    "version-comment": (V1, NO, act("owner", status=422)),
    "comment-resolve": (lambda w: V1(w) | {"pk": comment_on(w).pk}, NO, act("owner", status=422)),
    "version-try": (V1, act("owner", status=200), act("owner", status=422)),
    "shadow": (lambda w: V1(w) | {"pk": shadow_of(w).pk}, ON_ENVELOPE, NO),
    "shadow-stop": (lambda w: V1(w) | {"pk": shadow_of(w).pk}, NO, act("owner", status=302)),
    "shadow-result": (lambda w: V1(w) | result_of(w), ON_ENVELOPE, NO),
    "notice-seen": (lambda w: {"pk": notice_on(w).pk}, NO, act("operator", status=302) | {"auditor": 302}),
    "audit": (lambda w: {}, ONLY_AUDITORS, NO),
    "batch-breaker": (lambda w: {"pk": w.batch.pk}, ON_ENVELOPE, NO),
    "batch-close": (lambda w: {"pk": w.batch.pk}, NO, act("manager", status=422)),
    "batch-rate": (lambda w: {"pk": w.batch.pk}, NO, act("owner", "manager", status=422)),
    "samples": (lambda w: {}, act("reviewer", status=200, outsider=403), NO),
    "sample-next": (lambda w: {}, NO, act("reviewer", status=302, outsider=403)),
    "sample-undo": (lambda w: {}, NO, act("reviewer", status=302, outsider=403)),
    "sample": (lambda w: {"token": "not-mine"}, NOT_MINE, NO),
    "sample-save": (lambda w: {"token": "not-mine"}, NO, NOT_MINE),
    "sample-submit": (lambda w: {"token": "not-mine"}, NO, NOT_MINE),
    "sample-skip": (lambda w: {"token": "not-mine"}, NO, NOT_MINE),
    "quality": (lambda w: {}, act("owner", "manager", status=200, outsider=200), NO),
    "quality-envelope": (lambda w: {"slug": "totals"}, act("owner", "manager", status=200), NO),
    "quality-rows": (lambda w: {"slug": "totals"}, act("owner", "manager", status=200), NO),
    "quality-planner": (lambda w: {"slug": "totals"}, act("owner", "manager", status=200), NO),
    "corrections": (lambda w: {}, act("owner", "manager", status=200, outsider=200), NO),
    "correction-ask": (lambda w: {"pk": 999_999}, NO, NOT_MINE),
    "correction-decide": (lambda w: {"pk": 999_999}, NO, NOT_MINE),
}


def named(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern)
        if path.startswith(FOREIGN):
            continue
        if isinstance(pattern, URLPattern):
            yield pattern.name or path
        else:
            yield from named(pattern, path)


def test_names_every_url() -> None:
    assert set(named(get_resolver())) == set(TABLE)


@pytest.fixture
def everyone(world: World) -> dict[str, Client]:
    """A signed-in client for each kind of person."""
    other = approved(slug="other").envelope
    envelope = world.version.envelope
    users = {
        "nobody": person("nobody"),
        "outsider": person("outsider", Role.OWNER, envelope=other),
        "auditor": person("auditor", Role.OPERATOR),
        **{role: person(f"a-{role}", Role(role), envelope=envelope) for role in MEMBERS},
    }
    clients = {"anonymous": Client()}
    for name, user in users.items():
        clients[name] = Client()
        clients[name].force_login(user)
    return clients


@pytest.mark.parametrize("name", TABLE)
def test_answers_each_role(name: str, world: World, everyone: dict[str, Client]) -> None:
    arguments, on_get, on_post = TABLE[name]
    address = reverse(name, kwargs=arguments(world))
    for method, expected in (("get", on_get), ("post", on_post)):
        for htmx in ({}, {"HX-Request": "true"}):
            got = {who: getattr(client, method)(address, headers=htmx).status_code for who, client in everyone.items()}
            # Signing in comes before the method is looked at.
            assert got == expected | {"anonymous": 302}, (method, htmx)


@pytest.mark.parametrize("name", TABLE)
def test_refuses_other_methods(name: str, world: World, everyone: dict[str, Client]) -> None:
    address = reverse(name, kwargs=TABLE[name][0](world))
    for method in ("put", "patch", "delete"):
        assert getattr(everyone["manager"], method)(address).status_code == 405
