"""A model endpoint over real HTTP that does what a script says, and counts what it was asked.

    with StubEndpoint([Say("{}"), Fail(429, retry_after="1"), Say("{}")]) as stub:
        OpenAICompatible(stub.url, "stub").complete(request, 1000)
    assert stub.count == 1

A script is a list of behaviours, one per request in the order of arrival, or a function of the ``Asked`` request. A list
that has run out answers 500. As a process: ``python -m tests.stub_endpoint --script FILE.json|package.module:name --log
FILE.jsonl``; it prints its base URL when it listens (see ``read_script`` for the JSON).
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Asked:
    """One request as the stub saw it. ``number`` counts from 1; ``at`` is wall time in seconds; ``thread`` is per connection."""

    number: int
    at: float
    thread: str
    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def text(self) -> str:
        """All messages together, for scripts that choose by what stands in the document."""
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass(frozen=True)
class Raw:
    """Any bytes with any status. ``latency_s`` passes before the first byte."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    latency_s: float = 0
    close: bool = False

    def play(self, wire: Wire) -> None:
        wire.wait(self.latency_s)
        wire.send(self.bytes())

    def head(self) -> bytes:
        fields = {"Content-Type": "application/json", "Content-Length": str(len(self.body)), **self.headers}
        if self.close:
            fields["Connection"] = "close"
        lines = [f"HTTP/1.1 {self.status} Stub", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def bytes(self) -> bytes:
        return self.head() + self.body


def Say(  # noqa: N802 - reads as a behaviour beside the others
    text: Any = "{}",
    finish_reason: Any = "stop",
    *,
    usage: Any = (10, 5),
    message: Mapping[str, Any] | None = None,
    latency_s: float = 0,
    close: bool = False,
    **extra: Any,
) -> Raw:
    """A completion. ``usage`` is (prompt, completion) tokens, any other value as it is, or ``None`` for none.

    ``message`` adds fields beside ``content`` (``refusal``, ``tool_calls``, …), ``extra`` fields beside ``choices``;
    ``finish_reason=...`` (the Ellipsis) leaves the field out.
    """
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text, **(message or {})}}
    if finish_reason is not ...:
        choice["finish_reason"] = finish_reason
    body: dict[str, Any] = {"id": "stub", "object": "chat.completion", "model": "stub-model", "choices": [choice]}
    if isinstance(usage, tuple):
        usage = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    if usage is not None:
        body["usage"] = usage
    return Raw(json.dumps({**body, **extra}).encode(), latency_s=latency_s, close=close)


def Fail(  # noqa: N802
    status: int,
    body: Any = None,
    *,
    retry_after: str | None = None,
    headers: Mapping[str, str] | None = None,
    latency_s: float = 0,
) -> Raw:
    """An error status, with an error object unless ``body`` says otherwise (bytes, or anything that JSON can hold)."""
    fields = {**(headers or {}), **({"Retry-After": retry_after} if retry_after is not None else {})}
    content = {"error": {"message": "stub error", "code": None}} if body is None else body
    return Raw(content if isinstance(content, bytes) else json.dumps(content).encode(), status, fields, latency_s)


@dataclass(frozen=True)
class Drip:
    """An answer in pieces of one byte, ``interval_s`` apart: from the first header byte, or from the first body byte."""

    answer: Raw
    where: str = "body"
    interval_s: float = 0.02

    def play(self, wire: Wire) -> None:
        at_once, slowly = (b"", self.answer.bytes()) if self.where == "headers" else (self.answer.head(), self.answer.body)
        wire.send(at_once)
        for byte in slowly:
            wire.send(bytes([byte]))
            wire.wait(self.interval_s)


