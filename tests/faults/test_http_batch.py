"""Real replies over real HTTP, from an endpoint that is slow, busy, drips and hangs up: what was asked is what was counted."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Sum

from benchmarks.real_input import ENVELOPES, is_cut, replies_of, submission
from benchmarks.scratch import signed
from controller.authoring import read
from controller.document import Document
from controller.evaluate import compile_checks
from reviewapp.batches.actions import submit_lines
from reviewapp.runs.executor import LocalExecutor
from reviewapp.runs.models import ENDED, Attempt, Outcome, Run
from tests.stub_endpoint import Asked, Behaviour, Disconnect, Drip, Fail, Say, StubEndpoint

pytestmark = pytest.mark.django_db(transaction=True)

FAULTS = 2
"""At most so many of a record's first requests go wrong: fewer than the envelope's infrastructure retries."""


class Troubled:
    """Serves the reply of the receipt that a request is about, after as many faults as the seeded plan has for it."""

    def __init__(self, replies: dict[str, str], seed: int) -> None:
        self._replies = replies
        chance = random.Random(seed)
        self._faults = {
            text: [chance.choice("bbdhpn") for _ in range(chance.choice([0, 0, 0, 1, 1, FAULTS]))] for text in replies
        }
        self._lock = threading.Lock()
        self.played: Counter[str] = Counter()

    def __call__(self, asked: Asked) -> Behaviour:
        document = next(text for text in self._replies if text in asked.text)
        reply = self._replies[document]
        right = Say(reply, "length" if is_cut(reply) else "stop", latency_s=0.01)
        with self._lock:
            faults = self._faults[document]
            fault = faults.pop() if faults else "none"
            self.played[fault] += 1
        return {
            "none": right,
            "b": Fail(429, retry_after="0.02", latency_s=0.01),
            "d": Disconnect("before"),
            "h": Disconnect("body", right),
            "p": Drip(right, interval_s=0.0002),
            "n": Fail(429, latency_s=0.01),
        }[fault]


@pytest.fixture
def troubled(shared_data: Path) -> tuple[Troubled, list[bytes], dict[str, Any]]:
    replies = replies_of(shared_data / "replies" / "base.jsonl")
    keys = frozenset(key for key, _ in replies)
    lines = list(submission(shared_data / "sroie" / "test_open.jsonl", keys))
    documents = {row["id"]: row["document"] for row in map(json.loads, lines)}
    return Troubled({documents[key]: reply.text or "" for (key, _), reply in replies.items()}, 5), lines, replies


def test_counts_every_request_of_a_troubled_endpoint(
    troubled: tuple[Troubled, list[bytes], dict[Any, Any]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, lines, replies = troubled
    # The endpoint's own breaker would let it rest for ten seconds; that is another test's subject.
    monkeypatch.setattr("controller.endpoint_breaker.FAILURES", 10_000)
    monkeypatch.setenv("COUNTERSIGN_MODEL", "stub")
    source = (ENVELOPES / "sroie-strict.yaml").read_text(encoding="utf-8").replace("[250, 8000]", "[1, 20]")
    submitted = submit_lines(lines, version=signed(source), name="http", by=None)
    with StubEndpoint(script) as stub:
        settings.COUNTERSIGN_ENDPOINT = stub.url
        LocalExecutor(8).run(until_idle=True)
        asked = stub.count
    runs = Run.objects.filter(batch=submitted.batch)
    assert (runs.count(), runs.filter(status__in=ENDED).count(), Outcome.objects.count()) == (len(lines),) * 3
    assert asked == Attempt.objects.count() == runs.aggregate(n=Sum("calls"))["n"]
    assert min(script.played[fault] for fault in "bdhpn") > 3
    content = read(source)
    judge = compile_checks(content.contract, content.checks)
    for run in runs.select_related("record__payload"):
        report = judge.evaluate(Document(run.record.payload.document), replies[run.record.key, 1])
        assert (run.status == "accepted") == report.passed
        assert run.final_class == ("" if report.final_class is None else report.final_class.value)
