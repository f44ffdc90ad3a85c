"""Each row of the tables over real HTTP: what comes out, and that the endpoint saw one request."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.backends import OpenAICompatible
from controller.reply import Fault, Finish, InfrastructureError, Usage
from tests.controller.backends.calls import SECRET, a_request, complete, failure
from tests.stub_endpoint import Disconnect, Fail, Raw, Say, StubEndpoint


class Bytes(Raw):
    """An answer that is not HTTP, or not quite."""

    def bytes(self) -> bytes:
        return self.body


def test_returns_text_and_usage() -> None:
    with StubEndpoint([Say('{"total": "9.00"}', usage=(120, 7))]) as stub:
        reply = complete(stub)
    assert (reply.text, reply.finish, reply.raw_finish) == ('{"total": "9.00"}', Finish.STOP, "stop")
    assert (reply.usage, reply.model, reply.refused) == (Usage(120, 7), "stub-model", False)
    assert reply.duration_ms >= 0
    assert stub.count == 1


@pytest.mark.parametrize(
    ("behaviour", "text", "finish"),
    [
        (Say("{", "length"), "{", Finish.LENGTH),
        (Say("{", "max_tokens"), "{", Finish.LENGTH),
        (Say("", "content_filter"), "", Finish.CONTENT_FILTER),
        (Say(None, message={"refusal": "I cannot"}), None, Finish.REFUSAL),
        (Say("No.", "refusal"), "No.", Finish.REFUSAL),
        (Say("{}", None), "{}", Finish.MISSING),
        (Say("{}", ...), "{}", Finish.MISSING),
        (Say("{}", "banana"), "{}", Finish.OTHER),
        (Say("{}", 7), "{}", Finish.OTHER),
        (Say(None, "tool_calls", message={"tool_calls": [{"id": "1"}]}), None, Finish.OTHER),
        (Say(None, "stop", message={"tool_calls": [{"id": "1"}]}), None, Finish.OTHER),
        (Say([{"type": "text", "text": "{"}, {"type": "thinking"}, {"type": "text", "text": "}"}]), "{}", Finish.STOP),
        (Say([{"type": "refusal", "refusal": "no"}]), None, Finish.REFUSAL),
        (Say("{}", message={"reasoning_content": "a secret thought"}), "{}", Finish.STOP),
        (Fail(400, {"error": {"code": "content_filter", "message": "filtered"}}), None, Finish.CONTENT_FILTER),
        (
            Fail(400, {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            None,
            Finish.CONTENT_FILTER,
        ),
        (Fail(400, {"error": {"code": "context_length_exceeded"}}), None, Finish.CONTEXT_OVERFLOW),
        (Fail(400, {"error": {"code": 400, "type": "exceed_context_size_error"}}), None, Finish.CONTEXT_OVERFLOW),
        (Fail(422, {"error": "This model's maximum context length is 4096 tokens"}), None, Finish.CONTEXT_OVERFLOW),
        (
            Fail(400, {"object": "error", "message": "longer than the maximum model length of 4096"}),
            None,
            Finish.CONTEXT_OVERFLOW,
        ),
    ],
)
def test_reads_finish_of_reply(behaviour: Raw, text: str | None, finish: Finish) -> None:
    with StubEndpoint([behaviour]) as stub:
        reply = complete(stub)
    assert (reply.text, reply.finish) == (text, finish)
    assert reply.refused == (behaviour.status == 200 and finish is Finish.REFUSAL and reply.raw_finish != "refusal")
    assert stub.count == 1


@pytest.mark.parametrize(
    ("behaviour", "fault", "retryable"),
    [
        (Fail(429), Fault.RATE_LIMIT, True),
        (Fail(408), Fault.TIMEOUT, True),
        (Fail(500), Fault.SERVER, True),
        (Fail(503, b"<html>"), Fault.SERVER, True),
        (Fail(529), Fault.SERVER, True),
        (Fail(401), Fault.CONFIGURATION, False),
        (Fail(403), Fault.CONFIGURATION, False),
        (Fail(404, b""), Fault.CONFIGURATION, False),
        (Fail(400), Fault.CONFIGURATION, False),
        (Fail(400, b"not JSON, but it says maximum context length"), Fault.CONFIGURATION, False),
        (Fail(422, {"detail": [{"msg": "field required"}]}), Fault.CONFIGURATION, False),
        (Fail(307, b"", headers={"Location": "/elsewhere"}), Fault.CONFIGURATION, False),
        (Raw(b"{not json"), Fault.PROTOCOL, True),
        (Raw(b""), Fault.PROTOCOL, True),
        (Raw(b"[]"), Fault.PROTOCOL, True),
        (Raw(b"[" * 100_000), Fault.PROTOCOL, True),
        (Raw(b'{"choices": ' + b"9" * 6_000 + b"}"), Fault.PROTOCOL, True),
        (Raw(b'{"choices": [{"message": {"content": "\xff"}}]}'), Fault.PROTOCOL, True),
        (Raw(b'{"choices": []}'), Fault.PROTOCOL, True),
        (Raw(b'{"error": {"message": "upstream"}}'), Fault.PROTOCOL, True),
        (Raw(b'{"choices": [{"text": "old style"}]}'), Fault.PROTOCOL, True),
        (Say(5), Fault.PROTOCOL, True),
        (Say({"total": 1}), Fault.PROTOCOL, True),
        (Say(["text"]), Fault.PROTOCOL, True),
        (Say([{"type": "text", "text": None}]), Fault.PROTOCOL, True),
        (Bytes(b"SSH-2.0-OpenSSH_9.2\r\n"), Fault.PROTOCOL, True),
        (Bytes(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000), Fault.PROTOCOL, True),
        (Bytes(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"), Fault.PROTOCOL, True),
        (Bytes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot a length\r\n"), Fault.CONNECTION, True),
        (Disconnect("before"), Fault.CONNECTION, True),
        (Disconnect("before", reset=True), Fault.CONNECTION, True),
        (Disconnect("body"), Fault.CONNECTION, True),
        (Disconnect("body", answer=Fail(429, retry_after="3")), Fault.RATE_LIMIT, True),
        (Disconnect("body", answer=Fail(400, {"error": {"code": "content_filter"}})), Fault.CONNECTION, True),
    ],
)
def test_classes_fault_after_one_request(behaviour: Any, fault: Fault, retryable: bool) -> None:
    with StubEndpoint([behaviour, Say("a second request")]) as stub:
        error = failure(stub)
    assert (error.fault, error.retryable) == (fault, retryable)
    assert stub.count == 1


def test_refuses_reply_over_limit() -> None:
    with StubEndpoint([Say("x" * 5_000)]) as stub:
        assert failure(stub, max_reply_bytes=4_096).fault is Fault.PROTOCOL
        assert stub.count == 1


def test_reply_that_is_too_long_leaves_connection_clean() -> None:
    with StubEndpoint([Say("x" * 500_000), Say("second")]) as stub:
        backend = OpenAICompatible(stub.url, "stub", max_reply_bytes=4_096)
        with pytest.raises(InfrastructureError):
            backend.complete(a_request(), 5_000)
        assert backend.complete(a_request(), 5_000).text == "second"


def test_refused_connection_is_a_connection_fault() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        backend = OpenAICompatible(f"http://127.0.0.1:{unused.getsockname()[1]}/v1", "stub")
        with pytest.raises(InfrastructureError) as caught:
            backend.complete(a_request(), 5_000)
    assert caught.value.fault is Fault.CONNECTION


def test_unknown_name_is_a_connection_fault() -> None:
    with pytest.raises(InfrastructureError) as caught:
        OpenAICompatible("http://endpoint.invalid/v1", "stub").complete(a_request(), 20_000)
    assert caught.value.fault is Fault.CONNECTION


def test_closed_pooled_connection_is_not_retried() -> None:
    with StubEndpoint([Say("first"), Disconnect("before"), Say("hidden retry")]) as stub:
        backend = OpenAICompatible(stub.url, "stub")
        assert backend.complete(a_request(), 5_000).text == "first"
        with pytest.raises(InfrastructureError) as caught:
            backend.complete(a_request(), 5_000)
    assert caught.value.fault is Fault.CONNECTION
    assert (stub.count, stub.connections) == (2, 1)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, Usage()),
        ("many", Usage()),
        ({"prompt_tokens": 3}, Usage(3, None)),
        ({"prompt_tokens": True, "completion_tokens": 4.0}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": "5"}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0)),
    ],
)
def test_usage_is_never_filled_in(usage: Any, read: Usage) -> None:
    with StubEndpoint([Say("{}", usage=usage)]) as stub:
        assert complete(stub).usage == read


@pytest.mark.parametrize("status", [429, 503, 529, 408])
def test_carries_retry_after(status: int) -> None:
    with StubEndpoint([Fail(status, retry_after="1.0001")]) as stub:
        assert failure(stub).retry_after_ms == 1_001


def test_reads_retry_date_by_given_clock() -> None:
    with StubEndpoint([Fail(429, retry_after="Wed, 01 Jul 2026 10:00:02 GMT")]) as stub:
        error = failure(stub, now=lambda: datetime(2026, 7, 1, 10, 0, 0, 900_000, tzinfo=UTC))
    assert error.retry_after_ms == 2_000


def test_sends_nothing_without_time() -> None:
    with StubEndpoint([Say()]) as stub:
        assert failure(stub, timeout_ms=0).fault is Fault.TIMEOUT
        assert failure(stub, timeout_ms=-5).fault is Fault.TIMEOUT
        assert (stub.count, stub.connections) == (0, 0)


def test_sends_exactly_what_was_asked() -> None:
    request = a_request(
        "déjà 合計 \u2028", temperature_hundredths=30, seed=7, response_format="json_schema", schema={"type": "object"}
    )
    with StubEndpoint([Say()]) as stub:
        OpenAICompatible(stub.url, "m", SECRET, headers={"X-Team": "a"}, extra_body={"top_k": 1}).complete(request, 5_000)
    asked = stub.requests[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "You copy fields."}, {"role": "user", "content": "déjà 合計 \u2028"}],
        "temperature": 0.3,
        "seed": 7,
        "max_tokens": 64,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
        },
        "top_k": 1,
    }
    assert asked.headers["authorization"] == f"Bearer {SECRET}"
    assert (asked.headers["accept-encoding"], asked.headers["x-team"]) == ("identity", "a")


def test_ignores_proxies_of_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with StubEndpoint([Say("direct")]) as stub:
        assert complete(stub).text == "direct"


def test_password_of_url_travels_as_header() -> None:
    with StubEndpoint([Say()]) as stub:
        OpenAICompatible(stub.url.replace("//", "//ann:p%40ss@"), "m").complete(a_request(), 5_000)
    assert stub.requests[0].headers["authorization"] == "Basic YW5uOnBAc3M="


def test_threads_share_pool_of_connections() -> None:
    with StubEndpoint(lambda asked: Say(asked.text[-3:])) as stub:
        backend = OpenAICompatible(stub.url, "stub", pool=32)
        documents = [f"document {n:03d}" for n in range(320)]
        with ThreadPoolExecutor(32) as threads:
            replies = list(threads.map(lambda text: backend.complete(a_request(text), 20_000).text, documents))
        backend.close()
    assert replies == [text[-3:] for text in documents]
    assert stub.count == 320
    assert stub.connections <= 32


def test_server_may_close_after_each_reply() -> None:
    with StubEndpoint([Say("one", close=True), Say("two", close=True)]) as stub:
        backend = OpenAICompatible(stub.url, "stub")
        assert [backend.complete(a_request(), 5_000).text for _ in range(2)] == ["one", "two"]
    assert (stub.count, stub.connections) == (2, 2)


def test_reads_chunked_reply() -> None:
    body = Say("chunks").body
    chunked = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (10, body[:10], len(body) - 10, body[10:])
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    answer = Bytes(head + chunked)
    with StubEndpoint([answer, answer]) as stub:
        backend = OpenAICompatible(stub.url, "stub")
        assert [backend.complete(a_request(), 5_000).text for _ in range(2)] == ["chunks", "chunks"]
    assert stub.connections == 1


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "localhost:8000/v1"},
        {"base_url": "ftp://host/v1"},
        {"base_url": "http://"},
        {"base_url": "http://host:99999/v1"},
        {"base_url": f"http://host/v1?key={SECRET}"},
        {"base_url": f"http://u:{SECRET}@host/v1#x"},
        {"base_url": f"http://u:{SECRET}@host/v1", "api_key": SECRET},
        {"api_key": SECRET + "\r\n"},
        {"api_key": SECRET + "\n"},
        {"api_key": " " + SECRET},
        {"api_key": SECRET + "é"},
        {"headers": {"X-Key": SECRET + "\r\nX-Other: 1"}},
        {"headers": {"X Key": SECRET}},
        {"headers": {"accept-encoding": "gzip"}},
        {"headers": {"authorization": SECRET}, "api_key": SECRET},
        {"extra_body": {"messages": [SECRET]}},
        {"extra_body": {"stream": True}},
        {"max_tokens_field": "tokens"},
        {"model": ""},
    ],
)
def test_refuses_unusable_settings_without_printing(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as caught:
        OpenAICompatible(**{"base_url": "http://host/v1", "model": "m", **options})
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_newer_name_of_token_limit() -> None:
    with StubEndpoint([Say()]) as stub:
        complete(stub, max_tokens_field="max_completion_tokens")
    assert json.dumps(stub.requests[0].body).count("max_completion_tokens") == 1
    assert "max_tokens" not in stub.requests[0].body
