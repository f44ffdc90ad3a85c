"""What counts as a vote, and what several votes say together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller import judge as judging
from controller.envelope import Judge
from controller.reply import Finish, Reply
from controller.report import FailureClass
from controller.tokens import utf8_bytes
from tests.envelopes import small

FOUR = [{"id": name, "text": f"Is {name}.", "weight": weight} for name, weight in (("a", 3), ("b", 3), ("c", 2), ("d", 2))]


def judge(**fields: Any) -> Judge:
    return Judge.model_validate({"alias": "judge", "instructions": "Judge.", "criteria": FOUR, "threshold": 7, **fields})


def said(**results: Any) -> str:
    return json.dumps({**dict.fromkeys("abcd", True), **results})


def test_vote_names_every_criterion() -> None:
    assert judging.vote(judge(), Reply(said(c=False))) == "pass:+a,+b,-c,+d"
    assert judging.vote(judge(), Reply(said(a=False, c=False))) == "fail:-a,+b,-c,+d"


def test_weights_alone_accept_every_single_failure() -> None:
    """The trap: with weights 3, 3, 2, 2 and 7 of 10 needed, no criterion alone can fail an output unless it is required."""
    assert all(judging.vote(judge(), Reply(said(**{name: False}))).startswith("pass") for name in "abcd")
    required = judge(criteria=[{**criterion, "required": criterion["id"] == "c"} for criterion in FOUR])
    assert judging.vote(required, Reply(said(c=False))).startswith("fail")


def test_weights_are_whole_numbers() -> None:
    with pytest.raises(ValueError, match="int"):
        judge(criteria=[{**FOUR[0], "weight": 0.3}])


@pytest.mark.parametrize(
    "text",
    [
        None, "", "yes", "[]", "{}", "null", said(e=True), said(a="false"), said(a=None), said(a=1), said()[:-1],
        '{"a":true,"b":true,"c":true}', '{"a":true,"a":true,"b":true,"c":true,"d":true}', "[" + said() + "]", said() + said(),
        "```json\n" + said() + "\n```",
    ],
)  # fmt: skip
def test_anything_else_is_an_eval_error(text: str | None) -> None:
    assert judging.vote(judge(), Reply(text)) == "eval_error"


@pytest.mark.parametrize(
    "reply", [Reply(said(), finish) for finish in Finish if finish is not Finish.STOP] + [Reply(said(), refused=True)]
)
def test_unfinished_vote_is_an_eval_error(reply: Reply) -> None:
    assert judging.vote(judge(), reply) == "eval_error"


def test_thought_before_the_vote_is_left_out() -> None:
    assert judging.vote(judge(), Reply("<think>hm</think>" + said())).startswith("pass")


YES, NO, ERROR = "pass:+a,+b,+c,+d", "fail:-a,-b,+c,+d", "eval_error"


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ((), None),
        ((YES, YES), None),
        ((YES, YES, NO), "pass"),
        ((NO, NO, YES), "fail"),
        ((YES, YES, ERROR), "pass"),
        ((YES, NO, ERROR), "fail"),
        ((YES, ERROR, ERROR), "eval_error"),
        ((ERROR, ERROR, ERROR), "eval_error"),
    ],
)
def test_majority_decides(votes: tuple[str, ...], verdict: str | None) -> None:
    assert judging.verdict(judge(votes=3), votes)[0] == verdict


def test_failing_criteria_come_from_the_same_majority() -> None:
    """Each vote passes alone (8 of 10), but the majority says no to a criterion that is required."""
    strict = judge(votes=3, threshold=6, criteria=[{**c, "required": c["id"] == "d"} for c in FOUR])
    votes = ("fail:+a,+b,+c,-d", "pass:+a,+b,-c,+d", "fail:+a,-b,+c,-d")
    verdict, report = judging.verdict(strict, votes)
    assert verdict == "fail"
    assert report is not None
    assert [(f.check, f.group, f.failure_class) for f in report.failures] == [("d", "judgement", FailureClass.JUDGEMENT)]


def asked(cap: int = 8_000, **changes: Any) -> Any:
    envelope = small(judge={"alias": "j", "instructions": "Judge.", "criteria": FOUR, "threshold": 7, "cap": cap}, **changes)
    return judging.request(envelope, "Total 1", '{"total":"1"}', utf8_bytes, vote=2, record="r")


def test_judge_sees_document_and_output_as_data() -> None:
    request, size = asked()
    user = request.messages[1].content
    assert "\nTotal 1\n[end of document " in user
    assert '\n{"total":"1"}\n[end of output ' in user
    assert size == sum(len(m.content.encode()) for m in request.messages) + 16
    assert (request.alias, request.attempt, request.seed, request.schema) == ("j", 2, 2, None)


def test_judge_over_its_cap_is_not_asked() -> None:
    _, size = asked()
    assert asked(cap=size)[0] is not None
    assert asked(cap=size - 1) == (None, size)


def test_judges_own_schema_is_strict() -> None:
    request, _ = asked(model__response_format="json_schema")
    assert request.schema["required"] == ["a", "b", "c", "d"]
    assert request.schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"threshold": 11}, "nothing could pass"),
        ({"criteria": [FOUR[0], FOUR[0]], "threshold": 1}, "same id"),
        ({"votes": 2}, "1, 3 or 5"),
    ],
)
def test_judge_that_cannot_work_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        judge(**fields)
