"""sum, arithmetic and range: exact amounts under declared conventions."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks import SpecError, spec_from
from tests.controller.checks.judging import findings, outcomes, verdict

ITEMS = {"items": [{"price": "4.50"}, {"price": "5.60"}]}


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        ({**ITEMS, "total": "10.10"}, {}, "pass"),
        ({**ITEMS, "total": Decimal("10.1")}, {}, "pass"),
        ({**ITEMS, "total": "10.11"}, {}, "fail"),
        ({**ITEMS, "total": "10.11"}, {"tolerance": "0.01"}, "pass"),
        ({**ITEMS, "total": "10.12"}, {"tolerance": "0.01"}, "fail"),
        ({"items": [{"price": Decimal("0.1")}] * 3, "total": Decimal("0.3")}, {}, "pass"),
        ({"items": [{"price": "1.000"}, {"price": "2.500"}], "total": "3500"}, {"locale": "de"}, "pass"),
        ({"items": [{"price": "1.000"}, {"price": "2.500"}], "total": "3.500"}, {"locale": "auto"}, "pass"),
        ({"items": [{"price": "1.000"}, {"price": "2"}], "total": "1.002"}, {"locale": "auto"}, "ambiguous"),
        ({"items": [{"price": "1.000"}, {"price": "2,50"}], "total": "1.002,50"}, {"locale": "auto"}, "pass"),
        ({"items": [{"price": "five"}], "total": "5"}, {}, "fail"),
        ({"items": [], "total": "0"}, {}, "pass"),
        ({"items": [], "total": "5"}, {}, "fail"),
        ({"items": None, "total": "5"}, {}, "none"),
        ({"total": "10.10"}, {}, "none"),
        ({"items": [{"price": "4.50"}, {"price": None}], "total": "4.50"}, {}, "none"),
        ({"items": [{"price": "4.50"}, {"name": "x"}], "total": "4.50"}, {}, "none"),
        ({"items": [{"price": "4.50"}, {"name": "x"}], "total": "4.50"}, {"missing": "zero"}, "pass"),
        ({**ITEMS, "total": None}, {}, "none"),
        (ITEMS, {}, "none"),
        ({"items": [{"price": Decimal("1E+308")}, {"price": Decimal("1E-308")}], "total": Decimal("1E+308")}, {}, "fail"),
    ],
)
def test_items_add_up(value: object, fields: dict[str, object], expected: str):
    assert verdict("sum", value, of="/items/*/price", equals="/total", **fields) == expected


def test_sum_of_named_fields():
    value = {"subtotal": "9", "tax": "1", "total": "10"}
    assert verdict("sum", value, of=["/subtotal", "/tax"], equals="/total") == "pass"
    assert verdict("sum", {**value, "tax": None}, of=["/subtotal", "/tax"], equals="/total") == "none"


@given(st.lists(st.decimals(-10_000, 10_000, places=2), min_size=1, max_size=8))
def test_exact_sums_pass_and_others_fail(prices: list[Decimal]):
    total = sum(prices, Decimal(0))
    value = {"items": [{"price": price} for price in prices], "total": total}
    assert verdict("sum", value, of="/items/*/price", equals="/total") == "pass"
    assert verdict("sum", {**value, "total": total + Decimal("0.001")}, of="/items/*/price", equals="/total") == "fail"


LINE = {"scope": "/items/*", "operation": "product", "of": ["/quantity", "/price"], "equals": "/line_total"}


def test_each_line_multiplies():
    items = [
        {"quantity": 2, "price": "4.50", "line_total": "9.00"},
        {"quantity": 3, "price": "0.10", "line_total": "0.31"},
        {"quantity": None, "price": "1", "line_total": "1"},
        {"price": "1", "line_total": "1"},
    ]
    assert outcomes("arithmetic", {"items": items}, **LINE) == [
        ("it", "/items/0/line_total", True),
        ("it", "/items/1/line_total", False),
    ]
    assert findings("arithmetic", {"items": items}, **LINE)[1].expected == "/quantity × /price"


@pytest.mark.parametrize(
    ("operation", "of", "total", "expected"),
    [
        ("difference", ["/subtotal", "/discount"], "8", "pass"),
        ("difference", ["/discount", "/subtotal"], "8", "fail"),
        ("sum", ["/subtotal", "/discount"], "12", "pass"),
        ("product", ["/subtotal", "0.19"], "1.90", "pass"),
        ("product", ["/subtotal", 2], "20", "pass"),
    ],
)
def test_operations_are_what_they_say(operation: str, of: list[object], total: str, expected: str):
    value = {"subtotal": "10", "discount": "2", "total": total}
    assert verdict("arithmetic", value, operation=operation, of=of, equals="/total") == expected


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        ("5", {"minimum": 5}, "pass"),
        ("5", {"minimum": 5, "exclusive": True}, "fail"),
        (Decimal("5.01"), {"maximum": 5}, "fail"),
        ("4.999", {"minimum": "4.999", "maximum": "4.999"}, "pass"),
        ("1.000", {"maximum": 10, "locale": "en"}, "pass"),
        ("1.000", {"maximum": 10, "locale": "de"}, "fail"),
        ("1.000", {"maximum": 10, "locale": "auto"}, "ambiguous"),
        ("1.000", {"maximum": 10_000, "locale": "auto"}, "pass"),
        ("five", {"maximum": 10}, "fail"),
        (True, {"maximum": 10}, "fail"),
        (None, {"maximum": 10}, "none"),
    ],
)
def test_numbers_stay_in_range(value: object, fields: dict[str, object], expected: str):
    assert verdict("range", {"total": value}, at="/total", **fields) == expected


def test_range_tells_its_bounds():
    (found,) = findings("range", {"total": "50"}, at="/total", minimum=1, maximum=9)
    assert found.expected == "a number, at least 1 and at most 9"
    assert dict(found.facts) == {"path": "/total", "minimum": 1, "maximum": 9}


@pytest.mark.parametrize(
    "fields",
    [{}, {"minimum": 2, "maximum": 1}, {"minimum": "NaN"}, {"minimum": 1, "locale": "xx"}, {"minimum": 1, "surprise": 1}],
)
def test_bad_ranges_are_refused(fields: dict[str, object]):
    with pytest.raises(SpecError):
        spec_from({"id": "it", "group": "g", "kind": "range", "at": "/total", **fields})
