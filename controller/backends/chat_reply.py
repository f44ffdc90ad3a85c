"""The answer of a chat completions call as a ``Reply``, or as the infrastructure error that it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from controller.backends.retry_after import retry_after_ms
from controller.reply import Fault, Finish, InfrastructureError, Reply, Usage

_WORD = 64
"""Characters of the endpoint's own word for the finish that are kept."""

FINISHES: dict[str, Finish] = {
    "stop": Finish.STOP,
    "eos_token": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "refusal": Finish.REFUSAL,
}
"""What endpoints call the finish. Absent is ``MISSING``, and every other word, tool calls included, is ``OTHER``."""

STATUS_FAULTS: dict[int, tuple[Fault, bool]] = {
    401: (Fault.CONFIGURATION, False),
    403: (Fault.CONFIGURATION, False),
    404: (Fault.CONFIGURATION, False),
    408: (Fault.TIMEOUT, True),
    429: (Fault.RATE_LIMIT, True),
}
"""Status → (fault, worth trying again) where the body need not be read. 5xx is ``SERVER``, 3xx ``CONFIGURATION``."""

FILTER_CODES = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "invalid_prompt",
        "moderation_blocked",
        "responsibleaipolicyviolation",
    }
)
OVERFLOW_CODES = frozenset({"context_length_exceeded", "context_window_exceeded", "exceed_context_size_error"})
OVERFLOW_PHRASES = (
    "maximum context length",
    "maximum model length",
    "context window",
    "available context size",
    "context length exceeded",
    "prompt is too long",
)
"""For servers that say it in words only. Read in lower case, in the error's message, never in a whole page."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came over the wire. ``headers`` have lower-case names; ``body`` is ``None`` when it was longer than allowed."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


def read_answer(answer: Answer, now: datetime) -> Reply | InfrastructureError:
    """The reply, or the error to raise. A value, so that no exception's context ever holds the body."""
    if 200 <= answer.status < 300:
        return _read_completion(answer.body)
    decided = status_fault(answer.status)
    if decided is not None:
        fault, retryable = decided
        wait = retry_after_ms(answer.headers, now) if retryable else None
        return InfrastructureError(fault, f"the endpoint answered {answer.status}", retry_after_ms=wait, retryable=retryable)
    return _read_refused_request(answer)


def status_fault(status: int) -> tuple[Fault, bool] | None:
    """(fault, retryable) where the status says it all; ``None`` where the body must be read."""
    if status >= 500:
        return Fault.SERVER, True
    if status < 400:
        return Fault.CONFIGURATION, False  # a redirect: followed, the key would go to another place than the configured one
    return STATUS_FAULTS.get(status)


def finish_of(raw: object) -> tuple[Finish, str | None]:
    """(finish, raw word) of a ``finish_reason``. No reason given is ``MISSING``: that is not a success."""
    if raw is None:
        return Finish.MISSING, None
    if not isinstance(raw, str):
        return Finish.OTHER, None
    return FINISHES.get(raw, Finish.OTHER), raw[:_WORD]


def _read_completion(body: bytes | None) -> Reply | InfrastructureError:
    if body is None:
        return _protocol("the reply is longer than the limit")
    parsed = _json(body)
    if not isinstance(parsed, dict):
        return _protocol("the reply is not a JSON object in UTF-8")
    choices = parsed.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return _protocol("the reply has no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        return _protocol("the first choice has no message")
    content = _content(message.get("content"))
    if isinstance(content, InfrastructureError):
        return content
    text, refused_part = content
    refused = refused_part or bool(message.get("refusal"))
    finish, raw = finish_of(choices[0].get("finish_reason"))
    model = parsed.get("model")
    return Reply(
        text=text,
        finish=_finish(finish, refused, bool(message.get("tool_calls") or message.get("function_call")), text),
        raw_finish=raw,
        refused=refused,
        usage=_usage(parsed.get("usage")),
        model=_printable(model) if isinstance(model, str) else "",
    )


def _finish(finish: Finish, refused: bool, calls_tool: bool, text: str | None) -> Finish:
    if refused:
        return Finish.REFUSAL
    return Finish.OTHER if calls_tool and not text else finish


def _content(content: object) -> tuple[str | None, bool] | InfrastructureError:
    """(text, refused) of a message's content: a string, nothing, or a list of parts of which only text is read."""
    if content is None or isinstance(content, str):
        return content, False
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return _protocol("the content is not text")
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        return _protocol("a text part of the content is not text")
    return ("".join(texts) if texts else None), any(part.get("type") == "refusal" for part in content)


def _usage(usage: object) -> Usage:
    reported = usage if isinstance(usage, dict) else {}
    return Usage(_count(reported.get("prompt_tokens")), _count(reported.get("completion_tokens")))


MOST_TOKENS = 10_000_000
"""No call has more; a larger report is taken as this much, so that no endpoint can overflow a column with a number."""


def _count(value: object) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return min(value, MOST_TOKENS) if is_count and isinstance(value, int) else None


def _printable(text: str) -> str:
    """An endpoint's name for its model, without what a text column or a page cannot take (NUL, half a surrogate pair)."""
    return "".join(c for c in text[:200] if c.isprintable())


def _read_refused_request(answer: Answer) -> Reply | InfrastructureError:
    codes, words = _error(answer.body)
    if code := next((c for c in codes if c in FILTER_CODES), None):
        return Reply(text=None, finish=Finish.CONTENT_FILTER, raw_finish=code)
    code = next((c for c in codes if c in OVERFLOW_CODES), None)
    if code or any(phrase in words for phrase in OVERFLOW_PHRASES):
        return Reply(text=None, finish=Finish.CONTEXT_OVERFLOW, raw_finish=code)
    return InfrastructureError(Fault.CONFIGURATION, f"the endpoint refused the request with {answer.status}", retryable=False)


def _error(body: bytes | None) -> tuple[list[str], str]:
    """(codes, message), in lower case, of an error body.

    ``{"error": {…}}`` of most servers, ``{"error": "…"}`` of Ollama, the bare object of older vLLM, ``innererror`` of Azure.
    """
    parsed = _json(body) if body is not None else None
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else None
    if isinstance(error, str):
        return [], error.lower()
    if not isinstance(error, dict):
        return [], ""
    inner = error.get("innererror")
    found = [error.get("code"), error.get("type"), inner.get("code") if isinstance(inner, dict) else None]
    message = error.get("message")
    return [c.lower() for c in found if isinstance(c, str)], message.lower() if isinstance(message, str) else ""


def _json(body: bytes) -> Any:
    """The parsed body, or ``None`` when it is not JSON in UTF-8 (nesting too deep and numbers too long included)."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _protocol(detail: str) -> InfrastructureError:
    return InfrastructureError(Fault.PROTOCOL, detail)
