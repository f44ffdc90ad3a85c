from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from controller.backends.scripted import Scripted
from controller.endpoint_breaker import FAILURES
from controller.reply import Fault, InfrastructureError, Request
from reviewapp.batches import endpoint_states
from reviewapp.batches.models import EndpointState
from reviewapp.runs import actions
from reviewapp.runs.models import Run
from tests.reviewapp.factories import approved, batch

pytestmark = pytest.mark.django_db

DOCUMENT = "2 teas\nTotal 15.00"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """An endpoint that fails until it is told to work; it keeps what it was asked."""
    told: dict[str, object] = {"works": False, "asked": 0}

    def answer(request: Request) -> object:
        told["asked"] = int(told["asked"]) + 1  # type: ignore[call-overload]
        return '{"total":"15.00","qty":2}' if told["works"] else InfrastructureError(Fault.CONNECTION, "refused")

    backend = Scripted(answer)  # type: ignore[arg-type]
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
    monkeypatch.setattr("reviewapp.runs.actions._sleep", lambda milliseconds: None)
    actions._prepared.cache_clear()
    return told


def work() -> None:
    for run_id, fence in actions.claim("test", 20):
        actions.execute(run_id, fence)


def test_leaves_a_dead_endpoint_alone(endpoint: dict[str, object]) -> None:
    batch(approved(infrastructure={"retries": 9, "backoff_ms": [1, 1]}), {f"r{i}": DOCUMENT for i in range(4)})
    work()
    assert endpoint["asked"] == FAILURES
    work()
    assert endpoint["asked"] == FAILURES
    row = EndpointState.objects.get()
    assert (row.alias, row.state, row.last_fault) == ("default", "open", "connection")
    assert Run.objects.filter(ended_at=None, not_before=row.until).count() == 4
    assert sum(Run.objects.values_list("calls", flat=True)) == FAILURES


def test_probes_once_and_goes_on(endpoint: dict[str, object]) -> None:
    batch(approved(infrastructure={"retries": 9, "backoff_ms": [1, 1]}), {f"r{i}": DOCUMENT for i in range(4)})
    work()
    endpoint["works"] = True
    EndpointState.objects.update(until=timezone.now())
    Run.objects.filter(ended_at=None).update(not_before=None)
    work()
    assert EndpointState.objects.get().state == "closed"
    assert Run.objects.filter(status="accepted").count() == 4


def test_one_worker_gets_the_probe() -> None:
    for _ in range(FAILURES):
        endpoint_states.failed("default", Fault.TIMEOUT)
    now = timezone.now() + timedelta(hours=1)
    assert endpoint_states.may_call("default", lambda: 8_000, now) is None
    assert now < endpoint_states.may_call("default", lambda: 8_000, now) <= now + timedelta(seconds=13)
    assert endpoint_states.may_call("other", lambda: 8_000, now) is None
