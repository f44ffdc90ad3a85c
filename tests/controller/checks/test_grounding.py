"""no_invented_value and document_has: the whole reply against the whole document."""

from __future__ import annotations

from decimal import Decimal

import pytest

from controller.report import FailureClass
from tests.controller.checks.judging import findings, outcomes, verdict

DOCUMENT = "Caf\u00e9 Generic\nNasi  Goreng 2 x 4.50 = 9.00\nTotal RM9.00"


def test_invented_values_are_named():
    value = {
        "shop": "CAFÉ GENERIC",
        "total": Decimal("9.00"),
        "items": [{"name": "Nasi Goreng", "quantity": 2, "price": "4.75", "note": None}],
    }
    assert outcomes("no_invented_value", value, DOCUMENT) == [
        ("it", "/shop", True),
        ("it", "/total", True),
        ("it", "/items/0/name", True),
        ("it", "/items/0/quantity", True),
        ("it", "/items/0/price", False),
    ]


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        ({"shop": "Mie"}, {"ignore": ["/shop"]}, "none"),
        ({"shop": "Mie", "items": [{"name": "Nasi Goreng"}]}, {"at": "/items"}, "pass"),
        ({"shop": "café generic"}, {"fold": []}, "fail"),
        ({"shop": ""}, {}, "pass"),
        ({"paid": True}, {}, "none"),
        ({"total": "09.00"}, {"locale": "en"}, "pass"),
        ({"total": 9}, {"locale": "en"}, "pass"),
        ({"total": 5}, {}, "fail"),
    ],
)
def test_leaves_are_looked_up(value: object, fields: dict[str, object], expected: str):
    assert verdict("no_invented_value", value, DOCUMENT, **fields) == expected


@pytest.mark.parametrize(
    ("patterns", "match", "expected"),
    [
        ([r"(?i)total"], "all", "pass"),
        ([r"(?i)total", "Tax"], "all", "fail"),
        ([r"(?i)total", "Tax"], "any", "pass"),
        (["Tax"], "any", "fail"),
    ],
)
def test_document_has_what_is_needed(patterns: list[str], match: str, expected: str):
    assert verdict("document_has", None, DOCUMENT, patterns=patterns, match=match) == expected


def test_missing_source_data_is_the_usual_class():
    (found,) = findings("document_has", None, "", patterns=["Total"], says="a printed total")
    assert (found.failure_class, found.expected) == (FailureClass.MISSING_SOURCE_DATA, "a printed total")


def test_found_pattern_is_lit():
    (found,) = findings("document_has", None, DOCUMENT, patterns=["Total"])
    assert [DOCUMENT[span.start : span.end] for span in found.spans] == ["Total"]
