"""The machine's run as stored JSON, and reports as people's pages read them."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from controller.machine import Run
from controller.report import CheckReport

_RUN = TypeAdapter(Run)


def dump(run: Run) -> str:
    """The run as compact JSON. Holds hashes, counts and names only."""
    return _RUN.dump_json(run).decode("utf-8")


def load(text: str) -> Run:
    """The run in a stored JSON."""
    return _RUN.validate_json(text)


def dump_report(report: CheckReport | None) -> str:
    """A report as JSON, findings in order; ``""`` where there is none."""
    if report is None:
        return ""
    findings: list[dict[str, Any]] = [
        {
            "check": f.check,
            "group": f.group,
            "class": f.failure_class.value,
            "pointer": f.pointer,
            "passed": f.passed,
            "expected": f.expected,
            "match": f.match,
            "spans": [[s.start, s.end] for s in f.spans],
        }
        for f in report.findings
    ]
    return json.dumps(
        {"parsed": report.parsed, "extracted": report.extracted, "value_text": report.value_text, "findings": findings},
        separators=(",", ":"),
        ensure_ascii=True,
    )
