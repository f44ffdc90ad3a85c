"""Each item of the menu: what it answers, when it declines, and what it can never let through."""

from __future__ import annotations

from typing import Any

import pytest

from controller.document import Document
from controller.envelope import Envelope
from controller.fallbacks import FALLBACKS, fall_back, spec_from
from controller.fallbacks.base import Answer, Fallen, Situation
from controller.reply import Reply
from controller.report import FailureClass
from controller.runner import prepare
from tests.envelopes import small

DOCUMENT = "Total 15.00\nQty 2\nTotal 15.00"


def fallen(
    item: dict[str, Any],
    *,
    best: str | None = None,
    document: str = DOCUMENT,
    final: FailureClass | None = None,
    **changes: Any,
) -> Fallen:
    envelope: Envelope = small(**changes)
    judge = prepare(envelope, {}).judge
    source = Document(document)
    report = judge.evaluate(source, Reply(best)) if best is not None else None
    return fall_back(spec_from({"id": "it", **item}), Situation(envelope, judge, source, report, final))


def test_every_kind_can_be_written() -> None:
    assert set(FALLBACKS) == {
        "deterministic_parser",
        "alternate_model",
        "partial",
        "ask_for_data",
        "typed_error",
        "needs_review",
    }


def test_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="'magic' is unknown; kinds: deterministic_parser"):
        spec_from({"id": "it", "kind": "magic"})


# deterministic_parser


def parser(total: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    pattern = {"at": "/total", "pattern": "Total ([0-9.]+)", **(total or {})}
    quantity = {"at": "/qty", "pattern": "Qty (.+)", "type": "integer"}
    return {"kind": "deterministic_parser", "fields": [pattern, quantity], **fields}


def test_parser_fills_fields_and_is_checked() -> None:
    found = fallen(parser())
    assert (found.answer, found.value_text) == (Answer.ACCEPTED, '{"total":"15.00","qty":2}')
    assert found.report is not None
    assert found.report.passed


def test_parser_result_that_fails_a_check_is_declined() -> None:
    assert fallen(parser({"pattern": "Total 1(5)"})).answer is Answer.DECLINED


@pytest.mark.parametrize(("take", "answer"), [("only", Answer.DECLINED), ("first", Answer.ACCEPTED), ("last", Answer.ACCEPTED)])
def test_parser_takes_the_declared_match(take: str, answer: Answer) -> None:
    found = fallen(parser({"take": take}), document="Total 1.00\nQty 2\nTotal 9.00")
    assert found.answer is answer
    assert take == "only" or ("1.00" if take == "first" else "9.00") in found.value_text


def test_parser_declines_without_a_match() -> None:
    assert fallen(parser(), document="nothing").detail == "the pattern for /total matched nothing"


@pytest.mark.parametrize("printed", ["two", "1_000", "٢", "2.0", "NaN", " 2", "007", "+2", "9" * 30])
def test_parser_numbers_are_json_numbers(printed: str) -> None:
    assert fallen(parser(), document=f"Total 15.00\nQty {printed}").answer is Answer.DECLINED


@pytest.mark.parametrize(
    ("printed", "text"), [("2.50", "2.50"), ("-0.5", "-0.5"), ("12", "12"), ("NaN", ""), ("Infinity", ""), ("1e5", "")]
)
def test_parser_keeps_every_digit(printed: str, text: str) -> None:
    number = {"at": "/n", "pattern": "N (.+)", "type": "number"}
    found = fallen(
        {"kind": "deterministic_parser", "fields": [number]},
        document=f"N {printed}",
        contract={"properties": {"n": {}}},
        checks=[],
        templates=[],
    )
    assert found.value_text == (f'{{"n":{text}}}' if text else "")


def test_parser_nests_and_fills_constants() -> None:
    item = {
        "kind": "deterministic_parser",
        "fields": [{"at": "/a/b", "pattern": "Total (.+)"}],
        "constants": {"/a/c": None, "/d": 1},
    }
    found = fallen(item, contract={}, checks=[], templates=[])
    assert found.value_text == '{"a":{"c":null,"b":"15.00"},"d":1}'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": "Total ("}, "does not compile"),
        ({"pattern": "Total"}, "needs one group"),
        ({"at": "/items/*/sku"}, "should match pattern"),
        ({"at": "/qty"}, "filled twice"),
        ({"at": "/qty/inner"}, "inside another"),
        ({"at": "/a~2"}, "~"),
    ],
)
def test_parser_that_cannot_work_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spec_from({"id": "it", **parser(fields)})


