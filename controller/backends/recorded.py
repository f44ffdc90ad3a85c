"""A model that repeats what was recorded. It never calls anything."""

from __future__ import annotations

from collections.abc import Mapping

from controller.backends.cassette import Cassette, Header, Key
from controller.reply import Fault, InfrastructureError, Reply, Request


class Recorded:
    """Replies of a cassette: by the digest of the exact request, or by (record, attempt) where the cassette says so.

    ``repeat_last`` (by place only): an attempt that has no reply of its own gets that of the last attempt before it, for
    replies that were made once per record. A miss is a configuration error: the same request cannot work later either.
    """

    def __init__(self, cassette: Cassette, *, repeat_last: bool = False) -> None:
        self.cassette = cassette
        self._repeat_last = repeat_last
        self._attempts = _attempts(cassette) if cassette.header.key == "place" else {}

    @classmethod
    def by_place(cls, replies: Mapping[Key, Reply], *, repeat_last: bool = True) -> Recorded:
        """From ``{(record, attempt): reply}``, for example what ``read_replies`` read."""
        return cls(Cassette.from_replies(replies, Header(key="place")), repeat_last=repeat_last)

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        """The recorded reply, its recorded duration included. Raises ``InfrastructureError`` on a miss."""
        if timeout_ms <= 0:
            raise InfrastructureError(Fault.TIMEOUT, "no time was left for the call")
        reply = self.cassette.replies.get(self._key(request))
        if reply is None:
            raise InfrastructureError(Fault.CONFIGURATION, self._miss(request), retryable=False)
        return reply

    def _key(self, request: Request) -> Key:
        if self.cassette.header.key == "digest":
            return request.digest
        earlier = [a for a in self._attempts.get(request.record, ()) if a <= request.attempt]
        return request.record, max(earlier) if self._repeat_last and earlier else request.attempt

    def _miss(self, request: Request) -> str:
        if self.cassette.header.key == "digest":
            return f"cassette has no reply for request {request.digest[:12]}: prompt, settings or envelope changed since"
        return f"cassette has no reply for record {request.record!r}, attempt {request.attempt}"


def _attempts(cassette: Cassette) -> dict[str, list[int]]:
    attempts: dict[str, list[int]] = {}
    for key in cassette.replies:
        if isinstance(key, tuple):
            attempts.setdefault(key[0], []).append(key[1])
    return attempts
