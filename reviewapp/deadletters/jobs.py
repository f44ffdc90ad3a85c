"""The queue's own work in the background: bulk jobs, and deferred letters that come back. Runs beside the executor of runs."""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, close_old_connections, connections

from controller.safe_summary import safe_summary
from reviewapp.deadletters.actions import bulk
from reviewapp.deadletters.actions.waking import wake_deferred

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0


def tick(worker: str) -> int:
    """One piece of work: some letters woken, one chunk of one job. How many letters; 0 means that there was nothing to do."""
    woken = wake_deferred()
    taken = bulk.take_job(worker)
    return woken + (bulk.work_chunk(*taken) if taken is not None else 0)


def work(worker: str, stop: threading.Event, *, until_idle: bool = False) -> int:
    """Ticks until stopped, or until there is nothing left to do. Returns how many letters were worked on."""
    total = 0
    while not stop.is_set():
        try:
            done = tick(worker)
        except DatabaseError as error:
            # Locked, restarting or full for a while: what was not committed is done again.
            log.error("the queue's work was interrupted; trying again: %s", safe_summary(error))
            close_old_connections()
            stop.wait(POLL_SECONDS)
            continue
        total += done
        if not done:
            if until_idle:
                return total
            stop.wait(POLL_SECONDS)
    return total


def in_thread(worker: str, stop: threading.Event) -> threading.Thread:
    """The same in a thread of its own, with a connection of its own, started."""

    def run() -> None:
        try:
            work(worker, stop)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name="queue", daemon=True)
    thread.start()
    return thread
