from __future__ import annotations

import gc
import tracemalloc

import pytest

from controller.backends.scripted import Scripted
from reviewapp.runs import actions
from reviewapp.runs.models import Run
from tests.faults.endings import number_in, receipts, right_reply

pytestmark = pytest.mark.django_db

WARM, MORE = 50, 150


class Forgetful(Scripted):
    """Keeps no log of its requests: only what the executor keeps is measured."""

    def complete(self, request, timeout_ms):  # type: ignore[no-untyped-def]
        self.requests.clear()
        return super().complete(request, timeout_ms)


def work(count: int) -> None:
    done = 0
    while done < count:
        for run_id, fence in actions.claim("memory", min(16, count - done)):
            done += actions.execute(run_id, fence)


def test_memory_does_not_grow_with_finished_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Forgetful(lambda request: right_reply(number_in(request.messages[1].content)))
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
    actions._prepared.cache_clear()
    receipts(WARM + MORE)
    tracemalloc.start()
    try:
        work(WARM)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work(MORE)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        actions._prepared.cache_clear()
    assert Run.objects.filter(status="accepted").count() == WARM + MORE
    assert grown < 60_000, f"{grown / MORE:.0f} bytes are kept per finished run"