@pytest.mark.parametrize("place", ["", "qty", "/qty", "/*"])
def test_parser_constants_need_a_free_place(place: str) -> None:
    with pytest.raises(ValueError, match=r"constants|filled twice"):
        spec_from({"id": "it", **parser(constants={place: 1})})


# partial

OPTIONAL: dict[str, Any] = {
    "contract": {
        "type": "object",
        "required": ["total"],
        "properties": {
            "total": {"type": "string"},
            "note": {"type": "string"},
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["sku"],
                    "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}},
                },
            },
        },
    },
    "templates": [],
}
PARTIAL = {"kind": "partial"}


def test_partial_leaves_out_what_may_be_missing() -> None:
    best = '{"total":"15.00","note":5,"items":[{"sku":"A","qty":"x"},{"sku":"B","qty":2}]}'
    found = fallen(PARTIAL, best=best, **OPTIONAL)
    assert (found.answer, found.missing) == (Answer.ACCEPTED, ("/items/0/qty", "/note"))
    assert found.value_text == '{"total":"15.00","items":[{"sku":"A"},{"sku":"B","qty":2}]}'


@pytest.mark.parametrize(
    "best",
    [
        '{"total":5}',
        '{"total":"9.99","note":"x"}',
        '{"total":"15.00","items":[{"sku":1}]}',
        '{"total":"15.00","items":["x"]}',
        "[]",
        '{"note":"x"}',
        '{"total":"15.00","note":"x"}',
        "not json",
        None,
    ],
)
def test_partial_declines_everything_else(best: str | None) -> None:
    assert fallen(PARTIAL, best=best, **OPTIONAL).answer is Answer.DECLINED


def test_partial_keeps_to_its_declared_fields() -> None:
    best = '{"total":"15.00","note":5}'
    assert fallen({**PARTIAL, "fields": ["/items/*/qty"]}, best=best, **OPTIONAL).answer is Answer.DECLINED
    assert fallen({**PARTIAL, "fields": ["/note"]}, best=best, **OPTIONAL).answer is Answer.ACCEPTED


def test_partial_does_not_touch_the_report() -> None:
    envelope = small(**OPTIONAL)
    judge, source = prepare(envelope, {}).judge, Document(DOCUMENT)
    report = judge.evaluate(source, Reply('{"total":"15.00","note":5}'))
    fall_back(spec_from({"id": "it", **PARTIAL}), Situation(envelope, judge, source, report, None))
    assert report.value == {"total": "15.00", "note": 5}


# the rest

ASK = {"kind": "ask_for_data", "fields": ["/total"], "message": "Which total?"}


@pytest.mark.parametrize(
    ("final", "answer"),
    [(FailureClass.MISSING_SOURCE_DATA, Answer.DEAD_LETTER), (FailureClass.SCHEMA, Answer.DECLINED), (None, Answer.DECLINED)],
)
def test_data_is_asked_for_where_it_is_missing(final: FailureClass | None, answer: Answer) -> None:
    assert fallen(ASK, final=final).answer is answer


def test_data_may_be_asked_for_always() -> None:
    found = fallen({**ASK, "only_for": []}, final=FailureClass.SCHEMA)
    assert found.request == {"type": "ask_for_data", "fields": ["/total"], "message": "Which total?"}


def test_typed_error_has_signed_words() -> None:
    found = fallen({"kind": "typed_error", "code": "unreadable", "message": "Send it again."})
    assert (found.answer, found.request) == (
        Answer.DEAD_LETTER,
        {"type": "error", "code": "unreadable", "message": "Send it again."},
    )


def test_review_takes_it_as_it_is() -> None:
    assert fallen({"kind": "needs_review"}) == Fallen(Answer.DEAD_LETTER)


def test_alternate_is_never_run_as_a_fallback() -> None:
    assert fallen({"kind": "alternate_model", "alias": "second", "plan": "copy"}).answer is Answer.DECLINED


def test_alternate_names_an_existing_plan() -> None:
    with pytest.raises(ValueError, match="names the plan 'gone'"):
        small(fallback=[{"id": "it", "kind": "alternate_model", "alias": "second", "plan": "gone"}])
