from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks import SpecError
from controller.contract import Contract
from controller.report import JSON

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["total", "qty"],
    "additionalProperties": False,
    "properties": {
        "total": {"type": "string", "pattern": "^[0-9.]+$", "maxLength": 9},
        "qty": {"type": "integer", "minimum": 1},
        "date": {"type": ["string", "null"], "format": "date"},
        "state": {"enum": ["PAID", "OPEN"]},
        "rate": {"type": "number", "multipleOf": 0.01, "maximum": 5},
        "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
        "items": {"type": "array", "maxItems": 3, "uniqueItems": True, "items": {"$ref": "#/$defs/item"}},
    },
    "$defs": {"item": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
}
GOOD = {"total": "1.50", "qty": 2}


def errors(value: JSON) -> list[tuple[str, str, str, str]]:
    """(path, keyword, expected, expected type)"""
    found = Contract(SCHEMA).failures(value)
    return [(f.pointer, str(f.facts["keyword"]), f.expected, str(f.facts["expected_type"])) for f in found]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"total": None}, ("/total", "type", "type string", "string")),
        ({"qty": "2"}, ("/qty", "type", "type integer", "integer")),
        ({"qty": True}, ("/qty", "type", "type integer", "integer")),
        ({"qty": Decimal("2.5")}, ("/qty", "type", "type integer", "integer")),
        ({"qty": 0}, ("/qty", "minimum", "at least 1", "integer")),
        ({"total": "x"}, ("/total", "pattern", "text that matches ^[0-9.]+$", "string")),
        ({"total": "1" * 10}, ("/total", "maxLength", "at most 9 characters", "string")),
        ({"date": "2017-02-30"}, ("/date", "format", "a date", "string or null")),
        ({"date": 5}, ("/date", "type", "type null or string", "null or string")),
        ({"state": "LOST"}, ("/state", "enum", "one of: PAID, OPEN", "")),
        ({"rate": Decimal("1.005")}, ("/rate", "multipleOf", "a multiple of 0.01", "number")),
        ({"rate": Decimal("5.01")}, ("/rate", "maximum", "at most 5", "number")),
        ({"either": 5}, ("/either", "anyOf", "one of the forms that the contract allows", "string or boolean")),
        ({"SECRET": 1}, ("", "additionalProperties", "no other fields than those of the contract", "object")),
        ({"items": [{"name": "a"}, {}]}, ("/items/1/name", "required", "this field", "string")),
        ({"items": [{"name": "a"}, {"name": "a"}]}, ("/items", "uniqueItems", "items that differ", "array")),
        ({"items": [{"name": "a", "SECRET": {}}, 5]}, ("/items/1", "type", "type object", "object")),
    ],
)
def test_errors_stand_at_their_place(change: dict[str, JSON], error: tuple[str, str, str, str]):
    assert errors({**GOOD, **change}) == [error]


@pytest.mark.parametrize("change", [{}, {"qty": Decimal("2.0")}, {"rate": Decimal("4.99")}, {"date": None}, {"either": True}])
def test_good_values_have_no_errors(change: dict[str, JSON]):
    assert errors({**GOOD, **change}) == []


def test_missing_fields_are_named_themselves():
    assert [error[0] for error in errors({})] == ["/qty", "/total"]


def test_errors_come_in_one_order_and_are_capped():
    value = {**GOOD, "items": [{} for _ in range(500)]}
    assert errors(value) == errors(value) == sorted(errors(value))
    assert len(errors(value)) <= 50


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strin"}, "not a usable JSON Schema"),
        ({"pattern": "(?=a)b"}, "not a usable JSON Schema"),
        ({"pattern": "("}, "not a usable JSON Schema"),
        ({"properties": {"a": {"format": "klingon"}}}, "not a usable JSON Schema"),
        ({"$ref": "http://localhost/x.json"}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "#anchor"}}}, "nothing is fetched"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"$id": "http://localhost/"}, "$id is not supported"),
        ({"allOf": [{"$dynamicRef": "#x"}]}, "$dynamicRef is not supported"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "2020-12"),
        ({"$schema": 7}, "2020-12"),
    ],
)
def test_unusable_contracts_are_refused(schema: dict[str, Any], words: str):
    with pytest.raises(SpecError) as caught:
        Contract(schema)
    assert caught.value.field == "contract"
    assert words in caught.value.message


def test_fields_may_be_called_like_keywords():
    schema = {"type": "object", "properties": {"$ref": {"type": "string"}, "$id": {"const": {"$ref": "x"}}}}
    assert Contract(schema).failures({"$ref": "anything"}) == ()


def test_costly_patterns_end():
    assert Contract({"type": "string", "pattern": "^(a+)+$"}).failures("a" * 50_000 + "b") != ()


def test_recursive_contracts_end():
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"child": {"$ref": "#/$defs/n"}}}}}
    value: JSON = 1
    for _ in range(100):
        value = {"child": value}
    assert [found.pointer for found in Contract(schema).failures(value)] == ["/child" * 100]


keywords = st.sampled_from(
    ["type", "properties", "items", "$ref", "allOf", "required", "enum", "pattern", "$defs", "if", "format", "prefixItems"]
)
pieces = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "#", "#/$defs/a", "date", "(", "a"])
schemas = st.recursive(
    pieces,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.just("a"), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(keywords, schemas, max_size=4))
def test_any_contract_compiles_or_is_refused(schema: dict[str, Any]):
    try:
        contract = Contract(schema)
    except SpecError:
        return
    for value in ({"a": [1]}, ["a"], 5, None):
        assert contract.failures(value) == contract.failures(value)
