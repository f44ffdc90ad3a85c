"""HTTP connections whose timeout is a point in time, not a pause between two reads.

``timeout=`` of a client library restarts with every read, so a server that drips one byte at a time never times out. Here
the moment at which a call must be over is fixed when the call starts, and every step that can block (name look-up, each
connect, the TLS handshake, each send, each read of headers or body) gets only what is left until then.
A watchdog thread that shuts the socket down was the alternative; it needs a thread, and it may shut a socket that the
pool has just handed to the next call.
"""

from __future__ import annotations

import http.client
import io
import math
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SHORTEST_S = 0.001
"""What a socket gets once time is up: 0 would mean "do not block" and fail in another way than a timeout does."""

_PIECE = 16_384
"""Bytes per send: one TLS record. A peer that takes its time over each record is asked for the remaining time again."""


def pool_manager(*, pool: int, tls: bool) -> urllib3.PoolManager:
    """A manager that keeps up to ``pool`` idle connections, follows nothing, retries nothing and asks no environment.

    The TLS context is made once: loading the trusted certificates for each connection costs some 20 ms.
    """
    context = {"ssl_context": ssl.create_default_context()} if tls else {}
    manager = urllib3.PoolManager(num_pools=2, maxsize=pool, block=False, retries=False, **context)  # type: ignore[arg-type]
    manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
    return manager


class _DeadlineReader(io.RawIOBase):
    """The socket's bytes until the deadline; then ``TimeoutError``, however steadily they drip."""

    def __init__(self, sock: socket.socket, ends: float) -> None:
        super().__init__()
        self._sock = sock
        # The socket counts its open files: with "Connection: close" it lives until this one is closed.
        self._raw = sock.makefile("rb", buffering=0)
        self._ends = ends

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._sock.fileno()

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        remaining = self._ends - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("the total deadline of the call is over")
        if remaining != math.inf:
            self._sock.settimeout(remaining)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _DeadlineResponse(http.client.HTTPResponse):
    """A response that reads its headers and its body through a ``_DeadlineReader``."""

    def __init__(self, sock: socket.socket, *args: Any, ends: float, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = io.BufferedReader(_DeadlineReader(sock, ends))


class _Deadline:
    """Mixin: setting ``timeout`` starts the clock, reading it says how many seconds are left.

    urllib3 sets it from ``Timeout(total=…)`` before connecting, and once more, less what passed, before reading.
    """

    _ends: float = math.inf
    _dns_host: str
    port: int
    sock: Any

    @property
    def timeout(self) -> float | None:
        return None if self._ends == math.inf else max(self._ends - time.monotonic(), _SHORTEST_S)

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._ends = math.inf if seconds is None else time.monotonic() + seconds

    def _new_conn(self) -> socket.socket:
        try:
            sock = connect(self._dns_host, self.port, lambda: self.timeout)
        except (OSError, UnicodeError) as error:
            raise NewConnectionError(self, type(error).__name__) from error  # type: ignore[arg-type]
        sock.settimeout(self.timeout)  # what the TLS handshake may take
        return sock

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PIECE):
            if self.sock is not None:
                self.sock.settimeout(self.timeout)
            super().send(view[start : start + _PIECE])  # type: ignore[misc]

    def getresponse(self) -> Any:
        self.response_class = partial(_DeadlineResponse, ends=self._ends)
        return super().getresponse()  # type: ignore[misc]


class _DeadlineHTTPConnection(_Deadline, HTTPConnection):  # type: ignore[misc]
    pass


class _DeadlineHTTPSConnection(_Deadline, HTTPSConnection):  # type: ignore[misc]
    pass


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _DeadlineHTTPConnection


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _DeadlineHTTPSConnection


def connect(host: str, port: int, remaining: Callable[[], float | None]) -> socket.socket:
    """A TCP connection to the first address that answers. Raises ``OSError``; ``TimeoutError`` when time is up.

    Each address gets an equal share of what is left, so that one dead address does not use up the time of a good one.
    """
    found = _addresses(host.strip("[]"), port, remaining())
    failure: OSError = OSError("the name has no address")
    for left, (family, kind, protocol, _, address) in zip(range(len(found), 0, -1), found, strict=True):
        seconds = remaining()
        try:
            return _connect_one(family, kind, protocol, address, None if seconds is None else seconds / left)
        except OSError as error:
            failure = error
    raise failure


def _connect_one(family: int, kind: int, protocol: int, address: Any, seconds: float | None) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(seconds)
        sock.connect(address)
    except OSError:
        sock.close()
        raise
    return sock


def _addresses(host: str, port: int, seconds: float | None) -> list[Any]:
    """``getaddrinfo`` takes no timeout and cannot be interrupted: for a name it runs in a thread that we stop waiting for."""
    try:
        return socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    answers: queue.SimpleQueue[list[Any] | OSError | UnicodeError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="resolve-endpoint").start()
    try:
        found = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError("the name look-up took all the time") from None
    if isinstance(found, (OSError, UnicodeError)):
        raise found
    return found
