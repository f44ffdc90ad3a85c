"""Any endpoint that speaks chat completions: vLLM, llama.cpp, Ollama, hosted APIs."""

from __future__ import annotations

import base64
import http.client
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import urllib3
from urllib3 import exceptions as wire
from urllib3.util import Timeout, Url, parse_url

from controller.backends.chat_reply import Answer, read_answer, status_fault
from controller.backends.chat_request import MAX_TOKENS_FIELDS, RESERVED_FIELDS, request_body
from controller.backends.deadline_http import pool_manager
from controller.reply import Fault, InfrastructureError, Reply, Request

_READ = 65_536

OWN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"}
)
"""Headers that this module sets, in lower case. Compression stays off: a small body could unpack to any size."""

_HEADER_NAME = re.compile(r"[A-Za-z0-9_-]+")

WIRE_FAULTS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], Fault, str, bool], ...] = (
    (ssl.SSLCertVerificationError, Fault.CONFIGURATION, "the endpoint's certificate is not trusted", False),
    (socket.gaierror, Fault.CONNECTION, "the endpoint's name could not be resolved", True),
    # Not urllib3's ConnectTimeoutError: its NewConnectionError is one, also where the connection was refused.
    ((TimeoutError, wire.ReadTimeoutError), Fault.TIMEOUT, "the call took longer than it may", True),
    (ConnectionRefusedError, Fault.CONNECTION, "the endpoint refused the connection", True),
    ((ConnectionError, http.client.IncompleteRead), Fault.CONNECTION, "the connection ended before the reply did", True),
    (http.client.HTTPException, Fault.PROTOCOL, "the endpoint's answer is not HTTP", True),
    ((OSError, wire.HTTPError), Fault.CONNECTION, "the connection failed", True),
)
"""What can go wrong on the wire → (fault, safe words, worth trying again). The first row that fits any error of the chain."""


class OpenAICompatible:
    """Chat completions over HTTP. Thread-safe; each ``complete`` is at most one request on the wire.

    ``base_url`` is what stands before ``/chat/completions`` (``http://127.0.0.1:8000/v1``). ``pool`` should not be smaller
    than the number of calls in flight. ``extra_body`` adds fields that a server knows beyond the standard. A pooled
    connection that turns out to be closed is a connection error, not a second try: counting matters more than comfort.

    Raises ``ValueError`` for a URL, key, header or extra field that cannot be right; the message never shows its value.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        pool: int = 64,
        max_reply_bytes: int = 1_000_000,
        headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        max_tokens_field: str = MAX_TOKENS_FIELDS[0],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        url = _endpoint(base_url)
        if not model:
            raise ValueError("the endpoint needs a model name")
        if taken := RESERVED_FIELDS & set(extra_body or {}):
            raise ValueError(f"extra_body may not set {', '.join(sorted(taken))}")
        if max_tokens_field not in MAX_TOKENS_FIELDS:
            raise ValueError(f"max_tokens_field must be one of {', '.join(MAX_TOKENS_FIELDS)}")
        self.model = model
        self._url = _call_address(url)
        self._headers = _headers(url.auth, api_key, headers or {})
        self._extra_body = dict(extra_body or {})
        self._max_tokens_field = max_tokens_field
        self._max_reply_bytes = max_reply_bytes
        self._now = now
        self._http = pool_manager(pool=pool, tls=url.scheme == "https")

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._url!r}, {self.model!r})"

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        """The reply within ``timeout_ms`` in total: name look-up, connect, TLS, sending, headers and body together.

        Raises ``InfrastructureError``. With no time left nothing is sent.
        """
        started = time.monotonic()
        if timeout_ms <= 0:
            raise InfrastructureError(Fault.TIMEOUT, "no time was left for the call")
        body = request_body(request, self.model, self._extra_body, self._max_tokens_field)
        answer = self._exchange(body, started + timeout_ms / 1000)
        outcome = read_answer(answer, self._now()) if isinstance(answer, Answer) else answer
        if isinstance(outcome, InfrastructureError):
            raise outcome  # here, outside every except block: the chain holds no foreign error and with it no body
        return replace(outcome, duration_ms=round((time.monotonic() - started) * 1000))

    def close(self) -> None:
        """Close the idle connections."""
        self._http.clear()

    def _exchange(self, body: bytes, ends: float) -> Answer | InfrastructureError:
        remaining = ends - time.monotonic()
        if remaining <= 0:
            return InfrastructureError(Fault.TIMEOUT, "no time was left for the call")
        try:
            response = self._http.urlopen(
                "POST",
                self._url,
                body=body,
                headers=self._headers,
                timeout=Timeout(total=remaining),
                retries=False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
        except (wire.HTTPError, OSError, http.client.HTTPException) as error:
            return wire_fault(error)
        return _receive(response, self._max_reply_bytes)


def _receive(response: urllib3.BaseHTTPResponse, limit: int) -> Answer | InfrastructureError:
    """The whole answer. A status that says it all counts even when its body is cut off."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        body = _read(response, limit)
    except (wire.HTTPError, OSError, http.client.HTTPException) as error:
        response.close()
        failed = wire_fault(error)
        known = not 200 <= response.status < 300 and status_fault(response.status)
        return Answer(response.status, headers, None) if known else failed
    if body is None:
        response.close()  # what is left of it must not reach the next call on this connection
    else:
        response.release_conn()
    return Answer(response.status, headers, body)


