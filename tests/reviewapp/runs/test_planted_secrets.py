"""Secrets in a document and in replies: in no log, no reason, no event, no dead letter's words."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from controller.backends.scripted import Scripted
from reviewapp.deadletters.models import DeadLetter
from reviewapp.runs import actions
from reviewapp.runs.executor import _work
from reviewapp.runs.models import Event, Outcome, Run
from tests.reviewapp.factories import approved, batch

pytestmark = pytest.mark.django_db

KEY = "sk-planted-0f4c1d77"
CARD = "4929123412341234"
DOCUMENT = f"Total 15.00\ncard {CARD}\nkey {KEY}\r\n"


def work(backend: Any, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Run:
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
    actions._prepared.cache_clear()
    batch(approved(**changes), {"a": DOCUMENT})
    ((run_id, fence),) = actions.claim("worker", 1)
    _work(run_id, fence)
    actions._prepared.cache_clear()
    return Run.objects.get(pk=run_id)


def test_replies_leave_no_secret_behind(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    replies = [
        json.dumps({"total": "15.00", "qty": CARD}),
        json.dumps({"total": KEY, CARD: 1, KEY + "\r\n": [CARD]}),
        f"{KEY} {CARD}",
    ]
    run = work(Scripted(replies), monkeypatch, limits__no_progress=9)
    assert run.status == "dead_lettered"
    letter = DeadLetter.objects.get(run=run)
    written = [caplog.text, letter.failing, letter.fuse, letter.request, run.state, Outcome.objects.get(run=run).result]
    written += list(Event.objects.filter(run=run).values_list("why", flat=True))
    assert len(written) > 8
    assert not [text for text in written if KEY in text or CARD in text]


def test_crash_is_logged_without_its_words(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def choke(request: Any) -> str:
        raise RuntimeError(f"cannot encode {request.messages[1].content}")

    # The connection belongs to the test: a worker would close a broken one.
    monkeypatch.setattr("reviewapp.runs.executor.close_old_connections", lambda: None)
    run = work(Scripted(choke), monkeypatch)
    assert run.status == "calling"
    assert "RuntimeError at " in caplog.text
    assert CARD not in caplog.text
    assert KEY not in caplog.text
