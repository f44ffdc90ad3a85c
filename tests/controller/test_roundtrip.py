"""One envelope, four ways of writing it down, one digest."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.authoring import read, write
from controller.envelope import Envelope, from_canonical
from tests.envelopes import SMALL

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=60).filter(
    lambda text: "\x00" not in text
)
BLOCKS = st.lists(WORDS, min_size=1, max_size=4).map("\n".join)
IDS = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
CHECKS = st.sampled_from(
    [
        {"kind": "number_in_document", "at": "/total", "locale": "verbatim"},
        {"kind": "range", "at": "/qty", "minimum": 1, "maximum": "99.50"},
        {"kind": "enum", "at": "/total", "values": ["yes", "no", "1.0", "null", "~"]},
        {"kind": "regex", "at": "/total", "pattern": "[0-9]+"},
        {"kind": "rule", "cel": "doc.qty > 0", "says": "more than none"},
    ]
)
SHARES = st.sampled_from([0.0, 0.05, 0.1, 1 / 3, 1.0])


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    data: dict[str, Any] = copy.deepcopy(SMALL)
    plans = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    checks = [name for name in draw(st.lists(IDS, max_size=4, unique=True)) if name not in ("finish", "json", "schema")]
    data |= {
        "title": draw(st.just("") | WORDS),
        "invariants": draw(BLOCKS),
        "reminder": draw(st.just("") | BLOCKS),
        "plans": [{"id": name, "text": draw(BLOCKS)} for name in plans],
        "graph": {"start": plans[0], "edges": [{"from": plans[0], "on": "*", "to": draw(st.sampled_from(plans))}]},
        "checks": [
            {"id": name, "group": draw(IDS), "hint": draw(st.just("") | st.just("a: b # c"))} | draw(CHECKS) for name in checks
        ],
        "templates": [{"for": name, "text": draw(WORDS), "slots": {"path": "json_pointer"}} for name in checks],
        "sampling": {"rate": draw(SHARES), "rubric": draw(st.just("") | BLOCKS)},
        "tolerant_fence": draw(st.booleans()),
    }
    data["model"]["temperature"] = draw(st.sampled_from([0, 0.3, 1.0, 2]))
    data["model"]["seed"] = draw(st.none() | st.integers(0, 2**31))
    data["limits"]["attempts"] = draw(st.integers(0, 50))
    data["contract"]["properties"]["total"] = draw(
        st.sampled_from(
            [{"type": "string"}, {"type": ["string", "null"], "maxLength": 9}, {"type": "string", "enum": ["yes", "1.0", "é"]}]
        )
    )
    if draw(st.booleans()):
        criteria = [{"id": "right", "text": draw(WORDS), "required": True}]
        data["judge"] = {"alias": "default", "instructions": draw(BLOCKS), "criteria": criteria, "threshold": 1}
    return Envelope.model_validate(data)


@settings(max_examples=100)
@given(envelopes())
def test_every_form_has_same_digest(envelope: Envelope) -> None:
    canonical = envelope.canonical()
    data = envelope.model_dump(mode="json", by_alias=True)
    forms = {
        "canonical": from_canonical(canonical),
        "canonical, read as YAML": read(canonical.decode()),
        "YAML, written here": read(write(envelope)),
        "YAML, written elsewhere": read(yaml.safe_dump(data)),
        "JSON": read(json.dumps(data)),
        "JSON, laid out": read(json.dumps(data, indent=2, ensure_ascii=False)),
    }
    assert {name for name, found in forms.items() if found.digest != envelope.digest} == set()
    assert all(found.canonical() == canonical for found in forms.values())


@settings(max_examples=30)
@given(envelopes())
def test_writing_again_changes_no_byte(envelope: Envelope) -> None:
    text = write(envelope)
    assert write(read(text)) == text
