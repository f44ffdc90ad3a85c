"""Running one check over one reply, for the table tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.checks import CHECKS, Subject, spec_from
from controller.document import Document
from controller.report import Finding

NULLABLE = {"type": ["string", "number", "null"]}
CONTRACT: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(
            ("total", "subtotal", "tax", "discount", "shop", "date", "status", "previous", "paid_on", "paid"), NULLABLE
        ),
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": dict.fromkeys(("name", "sku", "quantity", "price", "line_total", "gift", "note"), NULLABLE),
            },
        },
        "deliveries": {"type": "array", "items": {"type": "object", "properties": {"sku": NULLABLE}}},
    },
}


def findings(kind: str, value: Any, document: str = "", **fields: Any) -> list[Finding]:
    spec = spec_from({"id": "it", "group": "g", "kind": kind, **fields})
    check = CHECKS[kind].compile(spec, CONTRACT)
    return list(check(Subject(Document(document), value)))


def outcomes(kind: str, value: Any, document: str = "", **fields: Any) -> list[tuple[str, str, bool]]:
    """(check id, pointer, passed) of every finding."""
    return [(found.check, found.pointer, found.passed) for found in findings(kind, value, document, **fields)]


def verdict(kind: str, value: Any, document: str = "", **fields: Any) -> str:
    """``pass``, ``fail``, ``ambiguous`` or ``gap`` where one finding is expected, ``none`` where there is none."""
    found = findings(kind, value, document, **fields)
    if not found:
        return "none"
    assert len(found) == 1
    return "pass" if found[0].passed else found[0].check.partition(".")[2] or "fail"


def printed(kind: str, value: Any, document: str, **fields: Any) -> list[str]:
    """The stretches of the document that the findings light up."""
    return [document[span.start : span.end] for found in findings(kind, value, document, **fields) for span in found.spans]
