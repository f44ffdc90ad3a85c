"""Hands claimable runs to Celery, a bounded window at a time. The database is the queue; the broker holds hints only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from django.conf import settings

from reviewapp.runs.queue import free_runs

Send = Callable[[int], object]


class Dispatcher:
    """``turn()`` sends what may be worked and was not sent lately. At most ``window`` ids wait in the broker unclaimed.

    An id that nobody claimed within ``patience_s`` is sent again: its message may have been lost. Two dispatchers, or one that
    was started again, double messages; a doubled message claims nothing.
    """

    def __init__(
        self, send: Send, *, window: int = 200, patience_s: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._window = window
        self._patience = settings.COUNTERSIGN_LEASE_SECONDS if patience_s is None else patience_s
        self._now = now
        self._sent: dict[int, float] = {}

    def turn(self) -> int:
        """Returns how many ids were sent."""
        waiting = [pk for pk, _ in free_runs(self._window)]
        now = self._now()
        # What is no longer claimable was claimed or has ended: it does not count against the window any more.
        self._sent = {pk: at for pk, at in self._known(waiting) if now - at < self._patience}
        due = [pk for pk in waiting if pk not in self._sent]
        for pk in due:
            self._send(pk)
            self._sent[pk] = now
        return len(due)

    def _known(self, waiting: Iterable[int]) -> list[tuple[int, float]]:
        return [(pk, self._sent[pk]) for pk in waiting if pk in self._sent]
