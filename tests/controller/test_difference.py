from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.difference import Change, Kind, compare
from controller.text_difference import raw
from tests.envelopes import SMALL, small

CHECK = SMALL["checks"][0]
PLANS = SMALL["plans"]


def changes(**after: Any) -> tuple[Change, ...]:
    return compare(small(), small(**after))


def only(**after: Any) -> Change:
    (change,) = [change for change in changes(**after) if change.area != "bound"]
    return change


def test_same_content_has_no_changes() -> None:
    assert changes() == ()


def test_attempts_say_what_they_cost() -> None:
    first, total = changes(limits__attempts=4)
    assert (first.name, first.before, first.after) == ("attempts", "3", "4")
    assert first.meaning == "At most 8 calls instead of 7."
    assert (total.area, total.meaning) == ("bound", "One record: at most 8 calls instead of 7.")


def test_cap_is_named_by_its_block() -> None:
    change = only(limits__caps=SMALL["limits"]["caps"] | {"plan": 301})
    assert (change.name, change.before, change.after) == ("caps.plan", "300", "301")


def test_changed_plan_is_found_by_id() -> None:
    change = only(plans=[PLANS[0], PLANS[1] | {"text": "Copy again."}])
    assert (change.kind, change.area, change.name, change.field) == (Kind.CHANGED, "plans", "again", "text")
    assert (change.before, change.after) == ("Copy them again, slowly.", "Copy again.")


def test_moved_part_is_not_a_change() -> None:
    change = only(plans=PLANS[::-1])
    assert (change.kind, change.area) == (Kind.MOVED, "plans")


def test_renamed_check_is_not_new() -> None:
    found = compare(small(), small(checks=[CHECK | {"id": "sum-printed"}], templates=SMALL["templates"][1:]))
    kinds = {(change.kind, change.area, change.name) for change in found}
    assert (Kind.RENAMED, "checks", "sum-printed") in kinds
    assert (Kind.REMOVED, "templates", "total-printed") in kinds


def test_added_check_says_what_it_does() -> None:
    change = only(checks=[CHECK, CHECK | {"id": "second", "at": "/qty"}])
    assert (change.kind, change.name) == (Kind.ADDED, "second")
    assert "/qty" in change.after
    assert "more are refused" in change.meaning


def test_contract_change_names_its_place() -> None:
    contract = {**SMALL["contract"], "required": ["total"]}
    change = only(contract=contract)
    assert (change.kind, change.area, change.name, change.before) == (Kind.REMOVED, "contract", "/required", "qty")
    assert change.meaning == "A reply without this field can pass now."


def test_edge_reads_as_sentence() -> None:
    change = changes(graph={"start": "copy", "edges": []})[0]
    assert (change.kind, change.before) == (Kind.REMOVED, "copy or again → again when * failed")


def test_judge_comes_and_goes() -> None:
    judge = {"alias": "default", "instructions": "Judge.", "criteria": [{"id": "a", "text": "Right?"}], "threshold": 1}
    added = only(judge=judge)
    assert added.kind is Kind.ADDED
    stricter = compare(small(judge=judge), small(judge=judge | {"criteria": [{"id": "a", "text": "Right?", "required": True}]}))
    assert [(c.area, c.name, c.field) for c in stricter] == [("criteria", "a", "required")]


@pytest.mark.parametrize(
    ("field", "value"),
    [("reminder", "Other."), ("invariants", "Other."), ("tolerant_fence", True), ("title", "A title"), ("task_text", "Other.")],
)
def test_plain_field_is_its_own_area(field: str, value: object) -> None:
    assert only(**{field: value}).area == field


VARIATIONS = st.fixed_dictionaries(
    {},
    optional={
        "reminder": st.sampled_from(["", "Copy.", "Look."]),
        "plans": st.permutations([PLANS[0], PLANS[1], {"id": "third", "text": "Third."}]),
        "checks": st.permutations([CHECK, CHECK | {"id": "b", "at": "/qty"}, CHECK | {"id": "c", "group": "other"}]),
        "limits__attempts": st.integers(0, 5),
        "limits__same_plan": st.integers(1, 5),
        "tolerant_fence": st.booleans(),
        "sampling": st.fixed_dictionaries({"rate": st.sampled_from([0.1, 0.2])}),
        "infrastructure__retries": st.integers(0, 4),
        "contract__required": st.sampled_from([["total"], ["qty", "total"], ["total", "qty"]]),
        "fallback": st.permutations([{"id": "person", "kind": "needs_review"}, {"id": "data", "kind": "partial"}]),
    },
)


@settings(max_examples=100)
@given(VARIATIONS, VARIATIONS)
def test_no_change_means_same_digest(first: dict[str, Any], second: dict[str, Any]) -> None:
    before, after = small(**first), small(**second)
    found = compare(before, after)
    assert (found == ()) is (before.digest == after.digest)
    anchors = [change.anchor for change in found]
    assert len(anchors) == len(set(anchors))


LINES = st.lists(st.sampled_from(["a", "b", "c", "- x: 1"]), max_size=12)


@given(LINES, LINES)
def test_raw_diff_tells_both_texts_apart(old: list[str], new: list[str]) -> None:
    found = raw("\n".join(old), "\n".join(new))
    assert (found == []) is (old == new)
    assert all(old[line.number - 1] == line.text for line in found if line.kind == "removed")
    assert all(new[line.number - 1] == line.text for line in found if line.kind == "added")
    assert len(old) - len(new) == sum(line.kind == "removed" for line in found) - sum(line.kind == "added" for line in found)


def test_raw_diff_leaves_out_what_is_far() -> None:
    old = [f"line {number}" for number in range(100)]
    found = raw("\n".join(old), "\n".join([*old[:50], "new", *old[51:]]))
    assert [line.kind for line in found] == ["skipped", *["same"] * 3, "removed", "added", *["same"] * 3, "skipped"]
