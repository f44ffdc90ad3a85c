"""One run as a story: its outcome in words, its attempts newest first, and the document with the evidence."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from controller.fuse import WORDS, Fuse
from reviewapp.runs import differences, evidence, values
from reviewapp.runs.evidence import Mark, Segment
from reviewapp.runs.models import Attempt, AttemptPayload, AttemptStatus, Event, Run

MOST_CHARS = 20_000
"""Characters of a document, a reply or a block that a page shows before it is asked for all."""

KINDS = {"generation": "Attempt", "alternate": "Attempt on another model", "judge": "Judge's vote"}
BLOCKS = {
    "invariants": "Invariants",
    "document": "Document",
    "contract": "Contract",
    "plan": "Plan",
    "ledger": "Directives",
    "previous_output": "Previous output",
    "errors": "Errors",
    "task": "Task",
    "reminder": "Reminder",
}
FAULTS = {
    "rate_limit": "The endpoint asked for fewer calls.",
    "timeout": "The endpoint did not answer in time.",
    "server": "The endpoint failed on its side.",
    "connection": "The connection broke.",
    "protocol": "The endpoint answered with something that is no reply.",
    "configuration": "The endpoint is not set up for this call.",
    "lost": "The worker stopped in the middle of the call; its reply is gone, the call counts.",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A text, cut to what a page shows at once. ``left`` counts the characters that were left out."""

    text: str
    left: int = 0


@dataclass(frozen=True, slots=True)
class BlockView:
    title: str
    role: str
    tokens: int
    cap: int
    text: Cut
    is_document: bool

    @property
    def nearly_full(self) -> int:
        return self.cap * 9 // 10


@dataclass(frozen=True, slots=True)
class FindingView:
    """One check at one place. ``key`` ties it to its evidence in the document; empty where the document has none."""

    key: str
    check: str
    place: str
    failure_class: str
    passed: bool
    expected: str
    match: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class AttemptView:
    attempt: Attempt
    title: str
    state: str
    fault: str
    blocks: tuple[BlockView, ...]
    directives: tuple[str, ...]
    reply: Cut
    failing: tuple[FindingView, ...]
    passing: tuple[FindingView, ...]
    value_text: str
    raw_reply: str = field(repr=False)
    changed: list[differences.Line] | None = None
    compared_with: int = 0

    @property
    def findings(self) -> tuple[FindingView, ...]:
        return self.failing + self.passing


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A leaf of the value with the findings that speak about it; ``state`` is passed, failed or empty (nothing checked it)."""

    row: values.Row
    keys: str
    checks: str
    state: str


def cut(text: str, *, whole: bool) -> Cut:
    return Cut(text) if whole or len(text) <= MOST_CHARS else Cut(text[:MOST_CHARS], len(text) - MOST_CHARS)


def attempts(rows: list[Attempt], *, whole: bool) -> list[AttemptView]:
    """Newest first, each compared with the reply before it."""
    views = [_attempt(row, whole=whole) for row in sorted(rows, key=lambda row: row.number)]
    before: AttemptView | None = None
    compared = []
    for view in views:
        compared.append(_compared(view, before))
        if view.raw_reply and view.attempt.kind != "judge":
            before = view
    return compared[::-1]


def _compared(view: AttemptView, before: AttemptView | None) -> AttemptView:
    if before is None or not view.raw_reply or view.attempt.kind == "judge":
        return view
    changed = differences.differences(before.raw_reply, view.raw_reply)
    return replace(view, changed=changed, compared_with=before.attempt.number)


def _attempt(row: Attempt, *, whole: bool) -> AttemptView:
    # A call that is still going on has no payload yet.
    payload = getattr(row, "payload", None) or AttemptPayload(prompt="[]", directives="[]", reply="null", report="{}")
    report = json.loads(payload.report or "{}")
    reply = values.printable(json.loads(payload.reply or "null") or "")
    findings = [_finding(row.number, at, found) for at, found in enumerate(report.get("findings", ()))]
    return AttemptView(
        attempt=row,
        title=f"{KINDS.get(row.kind, row.kind)} {row.number}",
        state="passed" if row.status == AttemptStatus.REPLIED and row.passed else row.status,
        fault=f"{FAULTS.get(row.fault, row.fault)} {report.get('fault', '')}".strip(),
        blocks=tuple(_block(block, whole=whole) for block in json.loads(payload.prompt)),
        directives=tuple(values.printable(text) for text in json.loads(payload.directives)),
        reply=cut(reply, whole=whole),
        failing=tuple(f for f in findings if not f.passed),
        passing=tuple(f for f in findings if f.passed),
        value_text=report.get("value_text", ""),
        raw_reply=reply,
    )


def _block(block: dict[str, Any], *, whole: bool) -> BlockView:
    name = block["name"]
    title = BLOCKS.get(name, name.replace("_", " ").capitalize())
    return BlockView(
        title,
        block["role"],
        block["tokens"],
        block["cap"],
        cut(values.printable(block["text"]), whole=whole),
        name == "document",
    )


def _finding(number: int, at: int, found: dict[str, Any]) -> FindingView:
    spans = tuple((start, end) for start, end in found.get("spans", ()))
    return FindingView(
        key=f"a{number}f{at}" if spans else "",
        check=found["check"],
        place=found["pointer"] or "the whole reply",
        failure_class=found.get("class", ""),
        passed=found["passed"],
        expected=found.get("expected", ""),
        match=found.get("match", ""),
        spans=spans,
    )


def shown_attempt(views: list[AttemptView], number: int | None) -> AttemptView | None:
    """The attempt whose evidence the document shows: the one asked for, else the newest that was judged."""
    asked = next((view for view in views if view.attempt.number == number), None)
    return asked or next((view for view in views if view.findings), None)


def document(text: str, views: list[AttemptView], shown: AttemptView | None, *, whole: bool) -> list[Segment]:
    """The document with the places of every attempt's findings; those of the shown attempt are visible at once."""
    marks = [
        Mark(start, end, finding.key, f"{finding.check} {finding.place}", finding.passed, view is shown)
        for view in views
        for finding in view.findings
        for start, end in finding.spans
    ]
    return evidence.segments(text, marks, None if whole else MOST_CHARS)


