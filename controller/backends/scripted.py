"""A model that says what it was told to say: for tests, and for people who test their envelopes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeAlias

from controller.reply import Fault, InfrastructureError, Reply, Request

Line: TypeAlias = "Reply | InfrastructureError | str"
"""One answer: a reply, an error to raise, or the text of a reply that stopped by itself."""


class Scripted:
    """Answers from a list, in order, or from a function of the request. Thread-safe; ``requests`` logs every call.

    A list that has run out is a configuration error, not a repetition: a test sees each call that it did not expect.
    """

    def __init__(self, script: Iterable[Line] | Callable[[Request], Line]) -> None:
        self._answer = script if callable(script) else None
        self._lines = [] if callable(script) else list(script)
        self._lock = threading.Lock()
        self.requests: list[Request] = []

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        """The next answer. With no time left it raises a timeout and logs nothing, as an endpoint would see nothing."""
        if timeout_ms <= 0:
            raise InfrastructureError(Fault.TIMEOUT, "no time was left for the call")
        with self._lock:
            place = len(self.requests)
            self.requests.append(request)
        line = self._answer(request) if self._answer is not None else self._at(place)
        if isinstance(line, InfrastructureError):
            raise line
        return Reply(text=line) if isinstance(line, str) else line

    def _at(self, place: int) -> Line:
        if place < len(self._lines):
            return self._lines[place]
        return InfrastructureError(Fault.CONFIGURATION, f"the script has no answer for call {place + 1}", retryable=False)
