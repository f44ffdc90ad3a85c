"""The checks of a version, compiled once, for evidence beside an output and for gold items that no check can tell apart."""

from __future__ import annotations

from functools import lru_cache

from controller import envelope as content
from controller import strict_json
from controller.document import Document
from controller.evaluate import Judge, compile_checks
from controller.report import CheckReport
from controller.strict_json import Malformed
from reviewapp.envelopes.models import Version


@lru_cache(maxsize=64)
def _judge(digest: str, canonical: str) -> Judge:
    found = content.from_canonical(canonical.encode())
    return compile_checks(found.contract, found.checks, tolerant_fence=found.tolerant_fence)


def judge_of(version: Version) -> Judge:
    return _judge(version.digest, version.canonical)


def report(version: Version, document: str, value_text: str) -> CheckReport:
    """The version's checks over a value, made anew from document and value alone: alike for all that look alike."""
    try:
        value = strict_json.parse(value_text)
    except Malformed:
        return CheckReport(())
    return judge_of(version).evaluate_value(Document(document), value)