_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


def turns_direction(text: str) -> bool:
    """Whether the text holds control characters that show it in another order than it is written."""
    return _TURNS.search(text) is not None


def value_rows(value_text: str, views: list[AttemptView]) -> list[ValueRow] | None:
    """The value's leaves beside the findings of the attempt that gave it; ``None`` where there is no value."""
    leaves = values.rows(value_text) if value_text else None
    if leaves is None:
        return None
    source = next((view for view in views if view.value_text == value_text), None)
    by_place: dict[str, list[FindingView]] = {}
    for finding in source.findings if source else ():
        by_place.setdefault(finding.place, []).append(finding)
    return [_value_row(row, by_place.get(row.pointer, [])) for row in leaves]


def _value_row(row: values.Row, findings: list[FindingView]) -> ValueRow:
    state = "" if not findings else "passed" if all(f.passed for f in findings) else "failed"
    keys = " ".join(f.key for f in findings if f.key)
    return ValueRow(row, keys, ", ".join(dict.fromkeys(f.check for f in findings)), state)


def outcome_words(run: Run, result: dict[str, Any]) -> str:
    """What became of the run, in one or two sentences."""
    if not run.has_ended:
        return "This run has not ended yet."
    if run.status == "accepted":
        return _accepted(run, result)
    stopped = WORDS[Fuse(run.fuse)] if run.fuse in Fuse.__members__.values() else run.fuse
    return f"{stopped} No fallback could finish it: it waits for a person."


def _accepted(run: Run, result: dict[str, Any]) -> str:
    if run.fallback:
        missing = result.get("missing") or ()
        left_out = f" Left out, because it failed its checks: {', '.join(missing)}." if missing else ""
        return f"Accepted by the fallback {run.fallback}, after the attempts had stopped.{left_out}"
    if run.accepted_on == 1:
        return "Accepted on the first attempt: every check passed."
    return f"Accepted on attempt {run.accepted_on}: every check passed after the earlier ones had failed."


EVENTS = {
    "Begin": "A call began",
    "Woke": "Taken up again",
    "Replied": "The model replied",
    "Voted": "The judge voted",
    "Failed": "The call gave no reply",
    "Lost": "The worker was lost",
    "FellBack": "A fallback answered",
    "Refused": "The version may not run",
}


@dataclass(frozen=True, slots=True)
class EventView:
    event: Event
    words: str


def events(rows: list[Event]) -> list[EventView]:
    return [EventView(row, EVENTS.get(row.kind, row.kind)) for row in rows]
