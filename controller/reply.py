"""One model call as values: what is asked, what comes back, and what can go wrong on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import rfc8785


class Finish(StrEnum):
    """Why the model stopped, read before anything is parsed. Everything but ``STOP`` is not a success."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    CONTEXT_OVERFLOW = "context_overflow"
    MISSING = "missing"
    OTHER = "other"


class Fault(StrEnum):
    """Kinds of infrastructure failure. They never count as a content failure and never reach a prompt."""

    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    SERVER = "server"
    CONNECTION = "connection"
    PROTOCOL = "protocol"
    CONFIGURATION = "configuration"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One call. ``record`` and ``attempt`` only name the place (for replays by place); they are not part of the hash.

    ``temperature`` is kept as hundredths so that equal requests have equal bytes.
    """

    alias: str
    messages: tuple[Message, ...]
    max_output_tokens: int
    temperature_hundredths: int = 0
    seed: int | None = None
    response_format: str = "none"
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    record: str = ""
    attempt: int = 0

    def canonical(self) -> bytes:
        """RFC 8785 bytes of everything that can change the reply."""
        return rfc8785.dumps(
            {
                "alias": self.alias,
                "max_output_tokens": self.max_output_tokens,
                "messages": [{"role": m.role, "content": m.content} for m in self.messages],
                "response_format": self.response_format,
                "schema": dict(self.schema) if self.schema is not None else None,
                "seed": self.seed,
                "temperature_hundredths": self.temperature_hundredths,
            }
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes, 64 hex digits: what runs log and cassettes are keyed by."""
        return hashlib.sha256(self.canonical()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """What the endpoint reported, in its own tokens. ``None`` means "not reported" and is never filled with 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. ``text`` is ``None`` when the endpoint sent no content; ``raw_finish`` is its own word for the finish."""

    text: str | None
    finish: Finish = Finish.STOP
    raw_finish: str | None = "stop"
    refused: bool = False
    usage: Usage = Usage()
    model: str = ""
    duration_ms: int = 0


class InfrastructureError(Exception):
    """The call gave no reply to judge. The message is safe to log: it holds no key, no header, no body.

    ``retry_after_ms`` is what the endpoint asked for, in milliseconds, rounded up; ``None`` when it asked for nothing.
    ``retryable`` is False where the same call cannot work later either (a wrong address, a missing key, a cassette miss).
    """

    def __init__(self, fault: Fault, detail: str, *, retry_after_ms: int | None = None, retryable: bool = True) -> None:
        super().__init__(f"{fault.value}: {detail}")
        self.fault = fault
        self.detail = detail
        self.retry_after_ms = retry_after_ms
        self.retryable = retryable


class Backend(Protocol):
    """A model endpoint. One call is one request on the wire: nothing underneath retries."""

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        """The reply within ``timeout_ms`` in total (connect, headers, body), or ``InfrastructureError``."""
        ...
