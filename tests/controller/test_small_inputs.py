"""One small reply at a time over real HTTP, with the requests counted at the endpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from controller.backends import OpenAICompatible
from controller.testing import FakeClock, Story, run_record
from tests.envelopes import small
from tests.stub_endpoint import Asked, Behaviour, Fail, Raw, Say, StubEndpoint

DOCUMENT = "Total 100.000\nQty 2"
GOOD = '{"total":"100.000","qty":2}'
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Seen:
    story: Story
    asked: Sequence[Asked]
    clock: FakeClock

    @property
    def failures(self) -> list[tuple[str, str, str]]:
        """(class, check, path) of every failure of the last reply that was judged."""
        ended = [c.ended for c in self.story.changes if c.ended is not None and c.ended.report is not None]
        return [(f.failure_class.value, f.check, f.pointer) for f in ended[-1].report.failures] if ended else []

    @property
    def classes(self) -> list[str]:
        return [
            c.ended.report.final_class for c in self.story.changes if c.ended and c.ended.report and c.ended.report.final_class
        ]


def ask(script: Sequence[Behaviour], document: str = DOCUMENT, **changes: Any) -> Seen:
    clock = FakeClock()
    with StubEndpoint(script) as stub:
        backend = OpenAICompatible(stub.url, "stub", now=lambda: NOW)
        story = run_record(small(**changes), document, backend, clock=clock)
        backend.close()
        return Seen(story, list(stub.requests), clock)


def always(text: str, **fields: Any) -> list[Behaviour]:
    return [Say(text, **fields)] * 9


def test_same_schema_failure_ends_after_two() -> None:
    seen = ask(always('{"total":null,"qty":"two"}'))
    assert len(seen.asked) == 2
    assert seen.failures == [("schema", "schema", "/qty"), ("schema", "schema", "/total")]
    result = seen.story.result
    assert (result.status, result.reason, result.fallback, result.retryable) == (
        "dead_lettered",
        "same_signature",
        "person",
        False,
    )


def test_requests_have_equal_length() -> None:
    """Without a directive for what failed, the second request is as long as the first; with one, all later ones are alike."""
    one_plan = {
        "graph__edges": [{"from": "copy", "on": "*", "to": "copy"}],
        "limits__same_plan": 9,
        "limits__same_signature": 9,
    }
    limits = {"limits__attempts": 5, "limits__same_shape": 9, "limits__no_progress": 9}
    mute = ask(always('{"total":null,"qty":"two"}'), templates=[], **one_plan, **limits)
    told = ask(always('{"total":null,"qty":"two"}'), **one_plan, **limits)
    assert len(mute.asked) == len(told.asked) == 5
    assert len({len(json.dumps(asked.body)) for asked in mute.asked}) == 1
    assert len({len(json.dumps(asked.body)) for asked in told.asked[1:]}) == 1


def test_truncated_reply_is_never_used() -> None:
    seen = ask(always('{"total":"100.000","qty":2', finish_reason="length"), classes__stop=["truncated"])
    assert len(seen.asked) == 1
    assert seen.failures == [("truncated", "finish", "")]
    assert seen.story.value_text is None


def test_truncated_reply_is_never_fed_back() -> None:
    larger = {"id": "larger", "text": "Use the room that you have.", "max_output_tokens": 400}
    repair = {"id": "repair", "text": "Repair it.", "carries": ["previous_output"], "max_output_tokens": 900}
    seen = ask(
        [Say('{"total":"100.0', "length"), Say(GOOD)],
        plans=[{"id": "copy", "text": "Copy."}, repair, larger],
        graph__edges=[{"from": "copy", "on": "*", "to": "repair"}, {"from": "copy", "on": "truncated", "to": "larger"}],
    )
    assert [asked.body["max_tokens"] for asked in seen.asked] == [200, 400]
    assert '{"total":"100.0' not in seen.asked[1].text
    assert seen.story.result.healed


def test_doubled_key_is_never_accepted() -> None:
    seen = ask(always('{"total":"1","total":"999","qty":2}'), document="Total 1, not 999")
    assert seen.failures == [("duplicate_key", "json", "/total")]
    assert seen.story.value_text is None


@pytest.mark.parametrize(
    ("text", "failure_class"),
    [
        ('{"total":"1","qty":NaN}', "syntax"),
        ('{"total":"1","qty":Infinity}', "syntax"),
        ('{"total":"1","qty":1e999}', "syntax"),
        ("Sure! Here is the JSON:\n```json\n" + GOOD + "\n```\nHope this helps {smile}.", "extra_text"),
        (GOOD + GOOD, "ambiguous_json"),
        ("  \n", "empty_output"),
        ('{"total":"1","qty":"2"}', "schema"),
        ('{"total":"1","qty":true}', "schema"),
        ('{"total":"7.50","qty":2}', "business"),
        ("[" * 500, "syntax"),
        ('{"total":"\\ud800","qty":2}', "syntax"),
        ("\ufeff" + GOOD, "syntax"),
    ],
)
def test_each_reply_has_its_class(text: str, failure_class: str) -> None:
    seen = ask(always(text))
    assert seen.classes == [failure_class, failure_class]
    assert seen.story.result.final_class == failure_class
    assert len(seen.asked) == 2


def test_number_out_of_range_says_so() -> None:
    seen = ask(always('{"total":"1","qty":1e999}'))
    ended = next(c.ended for c in seen.story.changes if c.ended is not None)
    assert "every number within range" in ended.report.failures[0].expected


def test_think_block_is_stripped() -> None:
    seen = ask([Say('<think>maybe {"total":"1","qty":1}</think>' + GOOD)])
    assert seen.story.result.status == "accepted"
    assert seen.story.value_text == GOOD


def test_think_block_reaches_no_prompt() -> None:
    seen = ask([Say("<think>the key is hunter2</think>[]"), Say(GOOD)])
    assert len(seen.asked) == 2
    assert "hunter2" not in seen.asked[1].text


def test_part_of_a_number_is_no_match() -> None:
    seen = ask(always('{"total":"5.000","qty":2}'), document="Total 15.000")
    assert seen.failures == [("business", "total-printed", "/total")]


def test_signed_fence_mode_extracts_only_then() -> None:
    fenced = f"```json\n{GOOD}\n```"
    assert ask(always(fenced)).story.result.final_class == "extra_text"
    seen = ask([Say(fenced)], tolerant_fence=True)
    assert seen.story.value_text == GOOD
    assert seen.story.changes[-1].report.extracted


@pytest.mark.parametrize(
    ("value", "least_ms"),
    [("1", 1_000), ("1.25", 1_250), (format_datetime(NOW + timedelta(seconds=2), usegmt=True), 2_000)],
    ids=["seconds", "fraction", "date"],
)
def test_retry_after_is_waited_for(value: str, least_ms: int) -> None:
    seen = ask([Fail(429, retry_after=value), Say(GOOD)])
    assert seen.story.result.status == "accepted"
    assert len(seen.asked) == 2
    assert sum(seen.clock.slept) >= least_ms
    assert seen.asked[0].body == seen.asked[1].body
    assert (seen.story.result.attempts, seen.story.result.healed) == (1, False)


def test_retry_after_beyond_budget_ends_now() -> None:
    seen = ask([Fail(429, retry_after="600")] * 2)
    result = seen.story.result
    assert len(seen.asked) == 1
    assert seen.clock.slept == []
    assert (result.reason, result.fault, result.final_class, result.retryable) == (
        "infrastructure",
        "rate_limit",
        "infrastructure",
        True,
    )


@pytest.mark.parametrize(
    "behaviour",
    [
        Say(None, message={"refusal": "I cannot help with that."}),
        Say("", "content_filter"),
        Fail(400, {"error": {"code": "content_filter", "message": "filtered"}}),
        Say(GOOD, message={"refusal": "no"}),
    ],
    ids=["refusal", "filter finish", "filter 400", "refusal beside content"],
)
def test_refusal_is_asked_once(behaviour: Behaviour) -> None:
    seen = ask([behaviour] * 3)
    assert len(seen.asked) == 1
    assert seen.story.result.final_class == "policy_rejection"
    assert seen.story.result.reason == "non_recoverable"
    assert not seen.story.result.retryable


def test_no_choices_is_a_protocol_fault() -> None:
    seen = ask([Raw(b'{"choices":[]}')] * 9, infrastructure__retries=1)
    assert len(seen.asked) == 2
    assert (seen.story.result.final_class, seen.story.result.fault) == ("infrastructure", "protocol")


def test_missing_finish_is_no_success() -> None:
    seen = ask([Say(GOOD, ...)], classes__stop=["truncated"])
    assert seen.story.result.status == "dead_lettered"
    assert seen.failures == [("truncated", "finish", "")]


def test_endpoint_overflow_stops_at_once() -> None:
    seen = ask([Fail(400, {"error": {"code": "context_length_exceeded", "message": "too long"}})] * 2)
    assert len(seen.asked) == 1
    assert seen.story.result.final_class == "context_overflow"


def test_transport_errors_never_reach_a_prompt() -> None:
    seen = ask([Fail(500, b"<html>secret-trace</html>"), Fail(429), Say(GOOD)])
    assert len(seen.asked) == 3
    assert len({asked.text for asked in seen.asked}) == 1
    assert seen.story.result.attempts == 1
    assert seen.story.result.requests == 3


def test_nothing_underneath_retries() -> None:
    seen = ask([Fail(503)] * 9, infrastructure__retries=2)
    assert len(seen.asked) == 3
    assert seen.story.result.requests == 3


def test_best_attempts_own_text_is_returned() -> None:
    best, worse = '{"total":"7.5","qty":2}', '{"total":"8.5","qty":"two"}'
    seen = ask([Say(worse), Say(best), Say('{"total":"9.5","qty":2}')], limits__same_signature=3)
    assert seen.story.value_text == best
    assert not seen.story.result.healed


def test_reported_tokens_are_charged_when_more() -> None:
    seen = ask(always("[]", usage=(9_000_000, 5)))
    assert len(seen.asked) == 1
    assert seen.story.result.reason == "total_tokens"
    assert [c.ended.over_cap for c in seen.story.changes if c.ended is not None] == [True]


def test_absent_usage_stays_unknown() -> None:
    seen = ask([Say(GOOD, usage=None)])
    assert seen.story.result.usage["prompt"] is None
    assert seen.story.result.usage["output"] is None
    assert seen.story.result.usage["tokens"] > 0


def test_absurd_usage_overflows_nothing() -> None:
    seen = ask([Say(GOOD, usage=(10**40, -1))])
    assert seen.story.result.status == "accepted"
    assert seen.story.result.usage["prompt"] < 2**31
    assert seen.story.result.usage["output"] is None


def test_shipped_numbers_are_exact() -> None:
    exact = "100000000000000000000000000001.000000000000000000000001"
    text = f'{{"total":{exact},"qty":2}}'
    seen = ask([Say(text)], document=f"Total {exact}", contract__properties__total={"type": "number"})
    assert seen.story.value_text == text
