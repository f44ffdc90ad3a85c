"""Where, which, what was expected; and secrets that were planted everywhere occur nowhere."""

from __future__ import annotations

import json
import logging
import traceback
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from controller.backends import OpenAICompatible
from controller.checks.base import SpecError
from controller.reply import Fault, InfrastructureError
from controller.report import CheckReport, FailureClass, Finding
from controller.safe_summary import MOST_CHARACTERS, lines, safe_summary
from controller.testing import Story, run_record
from tests.envelopes import small
from tests.stub_endpoint import Fail, Say, StubEndpoint

KEY = "sk-planted-0f4c1d77"
CARD = "4929123412341234"


def finding(path: str = "/qty", check: str = "schema", expected: str = "type integer", passed: bool = False) -> Finding:
    return Finding(check, check, FailureClass.SCHEMA, path, passed, expected)


def test_report_says_where_which_what() -> None:
    report = CheckReport((finding(), finding(passed=True), finding("/total", "total-printed", "")))
    assert safe_summary(report) == "schema /qty: type integer; total-printed /total"
    assert safe_summary(finding("")) == "schema: type integer"


def test_long_report_is_cut() -> None:
    summary = safe_summary(CheckReport(tuple(finding(f"/items/{n}") for n in range(7))))
    assert summary.endswith("; and 2 more")
    assert len(safe_summary(finding(expected="x" * 9_999))) == MOST_CHARACTERS


def test_line_breaks_cannot_forge_log_lines() -> None:
    assert safe_summary(finding(expected="a\r\nERROR forged")) == "schema /qty: a  ERROR forged"


def test_fault_says_its_own_words() -> None:
    error = InfrastructureError(Fault.RATE_LIMIT, "the endpoint asked to wait")
    assert safe_summary(error) == "rate_limit: the endpoint asked to wait"


def test_spec_error_names_its_fields() -> None:
    assert safe_summary(SpecError("checks.a.at", "names nothing")) == "SpecError checks.a.at: names nothing"


def test_foreign_error_is_named_and_placed_only() -> None:
    def choke() -> None:
        raise ValueError(f"could not read {CARD}")

    with pytest.raises(ValueError, match="could not read") as caught:
        choke()
    assert safe_summary(caught.value).startswith("ValueError at tests.controller.test_safe_summary:")
    assert CARD not in safe_summary(caught.value)


def fail_twice(*, suppressed: bool) -> None:
    try:
        int(CARD + "x")
    except ValueError as error:
        raise KeyError(KEY) from (None if suppressed else error)


def caused(*, suppressed: bool = False) -> KeyError:
    with pytest.raises(KeyError) as caught:
        fail_twice(suppressed=suppressed)
    return caught.value


def test_causes_are_told_without_their_words() -> None:
    assert [line.code for line in lines(caused())] == ["KeyError", "ValueError"]
    assert CARD not in safe_summary(caused())
    assert KEY not in safe_summary(caused())


def test_suppressed_context_is_left_out() -> None:
    assert [line.code for line in lines(caused(suppressed=True))] == ["KeyError"]


def test_validation_error_shows_no_input() -> None:
    class Form(BaseModel):
        fields: dict[str, int]

    with pytest.raises(ValidationError) as caught:
        Form.model_validate({"fields": {f"{CARD} {KEY}": KEY, "plain": CARD[:3] + "x"}})
    assert safe_summary(caught.value) == "ValidationError fields.?: int_parsing; ValidationError fields.plain: int_parsing"


# Planted secrets, through a whole run over HTTP

REPLIES = [
    json.dumps({"total": "15.00", "qty": CARD}),
    json.dumps({"total": CARD, "qty": KEY, CARD: {KEY: KEY}}),
    f"Sure, {KEY} {CARD}",
    json.dumps({"total": "15.00", "qty": 2, KEY + "\r\n": CARD}),
]


def told(replies: list[Any], caplog: pytest.LogCaptureFixture, **changes: Any) -> tuple[Story, list[str]]:
    caplog.set_level(logging.DEBUG)
    wide = {
        "limits__attempts": 9,
        "limits__same_plan": 9,
        "limits__same_signature": 9,
        "limits__same_shape": 9,
        "limits__no_progress": 9,
    }
    with StubEndpoint(replies) as stub:
        backend = OpenAICompatible(stub.url, "stub", KEY)
        story = run_record(small(**{**wide, **changes}), "Total 15.00", backend)
        backend.close()
        return story, [asked.text for asked in stub.requests]


@pytest.mark.parametrize("reply", REPLIES, ids=["wrong-typed field", "keys and values", "extra text", "key with CR LF"])
def test_secrets_in_replies_go_nowhere(reply: str, caplog: pytest.LogCaptureFixture) -> None:
    story, prompts = told([Say(reply), Say(reply), Fail(500, f"{KEY} {CARD}".encode())], caplog, infrastructure__retries=0)
    assert len(prompts) >= 2
    seen = [caplog.text, *prompts, *(change.why for change in story.changes), json.dumps(story.result.request)]
    for change in story.changes:
        report = change.ended.report if change.ended else None
        seen += [f"{f.check} {f.pointer} {f.expected} {f.facts}" for f in (report.findings if report else ())]
        seen += [safe_summary(report)] if report else []
        seen += [change.ended.detail] if change.ended else []
        seen += list(change.begun.directives) if change.begun else []
    seen.append(repr(story.run))
    for text in seen:
        assert KEY not in text
        assert CARD not in text


@pytest.mark.parametrize("key", [KEY + "\r\n", KEY + "\n", KEY + "\x00"])
def test_key_with_line_break_is_refused_unseen(key: str) -> None:
    with pytest.raises(ValueError, match="the API key has a line break") as caught:
        OpenAICompatible("http://127.0.0.1:1/v1", "stub", key)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_exception_chain_holds_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    story, _ = told([Fail(500, f'{{"error":{{"message":"{KEY} {CARD}"}}}}'.encode())] * 9, caplog)
    assert story.result.fault == "server"
    faults = [change.ended.detail for change in story.changes if change.ended is not None]
    assert faults
    assert not any(KEY in detail or CARD in detail for detail in faults)
