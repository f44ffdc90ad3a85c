"""Keeps the leases of this process alive while its runs are worked."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection

from controller.safe_summary import safe_summary
from reviewapp.runs import actions

log = logging.getLogger(__name__)


class Heartbeat:
    """One thread per process renews every lease that is held in it, three times in each lease; it ends when none is left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[tuple[int, int]] = set()
        self._beats: tuple[int, threading.Thread] | None = None
        self._empty = threading.Event()

    @contextmanager
    def held(self, run_id: int, fence: int) -> Iterator[None]:
        """The lease of a claimed run does not end while the block runs, unless the process dies."""
        with self._lock:
            self._held.add((run_id, fence))
            self._empty.clear()
            # A pool that forks copies this object, but no thread: each process starts its own.
            if self._beats is None or self._beats[0] != os.getpid() or not self._beats[1].is_alive():
                thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
                self._beats = (os.getpid(), thread)
                thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._held.discard((run_id, fence))
                if not self._held:
                    self._empty.set()

    def _beat(self) -> None:
        while True:
            self._empty.wait(settings.COUNTERSIGN_LEASE_SECONDS / 3)
            with self._lock:
                held = list(self._held)
                if not held:
                    self._beats = None
                    break
            try:
                actions.renew(held)
            except DatabaseError as error:
                log.error("could not renew leases; trying again: %s", safe_summary(error))
                close_old_connections()
        connection.close()
