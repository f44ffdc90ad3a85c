"""When an endpoint is left alone: a breaker per alias, apart from the batch's own. Pure; times are milliseconds.

``FAILURES`` calls in a row without a usable answer open it. While it is open nothing is sent and nothing is counted against a
run. When the rest is over, one call probes (half open): an answer closes it, another failure doubles the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from controller.reply import Fault

FAILURES = 5
REST_MS = 10_000
LONGEST_REST_MS = 300_000
COUNTED = frozenset({Fault.TIMEOUT, Fault.SERVER, Fault.CONNECTION, Fault.PROTOCOL})
"""Not rate limits (the endpoint lives and says when to come back), not a worker's own death, not a missing setting."""


class State(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``failures`` in a row, ``opened`` times in a row. ``until_ms`` ends the rest, or the probe's time when half open."""

    state: State = State.CLOSED
    failures: int = 0
    opened: int = 0
    until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may be sent until then."""

    until_ms: int


def ask(endpoint: Endpoint, now_ms: int, probe_ms: int) -> Endpoint | Wait:
    """May a call start? The endpoint as it is then (half open when this call is the probe), or when to ask again.

    ``probe_ms`` is how long the probe may take; a probe whose worker died lets the next one through after that.
    """
    if endpoint.state is State.CLOSED:
        return endpoint
    if now_ms < endpoint.until_ms:
        return Wait(endpoint.until_ms)
    return replace(endpoint, state=State.HALF_OPEN, until_ms=now_ms + probe_ms)


def answered(endpoint: Endpoint) -> Endpoint:
    """The endpoint gave a reply: whatever it says, the endpoint works."""
    return Endpoint()


def failed(endpoint: Endpoint, fault: Fault, now_ms: int) -> Endpoint:
    """A call without a reply. Calls that were under way when it opened change nothing more."""
    if fault not in COUNTED or endpoint.state is State.OPEN:
        return endpoint
    failures = endpoint.failures + 1
    if endpoint.state is State.CLOSED and failures < FAILURES:
        return replace(endpoint, failures=failures)
    rest = min(LONGEST_REST_MS, REST_MS << min(endpoint.opened, 10))
    return Endpoint(State.OPEN, failures, endpoint.opened + 1, now_ms + rest)
