from __future__ import annotations

import contextlib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.report import FailureClass
from controller.strict_json import Malformed, dumps, parse, parse_bytes, strip_think, unfence

SUITE = Path(__file__).parents[2].parent / "shared" / "data" / "json_parsing"
needs_suite = pytest.mark.skipif(not SUITE.is_dir(), reason="the JSON parsing suite is not beside the project")

# RFC 8259 lets a reader choose; a reply that says a thing twice says nothing, so these two are refused on purpose.
DOUBLED = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}

numbers = st.integers(-(10**40), 10**40) | st.decimals(-(10**20), 10**20, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


def refusal(text: str) -> tuple[FailureClass, str]:
    with pytest.raises(Malformed) as caught:
        parse(text)
    return caught.value.failure_class, caught.value.pointer


def suite_outcome(path: Path) -> FailureClass | None:
    try:
        parse_bytes(path.read_bytes())
    except Malformed as error:
        return error.failure_class
    return None


@needs_suite
def test_valid_suite_files_parse():
    refused = {path.name: outcome for path in SUITE.glob("y_*.json") if (outcome := suite_outcome(path)) is not None}
    assert refused == dict.fromkeys(DOUBLED, FailureClass.DUPLICATE_KEY)
    assert len(list(SUITE.glob("y_*.json"))) >= 90


@needs_suite
def test_invalid_suite_files_are_refused():
    assert [path.name for path in SUITE.glob("n_*.json") if suite_outcome(path) is None] == []


@needs_suite
def test_unspecified_suite_files_never_crash():
    outcomes = {path.name: suite_outcome(path) for path in SUITE.glob("i_*.json")}
    assert outcomes["i_structure_500_nested_arrays.json"] is FailureClass.SYNTAX
    assert outcomes["i_string_UTF-16LE_with_BOM.json"] is FailureClass.SYNTAX


@pytest.mark.parametrize(
    ("text", "failure_class", "pointer"),
    [
        ("", "empty_output", ""),
        (" \n\t", "empty_output", ""),
        ("\u00a0", "empty_output", ""),
        ('{"total":"1","total":"999","qty":2}', "duplicate_key", "/total"),
        ('{"a":[{"b":1},{"c/d":1,"c/d":2}]}', "duplicate_key", "/a/1/c~1d"),
        ('{"a":1,"\\u0061":2}', "duplicate_key", "/a"),
        ('{"qty":NaN}', "syntax", ""),
        ('{"qty":Infinity}', "syntax", ""),
        ("[-Infinity]", "syntax", ""),
        ('{"qty":1e999}', "syntax", ""),
        ("[1e-999]", "syntax", ""),
        ("[0e99999]", "syntax", ""),
        ("[" + "9" * 5_000 + "]", "syntax", ""),
        ("[0." + "9" * 5_000 + "]", "syntax", ""),
        ("[1e" + "9" * 5_000 + "]", "syntax", ""),
        ('["\\ud800"]', "syntax", ""),
        ('{"\\udc00":1}', "syntax", ""),
        ('["\ud800"]', "syntax", ""),
        ("\ufeff{}", "syntax", ""),
        ('["\x00"]', "syntax", ""),
        ("[" * 100_000, "syntax", ""),
        ('{"a":' * 100_000, "syntax", ""),
        ("[" * 200 + "]" * 200, "syntax", ""),
        ("I cannot do that.", "syntax", ""),
        ("'a'", "syntax", ""),
        ('{"total":"100.000","qty":2', "syntax", ""),
        ('{"items":[{"a":1},{"a":2}', "syntax", ""),
        ('Sure: {"items":[{"a":1},{"a":2}', "syntax", ""),
        ('Sure! Here is the JSON:\n```json\n{"total":"1"}\n```\nHope this helps {smile}.', "extra_text", ""),
        ('```json\n{"total":"1"}\n```', "extra_text", ""),
        ('{"total":"1"} Done.', "extra_text", ""),
        ('Total: {"total":"1"}', "extra_text", ""),
        ('1. {"total":"1"}', "extra_text", ""),
        ('{"a":1}{"a":2}', "ambiguous_json", ""),
        ('First {"a":1}, or {"a":2}?', "ambiguous_json", ""),
        ('"a" "b"', "ambiguous_json", ""),
        ("1 2", "ambiguous_json", ""),
        ('{"a":1,"a":2} {"b":1}', "ambiguous_json", ""),
    ],
)
def test_refusals_have_their_class(text: str, failure_class: str, pointer: str):
    assert refusal(text) == (FailureClass(failure_class), pointer)


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("1.10", Decimal("1.10"), "1.10"),
        ("-0", Decimal("-0"), "-0"),
        ("1E2", Decimal("1E+2"), "1E+2"),
        ("0.1234567890123456789012345", Decimal("0.1234567890123456789012345"), "0.1234567890123456789012345"),
        ("123456789012345678901234567890", 123456789012345678901234567890, "123456789012345678901234567890"),
        (' {"b":1,"a":[true,null]} ', {"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ('"\\u0000\\u001f"', "\x00\x1f", '"\\u0000\\u001f"'),
        ('"\\ud83d\\ude00"', "😀", '"😀"'),
        ("{}", {}, "{}"),
        ("[[],{}]", [[], {}], "[[],{}]"),
    ],
)
def test_values_keep_every_digit(text: str, value: object, written: str):
    parsed = parse(text)
    assert parsed == value
    assert dumps(parsed) == written


def test_numbers_are_never_floats():
    assert [type(number) for number in parse("[1, 1.0, 1e2]")] == [int, Decimal, Decimal]


def test_refusal_never_quotes_the_reply():
    for text in ('{"SECRET":SECRET}', '{"a":"SECRET\x01"}', "SECRET", '{"a":1} SECRET'):
        with pytest.raises(Malformed) as caught:
            parse(text)
        assert "secret" not in f"{caught.value} {caught.value.detail}".lower()


@pytest.mark.parametrize("value", ["\ud800", Decimal("NaN"), Decimal("Infinity"), {"\udc00": 1}])
def test_unwritable_values_are_refused(value: object):
    with pytest.raises(ValueError):
        dumps(value)


def test_floats_are_not_written():
    with pytest.raises(TypeError):
        dumps([1.5])


@given(json_values)
def test_written_values_read_back(value: object):
    assert parse(dumps(value)) == value


@given(st.text(max_size=200) | st.text('{}[]",:0123456789eE.-+truefalsn \\u', max_size=60))
def test_any_text_parses_or_is_malformed(text: str):
    with contextlib.suppress(Malformed):
        parse(text)


@given(st.binary(max_size=100))
def test_any_bytes_parse_or_are_malformed(data: bytes):
    with contextlib.suppress(Malformed):
        parse_bytes(data)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```json\n{"a":1}\n```', '{"a":1}'),
        ('  ```\n{"a":1}\n```  \n', '{"a":1}'),
        ("~~~\n[]\n~~~", "[]"),
        ('```json\r\n{"a":1}\r\n```', '{"a":1}\r'),
        ('Here:\n```json\n{"a":1}\n```', None),
        ('```json\n{"a":1}\n``` done', None),
        ("```\n1\n```\n```\n2\n```", None),
        ('```json\n{"a":1}', None),
        ("```", None),
        ("", None),
        ('{"a":1}', None),
    ],
)
def test_only_a_wrapping_fence_opens(text: str, inside: str | None):
    assert unfence(text) == inside


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('<think>maybe {"a":1}</think>{"a":2}', '{"a":2}'),
        ("\n<think>a</think>\n<think>b</think>\n{}", "\n{}"),
        ("</think>{}", "{}"),
        ("So the total is 5.\n</think>\n{}", "\n{}"),
        ('{"a":"</think>"}', '{"a":"</think>"}'),
        ('["</think>"]', '["</think>"]'),
        ("<think>never ends", "<think>never ends"),
        ("{}", "{}"),
    ],
)
def test_think_blocks_are_stripped(text: str, left: str):
    assert strip_think(text) == left
