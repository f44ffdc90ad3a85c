from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewapp.runs.differences import differences, laid_out
from reviewapp.runs.values import MOST_ROWS, printable, rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"total":"15.00"}', [("/total", '"15.00"')]),
        ('{"a":[1,2.50],"b":{}}', [("/a/0", "1"), ("/a/1", "2.50"), ("/b", "{}")]),
        ('{"n":12345678901234567890.10}', [("/n", "12345678901234567890.10")]),
        ('{"a/b":{"~":null}}', [("/a~1b/~0", "null")]),
        ("7", [("/", "7")]),
        ("not json", None),
        ("[" * 100_000, None),
    ],
)
def test_shows_leaves_as_written(text: str, expected: list[tuple[str, str]] | None) -> None:
    found = rows(text)
    assert (found if found is None else [(row.pointer, row.text) for row in found]) == expected


def test_stops_after_most_rows() -> None:
    found = rows(json.dumps(list(range(10_000))))
    assert found is not None
    assert len(found) == MOST_ROWS + 1


@given(st.text(st.characters(), max_size=20), st.sampled_from(["", "\ud800", "\udc00", "\ud83d\ude00"]))
def test_every_text_can_be_sent(text: str, odd: str) -> None:
    assert printable(text + odd).encode() == (text + odd).encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def test_names_changed_lines() -> None:
    changed = differences('{"a":1,"b":2.50}', '{"a":1,"b":3}')
    assert changed is not None
    assert [(line.kind, line.text.strip()) for line in changed if line.kind in ("added", "removed")] == [
        ("removed", '"b": 2.50'),
        ("added", '"b": 3'),
    ]


def test_same_reply_has_no_difference() -> None:
    assert differences('{"a": 1}', '{"a":1}') == []


def test_compares_no_endless_replies() -> None:
    assert differences("\n" * 5_000, "x\n" * 5_000) is None


def test_lays_out_only_json() -> None:
    assert laid_out("Sure! {}") == "Sure! {}"
    assert laid_out('{"a":1.10}') == '{\n  "a": 1.10\n}'
