from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.pointer import BadPointer, ContractNames, join, resolve, split, within_contract

CONTRACT = {
    "type": "object",
    "required": ["total", "note"],
    "properties": {
        "total": {"type": "string"},
        "a/b~c": {"type": "string"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "pair": {"prefixItems": [{"type": "object", "properties": {"first": {}}}], "items": False},
        "either": {"anyOf": [{"properties": {"left": {}}}, {"allOf": [{"properties": {"right": {}}}]}]},
        "free": {"type": "object", "additionalProperties": {"type": "string"}, "patternProperties": {"^x": {}}},
        "tree": {"$ref": "#/$defs/node"},
    },
    "$defs": {
        "item": {"type": "object", "properties": {"name": {"type": "string"}}},
        "node": {"properties": {"child": {"$ref": "#/$defs/node"}}, "allOf": [{"$ref": "#/$defs/node"}]},
    },
}


@given(st.lists(st.text(max_size=8), max_size=5))
def test_split_undoes_join(tokens: list[str]):
    assert split(join(tokens)) == tuple(tokens)


@pytest.mark.parametrize("text", ["total", "/~2", "/a~", "#/a"])
def test_bad_pointers_are_refused(text: str):
    with pytest.raises(BadPointer):
        split(text)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", [""]),
        ("/items/*/name", ["/items/0/name", "/items/2/name"]),
        ("/items/1", ["/items/1"]),
        ("/items/01", []),
        ("/items/-", []),
        ("/items/9", []),
        ("/map/*", ["/map/x~1y", "/map/z"]),
        ("/none/*/x", []),
        ("/items/*/name/*", []),
    ],
)
def test_patterns_find_what_is_there(pattern: str, found: list[str]):
    value = {"items": [{"name": "a"}, {}, {"name": None}], "map": {"x/y": 1, "z": 2}}
    assert [pointer for pointer, _ in resolve(value, pattern)] == found


@pytest.mark.parametrize(
    ("pointer", "kept"),
    [
        ("/total", "/total"),
        ("/note", "/note"),
        ("/a~1b~0c", "/a~1b~0c"),
        ("/items/3/name", "/items/3/name"),
        ("/items/3/secret", "/items/3"),
        ("/items/1234567/name", "/items"),
        ("/items/secret", "/items"),
        ("/pair/0/first", "/pair/0/first"),
        ("/pair/1", "/pair"),
        ("/either/right", "/either/right"),
        ("/either/left/secret", "/either/left"),
        ("/free/xsecret", "/free"),
        ("/tree/child/child/secret", "/tree/child/child"),
        ("/secret/total", ""),
        ("", ""),
    ],
)
def test_pointers_are_cut_to_the_contract(pointer: str, kept: str):
    assert within_contract(pointer, CONTRACT) == kept


@given(
    st.lists(
        st.sampled_from(["items", "0", "name", "free", "tree", "child", "pair", "total"]) | st.text(max_size=6), max_size=6
    )
)
def test_hostile_keys_never_leave(tokens: list[str]):
    names = {"total", "note", "a/b~c", "items", "pair", "either", "free", "tree", "name", "first", "left", "right", "child"}
    kept = split(within_contract(join(tokens), CONTRACT))
    assert kept == tuple(tokens[: len(kept)])
    assert all(token in names or token.isdecimal() for token in kept)


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [("/items/*/name", True), ("/free/*", True), ("/*", True), ("/items/*/nmae", False), ("/totl", False), ("/total/*", False)],
)
def test_patterns_must_name_something(pattern: str, allowed: bool):
    assert ContractNames(CONTRACT).allows(pattern) is allowed
