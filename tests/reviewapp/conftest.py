"""Fixtures of the page tests: people by role, and a world of batches worked by a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client

from controller.backends.scripted import Line, Scripted
from controller.reply import Request
from reviewapp.accounts.models import Role, User
from reviewapp.batches.models import Batch
from reviewapp.envelopes.models import Version
from reviewapp.runs import actions
from reviewapp.runs.models import Run
from tests.reviewapp.factories import approved, batch, person

GOOD = '{"total":"15.00","qty":2}'
WRONG = '{"total":"99.00","qty":2}'
DOCUMENT = "2 teas\nTotal 15.00"


@pytest.fixture
def model_says(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Request], Line]], None]:
    """Sets the function that answers every model call of the test."""

    def use(answer: Callable[[Request], Line]) -> None:
        backend = Scripted(answer)
        monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
        actions._prepared.cache_clear()

    return use


def work_all() -> None:
    """Works every run that can be worked now, in this thread."""
    while claimed := actions.claim("page tests", 50):
        for run_id, fence in claimed:
            actions.execute(run_id, fence)


@dataclass(frozen=True)
class World:
    """One approved version; a batch with a run accepted at once, one accepted on attempt 2, and one dead letter."""

    version: Version
    batch: Batch
    first: Run
    later: Run
    dead: Run


def said(request: Request) -> Line:
    """Records named ``first…`` are answered well, ``later…`` from attempt 2 on, all others wrongly every time."""
    well = request.record.startswith("first") or (request.record.startswith("later") and request.attempt > 1)
    return GOOD if well else WRONG


@pytest.fixture
def world(db: None, model_says: Callable[[Callable[[Request], Line]], None]) -> World:
    model_says(said)
    # A breaker that never trips: pages are what is tested here.
    version = approved(breaker={"dead_letters": {"limit": 0.99, "h": 1000}, "silent": {"limit": 0.99, "h": 1000}})
    made = batch(version, {"first": DOCUMENT, "later": DOCUMENT, "dead": DOCUMENT}, name="Monday")
    work_all()
    first, later, dead = (Run.objects.get(record__key=key) for key in ("first", "later", "dead"))
    return World(version, made, first, later, dead)


@pytest.fixture
def sign_in(client: Client, db: None) -> Callable[..., User]:
    """Signs the test's client in as a person with these roles: on one envelope, or on all."""

    def sign_in(*roles: Role, envelope: object = None, name: str = "") -> User:
        user = person(name or "-".join(["someone", *roles]), *roles, envelope=envelope)  # type: ignore[arg-type]
        client.force_login(user)
        return user

    return sign_in