@dataclass(frozen=True)
class Disconnect:
    """The connection ends: before any byte, after half the headers, or after half the body. ``reset`` sends RST, not FIN."""

    where: str = "before"
    answer: Raw = field(default_factory=Say)
    reset: bool = False

    def play(self, wire: Wire) -> None:
        head, body = self.answer.head(), self.answer.body
        wire.send({"before": b"", "headers": head[: len(head) // 2], "body": head + body[: len(body) // 2]}[self.where])
        wire.hang_up(reset=self.reset)


@dataclass(frozen=True)
class Hang:
    """Nothing, ever (until the stub stops)."""

    def play(self, wire: Wire) -> None:
        wire.wait(None)
        wire.hang_up()


Behaviour: TypeAlias = "Raw | Drip | Disconnect | Hang"
Script: TypeAlias = "Sequence[Behaviour] | Callable[[Asked], Behaviour]"


class Wire:
    """What a behaviour may do with its connection."""

    def __init__(self, connection: socket.socket, stopping: threading.Event) -> None:
        self._connection = connection
        self._stopping = stopping
        self.is_open = True

    def send(self, data: bytes) -> None:
        if self._stopping.is_set():
            raise ConnectionAbortedError("the stub is stopping")
        self._connection.sendall(data)

    def wait(self, seconds: float | None) -> None:
        if seconds is None or seconds > 0:
            self._stopping.wait(seconds)

    def hang_up(self, *, reset: bool = False) -> None:
        self.is_open = False
        if reset:  # closing with a linger time of 0 discards what is unsent and resets
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._connection.close()  # at once, before the server could say a polite goodbye
        else:
            self._connection.shutdown(socket.SHUT_RDWR)


class StubEndpoint:
    """The server on an ephemeral loopback port. ``requests`` holds what was asked, ``connections`` how many were opened."""

    def __init__(
        self, script: Script, *, port: int = 0, log: Path | None = None, tls: ssl.SSLContext | None = None, path: str = "/v1"
    ) -> None:
        self.requests: list[Asked] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._script = script
        self._log = log.open("a", encoding="utf-8") if log else None
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}{path}"

    @property
    def count(self) -> int:
        return len(self.requests)

    def __enter__(self) -> StubEndpoint:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True, name="stub-endpoint").start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        if self._log:
            self._log.close()

    def opened(self) -> None:
        with self._lock:
            self.connections += 1

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[Asked, Behaviour]:
        """Log the request before anything is answered, and say what to do."""
        with self._lock:
            number = len(self.requests) + 1
            asked = Asked(number, time.time(), threading.current_thread().name, path, headers, _parsed(body))
            self.requests.append(asked)
            if self._log:
                row = {"number": number, "at": asked.at, "thread": asked.thread, "path": path, "body": asked.body}
                self._log.write(json.dumps(row) + "\n")
                self._log.flush()
        if callable(self._script):
            return asked, self._script(asked)
        return asked, self._script[number - 1] if number <= len(self._script) else Fail(
            500, {"error": "the script has run out"}
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is what many tests are about, not something to print."""


def _handler(stub: StubEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            stub.opened()
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            _, behaviour = stub.take(self.path, headers, body)
            wire = Wire(self.connection, stub.stopping)
            try:
                behaviour.play(wire)
            except OSError:  # the client has gone
                wire.is_open = False
            self.close_connection = not wire.is_open or bool(getattr(behaviour, "close", False))

        def log_message(self, format: str, *args: object) -> None:
            """Quiet: what was asked is in ``stub.requests``."""

    return Handler


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def read_script(name: str) -> Script:
    """``package.module:attribute`` (a list or a function), or a JSON file.

    The JSON is a list of behaviours, or ``{"sequence": […], "match": [{"contains": TEXT, "then": {…}}], "default": {…}}``:
    the sequence is used up first, then the first match decides. A behaviour is one of ``{"say": TEXT, "finish_reason"?,
    "usage"?: [p, c] | null, "latency_s"?}``, ``{"status": N, "body"?, "retry_after"?, "latency_s"?}``, ``{"raw": TEXT}``,
    ``{"drip": {…}, "where"?: "headers" | "body", "interval_s"?}``, ``{"disconnect": "before" | "headers" | "body"}``,
    ``{"hang": true}``.
    """
    if not name.endswith(".json"):
        module, _, attribute = name.partition(":")
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
    plan = json.loads(Path(name).read_text(encoding="utf-8"))
    plan = {"sequence": plan} if isinstance(plan, list) else plan
    sequence = [_behaviour(row) for row in plan.get("sequence", [])]
    matches = [(row["contains"], _behaviour(row["then"])) for row in plan.get("match", [])]
    default = _behaviour(plan.get("default", {"status": 500}))

    def choose(asked: Asked) -> Behaviour:
        if asked.number <= len(sequence):
            return sequence[asked.number - 1]
        return next((then for contains, then in matches if contains in asked.text), default)

    return choose


def _behaviour(row: Mapping[str, Any]) -> Behaviour:
    latency_s = row.get("latency_s", 0)
    if "say" in row:
        usage = row.get("usage", [10, 5])
        usage = tuple(usage) if isinstance(usage, list) else usage
        return Say(row["say"], row.get("finish_reason", "stop"), usage=usage, latency_s=latency_s)
    if "status" in row:
        return Fail(row["status"], row.get("body"), retry_after=row.get("retry_after"), latency_s=latency_s)
    if "raw" in row:
        return Raw(row["raw"].encode(), latency_s=latency_s)
    if "drip" in row:
        answer = _behaviour(row["drip"])
        assert isinstance(answer, Raw)
        return Drip(answer, row.get("where", "body"), row.get("interval_s", 0.02))
    if "disconnect" in row:
        return Disconnect(row["disconnect"])
    return Hang()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model endpoint on the loopback interface.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", required=True)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    with StubEndpoint(read_script(options.script), port=options.port, log=options.log) as stub:
        print(stub.url, flush=True)
        stopped.wait()


if __name__ == "__main__":
    main()
