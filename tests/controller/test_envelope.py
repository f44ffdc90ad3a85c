"""What an envelope may say, and that what was signed is what is read."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings

from controller.envelope import Envelope, digest_of, from_canonical
from controller.report import FailureClass
from tests.controller.strategies import envelopes
from tests.envelopes import data, small

JUDGE = {"alias": "judge", "instructions": "Judge.", "criteria": [{"id": "right", "text": "Right."}], "threshold": 1}


@settings(max_examples=50)
@given(envelopes())
def test_any_envelope_survives_storage(envelope: Envelope) -> None:
    stored = envelope.canonical()
    again = from_canonical(stored)
    assert again.canonical() == stored
    assert again.digest == envelope.digest == digest_of(stored) == hashlib.sha256(stored).hexdigest()


def test_defaults_are_written_out() -> None:
    stored = json.loads(small().canonical())
    assert stored["sampling"]["rate"] == 0.05
    assert stored["graph"]["edges"][0]["from"] == ["copy", "again"]


def test_any_change_changes_the_digest() -> None:
    assert small().digest != small(reminder="Copy as printed").digest


REFUSED = [
    ({"limits__attempts": None}, "valid integer"),
    ({"limits__attempts": -1}, "greater than or equal"),
    ({"limits__attempts": "3"}, "valid integer"),
    ({"limits__call_timeout_ms": 12_001}, "longer than limits.elapsed_ms"),
    ({"infrastructure__backoff_ms": [9, 8]}, "the first is larger"),
    ({"graph__start": "gone"}, "names the plan 'gone'"),
    ({"graph__edges": [{"from": "copy", "on": "*", "to": "gone"}]}, r"graph.edges\[0\] names the plan"),
    ({"graph__edges": [{"from": "copy", "on": "nothing", "to": "again"}]}, "no check group and no failure class"),
    ({"templates": [{"for": "nothing", "text": "x"}]}, "no check and no check group"),
    ({"templates": [{"for": "schema", "text": "x"}, {"for": "schema", "text": "y"}]}, "'schema' is there twice"),
    ({"plans": [{"id": "copy", "text": "x"}, {"id": "copy", "text": "y"}]}, "plan 'copy' is there twice"),
    ({"checks": [{"id": "json", "group": "g", "kind": "regex", "at": "/total", "pattern": "x"}]}, "'json' is there twice"),
    ({"fallback": [{"id": "a", "kind": "partial"}, {"id": "a", "kind": "partial"}]}, "fallback 'a' is there twice"),
    ({"classes": {"retry": ["policy_rejection"]}}, "it stops at once"),
    ({"classes__retry": ["missing_source_data"]}, "both retried and stopped"),
    ({"classes__stop": ["infrastructure"]}, "its own counter"),
    ({"tokens": {"counter": "tokenizer_file"}}, "needs path and sha256"),
    ({"tokens": {"counter": "utf8_bytes", "path": "x"}}, "takes no path"),
    ({"surprise": 1}, "Extra inputs are not permitted"),
    (
        {"judge": {**JUDGE, "criteria": [{"id": "total-printed", "text": "x"}]}},
        "check or criterion 'total-printed' is there twice",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_envelope_that_cannot_hold_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_missing_limit_is_refused() -> None:
    incomplete = data()
    del incomplete["limits"]["total_tokens"]
    with pytest.raises(ValueError, match="total_tokens"):
        Envelope.model_validate(incomplete)


@pytest.mark.parametrize("name", ["right", "judgement"])
def test_judges_criteria_may_have_templates(name: str) -> None:
    templates = [{"for": name, "text": "Look again."}]
    assert small(judge=JUDGE, templates=templates).templates[0].for_ == name
    with pytest.raises(ValueError, match="no check and no check group"):
        small(templates=templates)


@pytest.mark.parametrize(
    ("retry", "stop", "retried"),
    [
        (["syntax"], [], {"syntax", "duplicate_key", "extra_text", "ambiguous_json", "truncated", "empty_output"}),
        (["syntax"], ["extra_text", "truncated"], {"syntax", "duplicate_key", "ambiguous_json", "empty_output"}),
        (["business"], [], {"business", "judgement"}),
        (["business"], ["judgement"], {"business"}),
        (["judgement"], [], {"judgement"}),
        ([], [], set()),
    ],
)
def test_unnamed_class_follows_its_family(retry: list[str], stop: list[str], retried: set[str]) -> None:
    classes = small(classes={"retry": retry, "stop": stop}).classes
    assert {c.value for c in FailureClass if classes.is_retried(c)} == retried
