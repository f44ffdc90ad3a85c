from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reviewapp.runs.evidence import Mark, segments

marks = st.lists(
    st.builds(
        Mark,
        start=st.integers(-2, 12),
        end=st.integers(-2, 12),
        key=st.sampled_from(["a", "b", "c"]),
        name=st.just("n"),
        passed=st.booleans(),
        shown=st.booleans(),
    ),
    max_size=6,
)


@given(st.text(max_size=10), marks, st.one_of(st.none(), st.integers(0, 12)))
def test_keeps_the_document_whole(document: str, found: list[Mark], limit: int | None) -> None:
    assert "".join(part.text for part in segments(document, found, limit)) == document[:limit]


@given(st.text(min_size=1, max_size=10), marks)
def test_marks_each_character_by_its_findings(document: str, found: list[Mark]) -> None:
    at = 0
    for part in segments(document, found):
        for place in range(at, at + len(part.text)):
            assert set(part.keys) == {m.key for m in found if 0 <= m.start <= place < m.end}
        at += len(part.text)


def test_failed_wins_over_passed() -> None:
    parts = segments("abc", [Mark(0, 2, "x", "one", True), Mark(1, 3, "y", "two", False)])
    assert [(p.text, p.keys, p.tone) for p in parts] == [
        ("a", ("x",), "passed"),
        ("b", ("x", "y"), "failed"),
        ("c", ("y",), "failed"),
    ]


def test_hidden_marks_have_no_tone() -> None:
    (part,) = segments("a", [Mark(0, 1, "x", "one", True, shown=False)])
    assert (part.keys, part.tone) == (("x",), "")
