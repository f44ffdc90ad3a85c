"""From YAML text: every problem with its line, column, field and what was expected."""

from __future__ import annotations

import pytest
import yaml

from controller.authoring import MAX_BYTES, NotAnEnvelope, read
from tests.envelopes import SMALL, small

TEXT = yaml.safe_dump(SMALL, sort_keys=False)


def problems(text: str) -> list[str]:
    with pytest.raises(NotAnEnvelope) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_text_and_data_are_the_same_envelope() -> None:
    assert read(TEXT).digest == small().digest


def test_json_is_read_too() -> None:
    assert read(small().canonical().decode()).digest == small().digest


def test_every_problem_is_told_in_order() -> None:
    broken = TEXT.replace("attempts: 3", "attempts: three").replace("task: totals", "task: Not A Slug")
    found = problems(broken)
    assert found[0].startswith("line 1, column 7: task: ")
    assert "limits.attempts" in found[1]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("task: a\ntask: b\n", "line 2, column 1: task: the key 'task' is there twice"),
        ("task: [a\n", "this is not valid YAML"),
        ("? {a: 1}\n: b\n", "a key must be plain text"),
        ("a: .nan\n", ".nan is no number that JSON has"),
        ("a: .inf\n", "no number that JSON has"),
        ("a: " + "[" * 70 + "]" * 70, "nested deeper than 60 levels"),
        ("a: !!python/object/apply:os.getcwd []\n", "this is not valid YAML"),
        ("x" * (MAX_BYTES + 1), "larger than 1,000,000 bytes"),
    ],
)
def test_text_that_is_no_envelope(text: str, message: str) -> None:
    assert message in problems(text)[0]


def test_check_that_cannot_be_compiled_is_placed() -> None:
    text = TEXT.replace("at: /total", "at: /totel")
    (problem,) = problems(text)
    assert "names nothing that the contract describes" in problem
    assert problem.startswith(f"line {text[: text.index('- id: total-printed')].count(chr(10)) + 1}, ")


@pytest.mark.parametrize("scalar", ["yes", "no", "on", "2026-03-01"])
def test_words_of_old_yaml_stay_text(scalar: str) -> None:
    assert read(TEXT.replace("reminder: Copy as printed.", f"reminder: {scalar}")).reminder == scalar
