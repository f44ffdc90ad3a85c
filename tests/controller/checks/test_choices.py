"""enum, regex, unique, cross_reference, state_transition, required_if: rules over the value."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.controller.checks.judging import findings, outcomes, verdict


@pytest.mark.parametrize(
    ("value", "values", "expected"),
    [
        ("PAID", ["PAID", "OPEN"], "pass"),
        ("paid", ["PAID", "OPEN"], "fail"),
        (1, [1], "pass"),
        (Decimal("1.0"), [1], "pass"),
        (True, [1], "fail"),
        ("1", [1], "fail"),
        (True, [True], "pass"),
        (None, ["PAID"], "none"),
        ([1], ["PAID"], "fail"),
    ],
)
def test_values_come_from_the_list(value: object, values: list[object], expected: str):
    assert verdict("enum", {"status": value}, at="/status", values=values) == expected


def test_enum_says_what_is_allowed():
    assert findings("enum", {"status": "x"}, at="/status", values=["PAID", "OPEN"])[0].expected == "one of: PAID, OPEN"


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("A-12", r"[A-Z]-\d+", "pass"),
        ("xA-12", r"[A-Z]-\d+", "fail"),
        ("A-12\n", r"[A-Z]-\d+", "fail"),
        ("a" * 5_000 + "b", r"(a+)+", "fail"),
        (12, r"\d+", "fail"),
        (None, r"\d+", "none"),
    ],
)
def test_whole_text_matches_the_pattern(value: object, pattern: str, expected: str):
    assert verdict("regex", {"status": value}, at="/status", pattern=pattern) == expected


def test_pattern_can_have_words():
    assert findings("regex", {"status": "x"}, at="/status", pattern="A", says="a stock number")[0].expected == "a stock number"


@pytest.mark.parametrize(
    ("items", "fields", "passed"),
    [
        ([{"sku": "A"}, {"sku": "B"}, {"sku": "A"}], {"at": "/items/*/sku"}, [True, True, False]),
        ([{"sku": 1}, {"sku": Decimal("1.0")}, {"sku": "1"}], {"at": "/items/*/sku"}, [True, False, True]),
        ([{"sku": None}, {"sku": None}, {}], {"at": "/items/*/sku"}, []),
        ([{"sku": "A", "name": "x"}, {"sku": "A", "name": "y"}], {"at": "/items/*", "keys": ["sku", "name"]}, [True, True]),
        ([{"sku": "A", "name": "x"}, {"sku": "A", "name": "x"}], {"at": "/items/*", "keys": ["sku", "name"]}, [True, False]),
        ([{"sku": "A", "name": "x"}, {"sku": "A", "name": "y"}], {"at": "/items/*", "keys": ["sku"]}, [True, False]),
        ([{"sku": "A"}, {"sku": "A"}], {"at": "/items/*"}, [True, False]),
    ],
)
def test_repetitions_fail_where_they_stand(items: list[object], fields: dict[str, object], passed: list[bool]):
    assert [found.passed for found in findings("unique", {"items": items}, **fields)] == passed


def test_references_lead_somewhere():
    value = {"items": [{"sku": "A"}, {"sku": None}], "deliveries": [{"sku": "A"}, {"sku": "B"}, {"sku": None}]}
    assert outcomes("cross_reference", value, at="/deliveries/*/sku", among="/items/*/sku") == [
        ("it", "/deliveries/0/sku", True),
        ("it", "/deliveries/1/sku", False),
    ]


ALLOWED = {"CONFIRMED": ["SHIPPED", "CANCELLED"], "SHIPPED": []}


@pytest.mark.parametrize(
    ("old", "new", "expected", "words"),
    [
        ("CONFIRMED", "SHIPPED", "pass", "one of: SHIPPED, CANCELLED"),
        ("confirmed", "shipped", "pass", "one of: SHIPPED, CANCELLED"),
        ("CONFIRMED", "CONFIRMED", "fail", "one of: SHIPPED, CANCELLED"),
        ("SHIPPED", "CANCELLED", "fail", "no transition: the old state is final"),
        ("LOST", "SHIPPED", "fail", "a transition from a known state"),
        (5, "SHIPPED", "fail", "a transition from a known state"),
        ("CONFIRMED", 5, "fail", "one of: SHIPPED, CANCELLED"),
        (None, "SHIPPED", "none", ""),
        ("CONFIRMED", None, "none", ""),
    ],
)
def test_states_follow_the_map(old: object, new: object, expected: str, words: str):
    fields = {"from": "/previous", "to": "/status", "allowed": ALLOWED}
    value = {"previous": old, "status": new}
    assert verdict("state_transition", value, **fields) == expected
    assert [found.expected for found in findings("state_transition", value, **fields)] == ([words] if words else [])


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("Status: CONFIRMED.", "pass"),
        ("Status: confirmed. Again Status: CONFIRMED", "pass"),
        ("Status: SHIPPED.", "fail"),
        ("Status: CONFIRMED, then Status: SHIPPED", "ambiguous"),
        ("nothing", "fail"),
    ],
)
def test_old_state_may_be_printed(document: str, expected: str):
    fields = {"from_document": r"Status: (\w+)", "to": "/status", "allowed": ALLOWED}
    assert verdict("state_transition", {"status": "CANCELLED"}, document, **fields) == expected


def test_printed_state_is_lit():
    fields = {"from_document": r"Status: (\w+)", "to": "/status", "allowed": ALLOWED}
    document = "é Status: CONFIRMED"
    (found,) = findings("state_transition", {"status": "SHIPPED"}, document, **fields)
    assert [document[span.start : span.end] for span in found.spans] == ["CONFIRMED"]


@pytest.mark.parametrize(
    ("value", "condition", "expected"),
    [
        ({"status": "PAID", "paid_on": "x"}, {"at": "/status", "equals": ["PAID"]}, "pass"),
        ({"status": "PAID", "paid_on": None}, {"at": "/status", "equals": ["PAID"]}, "fail"),
        ({"status": "PAID"}, {"at": "/status", "equals": ["PAID"]}, "fail"),
        ({"status": "OPEN"}, {"at": "/status", "equals": ["PAID"]}, "none"),
        ({"status": True}, {"at": "/status", "equals": [1]}, "none"),
        ({"status": "OPEN"}, {"at": "/status", "exists": True}, "fail"),
        ({"status": None}, {"at": "/status", "exists": True}, "none"),
        ({"status": None}, {"at": "/status", "exists": False}, "fail"),
        ({}, {"at": "/status", "exists": False}, "fail"),
    ],
)
def test_condition_makes_a_field_required(value: object, condition: dict[str, object], expected: str):
    assert verdict("required_if", value, require=["/paid_on"], **{"if": condition}) == expected


def test_scope_requires_in_each_item():
    value = {"items": [{"gift": "yes"}, {"gift": "yes", "note": "hi"}, {"gift": "no"}]}
    fields = {"scope": "/items/*", "if": {"at": "/gift", "equals": ["yes"]}, "require": ["/note"]}
    assert outcomes("required_if", value, **fields) == [("it", "/items/0/note", False), ("it", "/items/1/note", True)]
    assert findings("required_if", value, **fields)[0].expected == "a value, because /gift is one of: yes"
