"""Reading an answer is total: any bytes with any status give a reply or an error value, and nothing escapes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from controller.backends.chat_reply import Answer, read_answer
from controller.reply import Fault, InfrastructureError, Reply

NOW = datetime(2026, 7, 1, tzinfo=UTC)
NAMES = st.sampled_from(
    ["choices", "message", "content", "finish_reason", "usage", "prompt_tokens", "error", "code", "type", "text"]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["stop", "text", "refusal"])
)
TREES = st.recursive(LEAVES, lambda t: st.lists(t, max_size=3) | st.dictionaries(NAMES, t, max_size=4), max_leaves=20)
BODIES = st.none() | st.binary(max_size=200) | TREES.map(lambda tree: json.dumps(tree).encode())
CHOICES = TREES.map(
    lambda tree: json.dumps({"choices": [{"message": {"content": tree}, "finish_reason": tree}], "usage": tree}).encode()
)


@given(st.integers(200, 599), BODIES | CHOICES, st.dictionaries(st.just("retry-after"), st.text(max_size=30)))
def test_any_answer_gives_a_value(status: int, body: bytes | None, headers: dict[str, str]) -> None:
    outcome = read_answer(Answer(status, headers, body), NOW)
    assert isinstance(outcome, (Reply, InfrastructureError))
    if isinstance(outcome, Reply):
        assert outcome.text is None or isinstance(outcome.text, str)
        assert all(
            n is None or (type(n) is int and n >= 0) for n in (outcome.usage.prompt_tokens, outcome.usage.completion_tokens)
        )


@given(st.text(max_size=60).filter(lambda t: t.strip()))
def test_text_arrives_unchanged(text: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
    outcome = read_answer(Answer(200, {}, body), NOW)
    assert isinstance(outcome, Reply)
    assert outcome.text == text


def test_representation_hides_body_and_headers() -> None:
    assert "secret" not in repr(Answer(200, {"set-cookie": "secret"}, b"secret"))


def test_long_finish_word_is_cut() -> None:
    body = json.dumps({"choices": [{"message": {"content": ""}, "finish_reason": "x" * 5_000}]}).encode()
    outcome = read_answer(Answer(200, {}, body), NOW)
    assert isinstance(outcome, Reply)
    assert outcome.raw_finish == "x" * 64


def test_wait_is_read_only_where_waiting_helps() -> None:
    outcome = read_answer(Answer(401, {"retry-after": "5"}, b""), NOW)
    assert isinstance(outcome, InfrastructureError)
    assert (outcome.fault, outcome.retry_after_ms) == (Fault.CONFIGURATION, None)
