from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks import SpecError
from controller.checks.cel import CompiledRule, as_cel
from tests.controller.checks.judging import findings, outcomes, verdict

VALUE = {
    "total": Decimal("3.1"),
    "subtotal": Decimal("1.10"),
    "tax": Decimal("2.0"),
    "shop": "1.234,50",
    "status": None,
    "discount": 10**30,
    "items": [{"price": Decimal("0.1"), "quantity": 1}] * 10,
}
UNREADABLE = "the rule could not be evaluated"


@pytest.mark.parametrize(
    ("cel", "expected"),
    [
        ("eq(add(doc.subtotal, doc.tax), doc.total)", "pass"),
        ("add(doc.subtotal, doc.tax) == doc.total", "pass"),
        ("add(doc.subtotal, '1.90') == 3", "pass"),
        ("sum(doc.items.map(i, i.price)) == 1", "pass"),
        ("sum(doc.items.map(i, mul(i.price, i.quantity))) == dec('1.00')", "pass"),
        ("sum([]) == 0", "pass"),
        ("doc.tax == 2", "pass"),
        ("doc.tax < 3", "pass"),
        ("lt(doc.total, doc.discount) && doc.discount == mul(doc.discount, 1)", "pass"),
        ("num(doc.shop, 'de') == dec('1234.5')", "pass"),
        ("round(div(10, 3, 4), 2) == dec('3.33')", "pass"),
        ("round(dec('2.345'), 2) == dec('2.35')", "pass"),
        ("abs(sub(1, 2)) == 1", "pass"),
        ("ge(2, 2) && le(2, 2) && gt(3, 2) && ne(1, 2)", "pass"),
        ("has(doc.shop) && !has(doc.previous)", "pass"),
        ("doc.status == null", "pass"),
        ("text.contains('printed')", "pass"),
        ("text.matches('(p+)+rinted') && size(text) < 100", "pass"),
        ("'2.5' == \"2.5\" && '''1.5''' == r'1.5'", "pass"),
        ("doc.total == dec('3.2')", "fail"),
    ],
)
def test_rules_are_exact(cel: str, expected: str):
    assert verdict("rule", VALUE, "printed", cel=cel) == expected


@pytest.mark.parametrize(
    "cel",
    [
        "doc.total < 5",  # an inexact comparison is no comparison
        "doc.total + doc.tax == 5",
        "add(doc.status, 1) == 1",
        "add('1e5', 1) == 1",
        "doc.previous == 1",
        "doc.items[99].price == 1",
        "div(1, 0, 2) == 0",
        "1 / (doc.tax - 2) == 1",
        "num(doc.shop, 'auto') == num('60.000', 'auto')",
        "num(doc.shop, 'klingon') == 1",
        "round(1, 99) == 1",
        "doc.items.all(a, doc.items.all(b, doc.items.all(c, doc.items.all(d, doc.items.all(e, lt(a.price, 1))))))",
        "doc.tax",
        "doc",
    ],
)
def test_what_cannot_be_evaluated_fails(cel: str):
    assert [(found.passed, found.expected) for found in findings("rule", VALUE, cel=cel)] == [(False, UNREADABLE)]


def test_costly_amounts_are_bounded():
    value = {"items": [{"price": 1}] * 900}
    (found,) = findings("rule", value, cel="doc.items.all(i, sum(doc.items.map(j, j.price)) == 900)")
    assert found.expected == UNREADABLE


@pytest.mark.parametrize(
    ("cel", "words"),
    [
        ("nosuch(doc)", "undeclared reference to 'nosuch'"),
        ("(", "Syntax error"),
        ("", "at least 1 character"),
        ("add(true, 1) == 2", "no matching overload"),
        ("1 + 1", "does not give true or false"),
        ("doc.total > 2.5", "dec('2.50')"),
        ("doc.total > .5", "dec('2.50')"),
        ("doc.total > 1e3", "dec('2.50')"),
        ("double(doc.total) == 1", "dec('2.50')"),
        ("x" * 5_000, "at most"),
    ],
)
def test_bad_rules_are_refused(cel: str, words: str):
    with pytest.raises(SpecError) as caught:
        findings("rule", VALUE, cel=cel)
    assert caught.value.field == "cel"
    assert words in caught.value.message


def test_each_item_is_judged_alone():
    value = {"items": [{"price": "1", "quantity": 1}, {"price": "0", "quantity": 1}]}
    assert outcomes("rule", value, cel="gt(item.price, 0)", each="/items/*", at="/price") == [
        ("it", "/items/0/price", True),
        ("it", "/items/1/price", False),
    ]


def test_rule_says_what_it_expects():
    (found,) = findings("rule", VALUE, cel="false", at="/total", says="the parts add up to the total")
    assert (found.pointer, found.expected) == ("/total", "the parts add up to the total")


@given(st.decimals(-(10**9), 10**9, places=4), st.decimals(-(10**9), 10**9, places=2), st.integers(-(10**6), 10**6))
def test_sums_in_rules_equal_decimal_sums(a: Decimal, b: Decimal, c: int):
    rule = CompiledRule("eq(add(add(doc.a, doc.b), doc.c), doc.sum) && add(add(doc.a, doc.b), doc.c) == doc.sum", "cel")
    assert rule.holds(as_cel({"a": a, "b": b, "c": c, "sum": a + b + c}), None, "")
    assert not rule.holds(as_cel({"a": a, "b": b, "c": c, "sum": a + b + c + Decimal("0.0001")}), None, "")


def test_threads_share_a_rule():
    rule = CompiledRule("sum(doc.map(i, i)) == doc[0] * size(doc)", "cel")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: rule.holds(as_cel([n] * 20), None, ""), range(400)))
    assert answers == [True] * 400
