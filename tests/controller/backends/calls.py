"""Requests and small helpers that the backend tests share."""

from __future__ import annotations

from typing import Any

import pytest

from controller.backends import OpenAICompatible
from controller.reply import InfrastructureError, Message, Reply, Request
from tests.stub_endpoint import StubEndpoint

SECRET = "sk-planted-7f3a9c"
DOCUMENT = "card 4929123412341234"


def a_request(text: str = DOCUMENT, **fields: Any) -> Request:
    messages = (Message("system", "You copy fields."), Message("user", text))
    return Request(**{"alias": "default", "messages": messages, "max_output_tokens": 64, **fields})


def complete(stub: StubEndpoint, timeout_ms: int = 5_000, **options: Any) -> Reply:
    backend = OpenAICompatible(stub.url, "stub", SECRET, **options)
    try:
        return backend.complete(a_request(), timeout_ms)
    finally:
        backend.close()


def failure(stub: StubEndpoint, timeout_ms: int = 5_000, **options: Any) -> InfrastructureError:
    with pytest.raises(InfrastructureError) as caught:
        complete(stub, timeout_ms, **options)
    return caught.value
