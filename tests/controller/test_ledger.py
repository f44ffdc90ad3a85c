"""One directive per group, made of signed words and typed slots only."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import ledger
from controller.envelope import Slot
from controller.report import CheckReport, FailureClass, Finding, SlotType
from tests.envelopes import small


def finding(check: str = "total-printed", group: str = "grounding", path: str = "/total", **facts: Any) -> Finding:
    return Finding(check, group, FailureClass.BUSINESS, path, False, facts=facts)


def texts(*findings: Finding, templates: list[dict[str, Any]], value: Any = None) -> list[str]:
    report = CheckReport(findings, parsed=value is not None, value=value)
    return [d.text for d in ledger.update((), report, small(templates=templates))]


def test_one_directive_per_group() -> None:
    found = texts(
        finding(path="/total"),
        finding(path="/qty"),
        finding("schema", "schema", "/qty"),
        templates=[
            {"for": "grounding", "text": "{path}!", "slots": {"path": "json_pointer"}},
            {"for": "schema", "text": "Form."},
        ],
    )
    assert found == ["/total!", "Form."]


def test_new_failure_replaces_the_groups_directive() -> None:
    envelope = small()
    first = ledger.update((), CheckReport((finding(path="/total"),)), envelope)
    second = ledger.update(first, CheckReport((finding(path="/qty"),)), envelope)
    assert [d.text for d in second] == ["/qty: copy the number as printed."]


def test_group_that_passed_keeps_its_directive() -> None:
    envelope = small()
    first = ledger.update((), CheckReport((finding(),)), envelope)
    both = ledger.update(first, CheckReport((finding("schema", "schema", "/qty"),)), envelope)
    assert [d.group for d in both] == ["grounding", "schema"]
    assert both[0] is first[0]


def test_order_is_by_group() -> None:
    envelope = small()
    one, other = finding(), finding("schema", "schema", "/qty")
    assert ledger.update((), CheckReport((one, other)), envelope) == ledger.update((), CheckReport((other, one)), envelope)


def test_checks_own_template_comes_first() -> None:
    templates = [{"for": "grounding", "text": "group"}, {"for": "total-printed", "text": "own"}]
    assert texts(finding(), templates=templates) == ["own"]
    assert texts(finding("total-printed.ambiguous"), templates=templates) == ["own"]
    assert texts(finding("other"), templates=templates) == ["group"]


def test_group_without_template_says_nothing() -> None:
    assert texts(finding(), templates=[]) == []


def test_next_finding_serves_where_a_slot_is_absent() -> None:
    templates = [{"for": "grounding", "text": "at least {minimum}", "slots": {"minimum": "number"}}]
    assert texts(finding("a"), finding("b", minimum=Decimal("1.50")), templates=templates) == ["at least 1.50"]


def test_braces_in_facts_are_not_slots() -> None:
    templates = [
        {"for": "grounding", "text": "{expected} {path}", "slots": {"expected": "quoted_token", "path": "json_pointer"}}
    ]
    assert texts(finding(expected="{path}"), templates=templates) == ['"{path}" /total']


def test_undeclared_hole_stays_as_signed() -> None:
    assert texts(finding(), templates=[{"for": "grounding", "text": "{path} {other}", "slots": {"path": "json_pointer"}}]) == [
        "/total {other}"
    ]


TYPED = [
    ("json_pointer", "/a/0", "/a/0"),
    ("json_pointer", "", "/"),
    ("json_pointer", "no pointer", None),
    ("json_pointer", "/a\nb", None),
    ("json_pointer", "/" * 40, None),
    ("json_pointer", "/" + "x" * 199, "/" + "x" * 199),
    ("json_pointer", "/" + "x" * 200, None),
    ("quoted_token", "x" * 80, '"' + "x" * 80 + '"'),
    ("json_pointer", 7, None),
    ("number", 7, "7"),
    ("number", Decimal("1E+2"), "100"),
    ("number", "7", None),
    ("number", True, None),
    ("integer", 7, "7"),
    ("integer", Decimal(7), None),
    ("integer", "7", None),
    ("enum", ("A", "B"), "A, B"),
    ("enum", "A", "A"),
    ("enum", "A\nB", None),
    ("enum", "x" * 81, None),
    ("enum", "x" * 80, "x" * 80),
    ("date", "2026-02-28", "2026-02-28"),
    ("date", "2026-02-30", None),
    ("date", "soon", None),
    ("quoted_token", "as printed", '"as printed"'),
    ("quoted_token", 'a "b"', None),
    ("quoted_token", "a\tb", None),
    ("quoted_token", "x" * 81, None),
    ("quoted_token", "", None),
    ("quoted_token", None, None),
]


@pytest.mark.parametrize(("kind", "fact", "text"), TYPED)
def test_slot_takes_its_type_only(kind: str, fact: Any, text: str | None) -> None:
    assert ledger.render(fact, Slot(type=SlotType(kind))) == text


def model_text(value: Any, path: str = "/total", max_chars: int = 8) -> list[str]:
    slots = {"seen": {"type": "model_text", "max_chars": max_chars}}
    return texts(finding(path=path), templates=[{"for": "grounding", "text": "not {seen}", "slots": slots}], value=value)


def test_model_text_is_marked_and_cut() -> None:
    assert model_text({"total": "123456789"}) == ["not ⟦data: 12345678⟧"]
    assert model_text({"total": 5}) == ["not ⟦data: 5⟧"]


@pytest.mark.parametrize("value", [{"total": ["a"]}, {"total": {"a": 1}}, {"total": None}, {}])
def test_model_text_needs_one_plain_value(value: Any) -> None:
    assert model_text(value) == []


@given(st.text(max_size=40))
def test_model_text_never_leaves_its_marks(text: str) -> None:
    for made in model_text({"total": text}):
        inside = made.removeprefix("not ⟦data: ").removesuffix("⟧")
        assert len(inside) <= 8
        assert not set(inside) & set("⟦⟧\n\r\x00")
