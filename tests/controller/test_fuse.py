"""When a failed attempt ends the loop, and for which reason."""

from __future__ import annotations

from typing import Any

import pytest

from controller import fuse
from controller.fuse import Fuse, Seen
from controller.report import JSON, CheckReport, FailureClass, Finding
from tests.envelopes import small

CONTRACT: dict[str, Any] = {
    "required": ["total", "a/b"],
    "properties": {
        "items": {"items": {"required": ["sku"], "properties": {"sku": {}}}},
        "inner": {"required": ["x"], "properties": {}},
        "bare": {},
        "loose": {},
        "til~de": {"required": ["y/z"]},
    },
}
BUSINESS, SCHEMA, SYNTAX = FailureClass.BUSINESS, FailureClass.SCHEMA, FailureClass.SYNTAX


def report(
    *paths: str, failure_class: FailureClass = BUSINESS, value: JSON = None, parsed: bool = True, check: str = "c"
) -> CheckReport:
    return CheckReport(tuple(Finding(check, "g", failure_class, path, False) for path in paths), parsed=parsed, value=value)


def blown(*reports: CheckReport, **limits: int) -> Fuse | None:
    """What the last of several failed attempts in a row blows."""
    wide = {f"limits__{name}": 50 for name in ("same_signature", "same_shape", "no_progress")}
    envelope = small(**{**wide, **{f"limits__{name}": value for name, value in limits.items()}})
    seen, found = Seen(), None
    for each in reports:
        before, seen = seen, fuse.observe(seen, each, CONTRACT)
        found = fuse.check(envelope, before, seen, each.final_class or BUSINESS)
    return found


def test_every_fuse_has_words() -> None:
    assert set(fuse.WORDS) == set(Fuse)


@pytest.mark.parametrize(
    "failure_class", [FailureClass.POLICY_REJECTION, FailureClass.CONTEXT_OVERFLOW, FailureClass.MISSING_SOURCE_DATA]
)
def test_hopeless_class_stops_at_once(failure_class: FailureClass) -> None:
    assert blown(report("", failure_class=failure_class)) is Fuse.NON_RECOVERABLE


def test_class_that_is_not_retried_stops() -> None:
    assert fuse.check(small(classes__retry=["schema"]), Seen(), Seen(), BUSINESS) is Fuse.NON_RECOVERABLE


@pytest.mark.parametrize(("stop", "found"), [([], None), (["truncated"], Fuse.NON_RECOVERABLE)])
def test_truncated_follows_the_graph_unless_stopped(stop: list[str], found: Fuse | None) -> None:
    envelope = small(classes__retry=["schema"], classes__stop=stop)
    assert fuse.check(envelope, Seen(), Seen(), FailureClass.TRUNCATED) is found


def test_same_places_blow_same_signature() -> None:
    assert blown(report("/a"), report("/a"), same_signature=2) is Fuse.SAME_SIGNATURE
    assert blown(report("/a"), report("/b"), same_signature=2) is None
    assert blown(report("/a"), report("/b"), report("/a"), same_signature=2) is Fuse.SAME_SIGNATURE


def test_same_kind_of_place_blows_same_shape() -> None:
    assert blown(report("/items/0/qty"), report("/items/7/qty"), same_signature=2, same_shape=2) is Fuse.SAME_SHAPE
    assert blown(report("/items/0/qty"), report("/items/0/sku"), same_shape=2) is None


def test_same_place_of_another_class_is_not_the_same() -> None:
    first, second = (
        report("", failure_class=SYNTAX, parsed=False),
        report("", failure_class=FailureClass.EXTRA_TEXT, parsed=False),
    )
    assert blown(first, second, same_signature=2, same_shape=2) is None


@pytest.mark.parametrize(
    ("counts", "allowed", "found"),
    [
        ([2, 2], 1, Fuse.NO_PROGRESS),
        ([2, 1], 1, None),
        ([2, 3, 3], 2, Fuse.NO_PROGRESS),
        ([2, 2, 1, 1], 2, None),
    ],
)
def test_violations_must_fall(counts: list[int], allowed: int, found: Fuse | None) -> None:
    reports = [report(*(f"/{n}{i}" for i in range(count))) for n, count in enumerate(counts)]
    assert blown(*reports, no_progress=allowed) is found


def test_worse_class_is_a_regression() -> None:
    assert blown(report("/a"), report("/a", failure_class=SCHEMA)) is Fuse.REGRESSION
    assert blown(report("/a", failure_class=SCHEMA), report("/a")) is None


def test_lost_required_value_is_a_regression() -> None:
    kept, lost = {"total": "1", "a/b": 2}, {"total": None, "a/b": 2}
    assert blown(report("/a", value=kept), report("/b", value=lost)) is Fuse.REGRESSION
    assert blown(report("/a", value=lost), report("/b", value=kept)) is None


def test_unknown_value_loses_nothing() -> None:
    kept = report("/a", value={"total": "1"})
    assert blown(kept, report("c", failure_class=FailureClass.JUDGEMENT)) is None
    assert blown(report("", failure_class=SYNTAX, parsed=False), kept) is None


def test_judgement_is_nearer_than_a_broken_rule() -> None:
    judged = report("", failure_class=FailureClass.JUDGEMENT)
    assert blown(report("/a"), judged, no_progress=1) is None
    assert blown(judged, report("/a"), no_progress=9) is None
    assert blown(judged, report("/a", failure_class=SCHEMA)) is Fuse.REGRESSION


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ({}, set()),
        ({"total": "", "a/b": 0}, {"/total", "/a~1b"}),
        ({"total": None}, set()),
        ({"items": []}, set()),
        ({"items": [{"sku": "A"}, {"sku": "B"}]}, {"/items/*", "/items/*/sku"}),
        ({"items": [{"sku": "A"}, {}]}, {"/items/*"}),
        ({"inner": {"x": 1, "y": 2}}, {"/inner/x"}),
        ({"unknown": {"total": 1}}, set()),
        ("text", set()),
        ({"bare": {"x": 1}, "loose": [1]}, {"/loose/*"}),
        ({"til~de": {"y/z": 1}}, {"/til~0de/y~1z"}),
    ],
)
def test_required_places_that_have_a_value(value: JSON, places: set[str]) -> None:
    assert fuse.present(CONTRACT, value) == places
