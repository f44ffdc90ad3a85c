"""The local executor: one process that claims queued runs by lease and works them in threads.

The database is the queue. A worker that is killed leaves leases that run out; whoever claims next goes on from what was stored.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from django.db.models import F
from django.utils import timezone

from controller.safe_summary import safe_summary
from reviewapp.batches.models import BatchStatus
from reviewapp.deadletters import jobs
from reviewapp.envelopes import shadow_work
from reviewapp.runs import actions
from reviewapp.runs.models import LIVE, Run, Worker

log = logging.getLogger(__name__)

POLL_SECONDS = 0.25
"""How long an idle worker waits before it looks again."""


class LocalExecutor:
    """``run()`` until ``stop()``: then nothing new is claimed, calls in flight come to their end, leases are given back."""

    def __init__(self, threads: int | None = None, *, name: str = "") -> None:
        self.threads = threads or settings.COUNTERSIGN_THREADS
        self.name = name or f"{socket.gethostname()[:60]}:{os.getpid()}"
        self.finished = 0
        self._stopping = threading.Event()
        self._held: dict[Future[bool], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def stop(self) -> None:
        self._stopping.set()

    def run(self, *, until_idle: bool = False, on_progress: Callable[[int], None] | None = None) -> int:
        """Works until stopped, or until no live run is left where ``until_idle``. Returns how many runs ended here."""
        now = timezone.now()
        Worker.objects.update_or_create(
            name=self.name, defaults={"threads": self.threads, "started_at": now, "heartbeat_at": now, "stopped_at": None}
        )
        beat = threading.Thread(target=self._heartbeat, name="heartbeat", daemon=True)
        beat.start()
        queue = jobs.in_thread(self.name, self._stopping)
        shadows = shadow_work.in_thread(self.name, self._stopping)
        try:
            with ThreadPoolExecutor(self.threads, thread_name_prefix="run") as pool:
                while not self._stopping.is_set():
                    self._turn(pool, on_progress)
                    if until_idle and not self._held and _is_idle():
                        break
                while self._held:
                    self._collect(timeout=None, on_progress=on_progress)
        finally:
            self._stopping.set()
            beat.join()
            queue.join()
            shadows.join()
            Worker.objects.filter(name=self.name).update(stopped_at=timezone.now(), finished=F("finished") + self.finished)
        return self.finished

    def _turn(self, pool: ThreadPoolExecutor, on_progress: Callable[[int], None] | None) -> None:
        """Fills the free threads, then waits for one to come free."""
        free = 2 * self.threads - len(self._held)
        claimed: list[tuple[int, int]] = []
        if free >= self.threads or not self._held:
            claimed = self._claim(free)
            for run_id, fence in claimed:
                future = pool.submit(_work, run_id, fence)
                with self._lock:
                    self._held[future] = (run_id, fence)
        if self._held:
            self._collect(timeout=POLL_SECONDS, on_progress=on_progress)
        elif not claimed:
            self._stopping.wait(POLL_SECONDS)

    def _claim(self, limit: int) -> list[tuple[int, int]]:
        try:
            return actions.claim(self.name, limit)
        except DatabaseError as error:
            # The database may be locked, restarting or full for a while; the queue is still there afterwards.
            log.error("could not claim runs; trying again: %s", safe_summary(error))
            self._stopping.wait(1)
            close_old_connections()
            return []

    def _collect(self, *, timeout: float | None, on_progress: Callable[[int], None] | None) -> None:
        done, _ = wait(self._held, timeout=timeout, return_when=FIRST_COMPLETED)
        for future in done:
            with self._lock:
                del self._held[future]
            ended = future.result()
            self.finished += ended
            if on_progress is not None:
                on_progress(int(ended))

    def _heartbeat(self) -> None:
        """Renews the leases that are held, three times in each lease, and says that this worker lives."""
        while not self._stopping.wait(settings.COUNTERSIGN_LEASE_SECONDS / 3) or self._held:
            try:
                with self._lock:
                    held = list(self._held.values())
                actions.renew(held)
                Worker.objects.filter(name=self.name).update(heartbeat_at=timezone.now())
            except DatabaseError as error:
                log.error("could not renew leases; trying again: %s", safe_summary(error))
                close_old_connections()
            if self._stopping.is_set():
                time.sleep(0.2)
        connections.close_all()


def _is_idle() -> bool:
    """No live run of an open batch is left. While the database cannot say, there may be."""
    try:
        return not Run.objects.filter(status__in=LIVE, batch__status=BatchStatus.OPEN).exists()
    except DatabaseError as error:
        log.error("could not look for runs; trying again: %s", safe_summary(error))
        close_old_connections()
        return False


def _work(run_id: int, fence: int) -> bool:
    """One run in one thread. Whatever goes wrong with it, the worker lives on; the run is taken up again after its lease."""
    try:
        return actions.execute(run_id, fence)
    except Exception as error:
        # Not the traceback: what an exception says may quote the document or the reply that it choked on.
        log.error("run %s could not be worked; it is taken up again when its lease ends: %s", run_id, safe_summary(error))
        close_old_connections()
        return False