def _read(response: urllib3.BaseHTTPResponse, limit: int) -> bytes | None:
    """The body, or ``None`` as soon as it is longer than ``limit`` bytes."""
    body = bytearray()
    while piece := response.read(_READ, decode_content=False):
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)


def wire_fault(error: BaseException) -> InfrastructureError:
    """The literal table, first row that fits any error in the chain. Nothing of the foreign text is taken over."""
    chain = list(_chain(error))
    for kinds, fault, words, retryable in WIRE_FAULTS:
        if any(isinstance(link, kinds) for link in chain):
            return InfrastructureError(fault, words, retryable=retryable)
    raise TypeError(f"not an error of the wire: {type(error).__name__}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it wraps as an argument (urllib3's way) and its causes."""
    yield error
    for inner in (*error.args, error.__cause__):
        if isinstance(inner, BaseException):
            yield from _chain(inner)


def _endpoint(base_url: str) -> Url:
    try:
        url = parse_url(base_url.rstrip("/"))
    except wire.LocationParseError:
        url = Url()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError("the endpoint's base URL must be http(s)://host[:port]/path")
    if url.query is not None or url.fragment is not None:
        raise ValueError("the endpoint's base URL may have no query and no fragment: pass keys as a key or a header")
    return url


def _call_address(url: Url) -> str:
    """The address of the call without the user and password of the base URL: those travel as a header."""
    return str(url._replace(auth=None, path=(url.path or "").rstrip("/") + "/chat/completions"))


def _headers(auth: str | None, api_key: str | None, more: Mapping[str, str]) -> dict[str, str]:
    names = {name.lower() for name in more}
    if taken := names & OWN_HEADERS:
        raise ValueError(f"the header {', '.join(sorted(taken))} cannot be set")
    if sum((bool(auth), bool(api_key), "authorization" in names)) > 1:
        raise ValueError("the endpoint's key, a password in its URL and an Authorization header exclude each other")
    sent = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    sent["User-Agent"] = "countersign"
    if auth:
        sent["Authorization"] = "Basic " + base64.b64encode(unquote(auth).encode()).decode()
    if api_key:
        _check_header("the API key", api_key)
        sent["Authorization"] = f"Bearer {api_key}"
    for name, value in more.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError("a header's name has characters that a header cannot carry")
        _check_header(f"the header {name}", value)
        sent[name] = value
    return sent


def _check_header(what: str, value: str) -> None:
    if value != value.strip() or not value.isascii() or not value.isprintable():
        raise ValueError(f"{what} has a line break, a space at an end, or another character that a header cannot carry")
