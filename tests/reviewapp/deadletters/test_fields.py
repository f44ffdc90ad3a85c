from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewapp.deadletters import fields

RECEIPT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["shop", "items", "total", "paid"],
    "properties": {
        "shop": {"type": "string", "minLength": 1},
        "date": {"type": ["string", "null"]},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "qty": {"type": "integer"}, "a/b": {"$ref": "#/$defs/price"}},
            },
        },
        "total": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "paid": {"type": "boolean"},
        "currency": {"enum": ["EUR", "USD", None]},
        "free": {"type": ["string", "object"]},
    },
    "$defs": {"price": {"type": "number"}},
}
VALUE: dict[str, Any] = {
    "shop": "One",
    "date": None,
    "items": [{"name": "tea", "qty": 2, "a/b": Decimal("1.50")}, {"name": "\nmilk"}],
    "total": Decimal("3.10"),
    "paid": False,
    "currency": "EUR",
    "free": {"x": [1, "y"]},
}


def test_value_survives_the_form() -> None:
    assert fields.gather(RECEIPT, fields.spread(RECEIPT, VALUE)).value == VALUE


def test_numbers_keep_every_digit() -> None:
    text = "3.10000000000000000001"
    raw = fields.spread(RECEIPT, {**VALUE, "total": Decimal(text)})
    assert raw["v:/total"] == text
    assert fields.gather(RECEIPT, raw).value == {**VALUE, "total": Decimal(text)}


leaf = st.one_of(
    st.none(), st.text(min_size=1).filter(lambda s: "\r" not in s and not any("\ud800" <= c <= "\udfff" for c in s))
)
receipts = st.fixed_dictionaries(
    {
        "shop": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1),
        "items": st.lists(
            st.fixed_dictionaries(
                {"name": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))},
                optional={"qty": st.integers()},
            ),
            max_size=4,
        ),
        "total": st.one_of(
            st.none(), st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9)
        ),
        "paid": st.booleans(),
        "date": leaf,
    }
)


@settings(max_examples=40)
@given(receipts)
def test_any_valid_value_survives(value: dict[str, Any]) -> None:
    found = fields.gather(RECEIPT, fields.spread(RECEIPT, value))
    assert not found.errors
    expected = {**value, "currency": None}
    assert found.value == expected


def test_wrong_types_are_shown_not_lost() -> None:
    raw = fields.spread(RECEIPT, {**VALUE, "paid": "yes", "total": "3,10"})
    assert (raw["v:/paid"], raw["v:/total"]) == ('"yes"', '"3,10"')
    assert set(fields.gather(RECEIPT, raw).errors) == {"/paid", "/total"}


def test_unreadable_number_names_its_field() -> None:
    raw = {**fields.spread(RECEIPT, VALUE), "v:/items/0/qty": "2,"}
    assert fields.gather(RECEIPT, raw).errors == {"/items/0/qty": "this cannot be read as a number or JSON value"}


def test_unnamed_keys_are_kept() -> None:
    raw = fields.spread(RECEIPT, {**VALUE, "colour": "red"})
    assert raw["x:"] == '{"colour":"red"}'
    assert fields.gather(RECEIPT, raw).value == {**VALUE, "colour": "red"}
    assert "colour" not in fields.gather(RECEIPT, {**raw, "x:": ""}).value  # type: ignore[operator]


@pytest.mark.parametrize(("index", "left"), [(0, ["b", "c"]), (1, ["a", "c"]), (2, ["a", "b"]), (7, ["a", "b", "c"])])
def test_removing_a_row_moves_the_rest(index: int, left: list[str]) -> None:
    value = {**VALUE, "items": [{"name": name} for name in "abc"]}
    raw = fields.remove_row(fields.spread(RECEIPT, value), "/items", index)
    found = fields.gather(RECEIPT, raw).value
    assert isinstance(found, dict)
    assert [item["name"] for item in found["items"]] == left  # type: ignore[index,union-attr]


def test_added_row_is_empty() -> None:
    raw = fields.add_row(fields.spread(RECEIPT, VALUE), "/items")
    node = next(node for node in fields.nodes(RECEIPT, raw).walk() if node.pointer == "/items/2/name")
    assert (node.text, node.label) == ("", "name")


def test_no_value_gives_empty_form() -> None:
    raw = fields.spread(RECEIPT, None, known=False)
    assert set(raw.values()) == {"", "0"}
    assert fields.gather(RECEIPT, raw).value == {"items": [], "total": None, "date": None, "currency": None}


def test_contract_without_fields_is_json() -> None:
    contract = {"oneOf": [{"type": "array"}, {"type": "object"}]}
    raw = fields.spread(contract, [1, {"a": None}])
    assert raw == {"v:": '[1,{"a":null}]'}
    assert fields.gather(contract, raw).value == [1, {"a": None}]


def test_element_ids_are_unique() -> None:
    raw = fields.spread(RECEIPT, VALUE)
    ids = [node.element_id for node in fields.nodes(RECEIPT, raw).walk()]
    assert len(set(ids)) == len(ids)


def test_only_own_fields_are_taken() -> None:
    assert fields.posted([("v:/a", "1"), ("csrf", "x"), ("fence", "3"), ("n:/items", "2")]) == {"v:/a": "1", "n:/items": "2"}
