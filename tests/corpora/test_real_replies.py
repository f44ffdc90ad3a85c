"""All 464 real replies beside the project, each with its class; and the table in the docs is what the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reply_classes import CUT, count, is_cut, judge, table

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "controller.md"


def test_every_reply_has_a_class(shared_data: Path) -> None:
    judged = judge()
    found = {path.stem: count(path, judged) for path in (shared_data / "replies").glob("*.jsonl")}
    assert sum(sum(c.values()) - c[CUT] for c in found.values()) == 464
    assert {name: c["passed"] for name, c in found.items()} == {
        "base": 0,
        "base_small": 0,
        "lora_small": 48,
        "tuned_v1": 115,
        "tuned_v2": 117,
    }


def test_docs_show_the_table(shared_data: Path) -> None:
    assert "\n".join(table(shared_data / "replies")) in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("reply", "cut"),
    [
        ('{"a": "b', True),
        ('{"a": ["b", ', True),
        ('{"a": "}', True),
        ('{"a": "\\"', True),
        ('{"a": 1}', False),
        ('{"a": 1}}', False),
        ("{a: 1}", False),
        ("Sorry, I cannot.", False),
        ("", False),
    ],
)
def test_only_open_ends_are_cut_off(reply: str, cut: bool) -> None:
    assert is_cut(reply) is cut
