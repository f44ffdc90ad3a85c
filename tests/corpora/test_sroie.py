"""Real replies of an untuned and a tuned model to 118 real receipts, through the whole path."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_input import ENVELOPES, NAMES, Tally, agree, is_cut, replay, replies_of, submission, tally
from controller.authoring import read
from controller.document import Document
from controller.evaluate import compile_checks
from controller.reply import Finish

RECORDS = 118


def whole_path(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, envelope: str, replies: str) -> Tally:
    monkeypatch.setenv("COUNTERSIGN_ENDPOINT", "")  # replay sets it: the test's end sets it back
    batch = replay(
        (ENVELOPES / f"{envelope}.yaml").read_text(encoding="utf-8"),
        shared_data / "sroie" / "test_open.jsonl",
        replies_of(shared_data / "replies" / f"{replies}.jsonl"),
        tmp_path,
        name=replies,
    )
    return tally(batch)


def expected(shared_data: Path, *, envelope: str, replies: str) -> dict[str, tuple[str, str]]:
    """Record → (status, class) from judging each reply by itself, without machine, queue or database."""
    content = read((ENVELOPES / f"{envelope}.yaml").read_text(encoding="utf-8"))
    judge = compile_checks(content.contract, content.checks)
    found = replies_of(shared_data / "replies" / f"{replies}.jsonl")
    keys = frozenset(key for key, _ in found)
    documents = {
        row["id"]: row["document"] for row in map(json.loads, submission(shared_data / "sroie" / "test_open.jsonl", keys))
    }
    verdicts = {}
    for (key, _), reply in found.items():
        report = judge.evaluate(Document(documents[key]), reply)
        verdicts[key] = ("accepted", "") if report.final_class is None else ("dead_lettered", report.final_class.value)
    return verdicts


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("replies", ["base", "tuned_v2"])
@pytest.mark.parametrize("envelope", NAMES)
def test_every_real_reply_ends_as_judged(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, envelope: str, replies: str
) -> None:
    found = whole_path(shared_data, tmp_path, monkeypatch, envelope=envelope, replies=replies)
    assert len(found.stories) == RECORDS
    assert found.accepted + sum(found.dead_by_class.values()) == RECORDS
    ended = {story.key: (story.status, story.final_class if story.status == "dead_lettered" else "") for story in found.stories}
    assert ended == expected(shared_data, envelope=envelope, replies=replies)
    attempts = read((ENVELOPES / f"{envelope}.yaml").read_text(encoding="utf-8")).limits.attempts
    # The recorded model repeats itself: a second attempt fails in the same way, and the run stops there.
    once = {story.key for story in found.stories if story.status == "accepted" or story.final_class == "truncated"}
    assert all(story.calls == (1 if story.key in once else min(2, attempts)) for story in found.stories)


def test_base_replies_are_classed_as_what_they_are(shared_data: Path) -> None:
    """Against the standard library's parser, which shares no code with the product's."""
    judged = expected(shared_data, envelope="sroie-loose", replies="base")
    found = replies_of(shared_data / "replies" / "base.jsonl")
    oracle = {key: _oracle(reply.text or "") for (key, _), reply in found.items()}
    assert {key: judged[key][1] for key in judged} == oracle
    assert set(Counter(oracle.values())) == {"truncated", "syntax", "duplicate_key", "schema"}


def _oracle(text: str) -> str:
    if is_cut(text):
        return "truncated"
    doubled = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        doubled |= len(items) != len(dict(items))
        return dict(items)

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError:
        return "syntax"
    if doubled:
        return "duplicate_key"
    fields = [value.get(name) for name in ("company", "date", "total")]
    return "" if all(isinstance(field, str) and field for field in fields) else "schema"


def test_only_cut_texts_are_reported_as_cut(shared_data: Path) -> None:
    found = replies_of(shared_data / "replies" / "base.jsonl")
    kept = replies_of(shared_data / "replies" / "base.jsonl", as_kept=True)
    cut = {key for key, reply in found.items() if reply.finish is Finish.LENGTH}
    assert all(
        not kept[key].text.rstrip().endswith("}") or kept[key].text.count("{") > kept[key].text.count("}") for key in cut
    )  # type: ignore[union-attr]
    assert all(reply.finish is Finish.STOP for reply in kept.values())


@pytest.mark.parametrize(
    ("field", "value", "reference", "same"),
    [
        ("total", "RM 11.90", "11.90", True),
        ("total", "1,119.00", "1119.00", True),
        ("total", "11.90", "11.09", False),
        ("date", "05-06-2018", "05/06/18", True),
        ("date", "06-05-2018", "05/06/2018", False),
        ("company", "Aa Pharmacy", "AA PHARMACY.", True),
        ("company", "AA PHARMA", "AA PHARMACY", False),
    ],
)
def test_compares_what_a_value_says(field: str, value: str, reference: str, same: bool) -> None:
    assert agree(field, value, reference) is same
