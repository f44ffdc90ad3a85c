from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from controller.checks import CHECKS, SPEC_UNION_SCHEMA, SpecError, facts_of, spec_from
from controller.report import SlotType

DOCS = Path(__file__).parents[3] / "docs" / "checks.md"

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "number_in_document", "at": "/total", "locale": "de", "affixes": ["kg"]},
    {"kind": "text_in_document", "at": "/shop", "fold": ["space", "case"], "when": "has(doc.shop)", "class": "schema"},
    {"kind": "date_in_document", "at": "/date", "orders": ["dmy"]},
    {"kind": "no_invented_value", "ignore": ["/shop"]},
    {"kind": "document_has", "patterns": ["(?i)total"]},
    {"kind": "sum", "of": ["/subtotal", "/tax"], "equals": "/total", "tolerance": 0.01},
    {"kind": "arithmetic", "operation": "product", "of": ["/total", 0.19], "equals": "/tax"},
    {"kind": "range", "at": "/total", "minimum": 0.5, "maximum": "10"},
    {"kind": "enum", "at": "/status", "values": ["1", 1, True]},
    {"kind": "regex", "at": "/status", "pattern": "[A-Z]+"},
    {"kind": "unique", "at": "/items/*", "keys": ["sku"]},
    {"kind": "cross_reference", "at": "/status", "among": "/shop"},
    {"kind": "state_transition", "from": "/previous", "to": "/status", "allowed": {"A": ["B"]}},
    {"kind": "required_if", "if": {"at": "/status", "equals": ["PAID", 1]}, "require": ["/total"]},
    {"kind": "rule", "cel": "doc.total == 1"},
]


def test_every_kind_has_an_example_here():
    assert {example["kind"] for example in EXAMPLES} == set(CHECKS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["kind"])
def test_stored_specs_read_back(example: dict[str, Any]):
    spec = spec_from({"id": "it", "group": "g", **example})
    stored = spec.model_dump(mode="json", by_alias=True)
    again = spec_from(stored)
    assert again == spec
    assert again.model_dump(mode="json", by_alias=True) == stored


def test_fold_order_does_not_change_the_spec():
    specs = [
        spec_from({"id": "it", "group": "g", "kind": "text_in_document", "at": "/a", "fold": fold})
        for fold in (["case", "space"], ["space", "case"])
    ]
    assert specs[0] == specs[1]


@pytest.mark.parametrize("kind", sorted(CHECKS))
def test_every_kind_tells_its_path(kind: str):
    assert facts_of(kind)["path"] is SlotType.JSON_POINTER


@pytest.mark.parametrize("kind", sorted(CHECKS))
def test_every_kind_is_documented(kind: str):
    section = re.search(rf"^## {kind}$(.*?)(?=^## |\Z)", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert section is not None
    fields = set(CHECKS[kind].Spec.model_json_schema(by_alias=True)["properties"]) - {
        "id",
        "group",
        "kind",
        "class",
        "when",
        "hint",
    }
    assert [field for field in sorted(fields) if f"`{field}`" not in section[1]] == []
    assert f"kind: {kind}" in section[1]


def test_editor_schema_knows_every_kind():
    schema = SPEC_UNION_SCHEMA()
    assert set(schema["discriminator"]["mapping"]) == set(CHECKS)


def test_all_problems_are_told():
    with pytest.raises(SpecError) as caught:
        spec_from({"id": "it", "kind": "sum", "of": "x", "surprise": 1})
    assert {field.split(".")[0] for field, _ in caught.value.problems} == {"group", "of", "equals", "surprise"}


@pytest.mark.parametrize("data", [{}, {"kind": None}, {"kind": ["sum"]}, {"kind": "sum_v9"}])
def test_unknown_kinds_list_the_known(data: dict[str, Any]):
    with pytest.raises(SpecError, match=r"known kinds: .*unique"):
        spec_from(data)
