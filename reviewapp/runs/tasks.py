"""Celery's door to runs: an id in, one action. A message is a hint that may be lost, late or doubled; the database decides."""

from __future__ import annotations

import os
import socket

from reviewapp.celery import app
from reviewapp.runs import actions
from reviewapp.runs.heartbeat import Heartbeat

_HEARTBEAT = Heartbeat()


@app.task(name="runs.execute", ignore_result=True)
def execute_run(run_id: int) -> None:
    """Claims the run and works it as far as it goes. Nothing happens where it ended, waits, or is held by another worker."""
    fence = actions.claim_one(f"celery {socket.gethostname()[:60]}:{os.getpid()}", run_id)
    if fence is None:
        return
    with _HEARTBEAT.held(run_id, fence):
        actions.execute(run_id, fence)
