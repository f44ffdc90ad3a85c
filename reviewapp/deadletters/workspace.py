"""Everything that the workspace of one dead letter shows, worked out before the template sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from controller.contract import SCHEMA
from controller.report import CheckReport, Finding
from controller.strict_json import Malformed, parse
from reviewapp.deadletters import fields
from reviewapp.deadletters.fields import Node
from reviewapp.deadletters.judging import contract_of, judgement
from reviewapp.deadletters.models import DeadLetter, Draft
from reviewapp.runs import differences, evidence, presentation, values
from reviewapp.runs.evidence import Mark, Segment
from reviewapp.runs.models import Attempt, Event

OVERRIDE = "o:"
NOTE = "note"
MOST_SOUGHT = 100
"""Values that are looked for in the document, and below the places that are shown of each."""
MOST_PLACES = 5


@dataclass(frozen=True, slots=True)
class Said:
    """One finding as the form shows it. ``key`` ties it to the document; ``override`` names its reason's field, if any."""

    check: str
    pointer: str
    expected: str
    passed: bool
    match: str
    key: str
    override: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What contract and checks say about the form as it is. ``unreadable`` fields have no value: nothing is judged."""

    failing: tuple[Said, ...] = ()
    passing: tuple[Said, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def passes(self) -> bool:
        return not self.failing and not self.unreadable

    @property
    def n_failing(self) -> int:
        return len(self.failing) + len(self.unreadable)


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the form with what is said about it."""

    node: Node
    children: tuple[Place, ...]
    failing: tuple[Said, ...]
    problem: str
    keys: str
    """What ties it to the document."""
    key: str = ""
    """The single key that focuses it: the first nine fields with something wrong have one."""

    def walk(self) -> Iterator[Place]:
        yield self
        for child in self.children:
            yield from child.walk()


def judge(letter: DeadLetter, document: str, raw: Mapping[str, str]) -> Verdict:
    """Judges what the form says, as the controller would."""
    assert letter.version is not None
    found = fields.gather(contract_of(letter.version), raw)
    if found.errors:
        return Verdict(unreadable=tuple(sorted(found.errors.items())), marks=tuple(_verbatim(document, raw, set())))
    return _verdict(judgement(letter.version, document, found.value), document, raw)


def _verdict(report: CheckReport, document: str, raw: Mapping[str, str]) -> Verdict:
    said, marks = [], []
    for finding in report.findings:
        key = key_of(finding.pointer) if finding.spans else ""
        said.append(_said(finding, key, raw))
        name = f"{finding.check} {finding.pointer}"
        marks += [Mark(span.start, span.end, key, name, finding.passed) for span in finding.spans]
    marks += _verbatim(document, raw, {mark.key for mark in marks})
    failing = tuple(item for item in said if not item.passed)
    return Verdict(failing, tuple(item for item in said if item.passed and item.pointer), (), tuple(marks))


def key_of(pointer: str) -> str:
    """What ties a field to its places in the document: the same from one check to the next, as the fields stay on the page."""
    return f"k{fields.element_id(pointer)}"


def _verbatim(document: str, raw: Mapping[str, str], known: set[str]) -> list[Mark]:
    """Where the document prints the values that no check has found places for: lit when pointed at, not before."""
    marks = []
    leaves = [(name[2:], text) for name, text in raw.items() if name.startswith(fields.LEAF) and len(text) > 1]
    for pointer, text in leaves[:MOST_SOUGHT]:
        key = key_of(pointer)
        if key not in known:
            found = islice(re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", document), MOST_PLACES)
            marks += [Mark(match.start(), match.end(), key, pointer, True, shown=False) for match in found]
    return marks


def _said(finding: Finding, key: str, raw: Mapping[str, str]) -> Said:
    name = "" if finding.passed or finding.check == SCHEMA else override_name(finding.check, finding.pointer)
    return Said(
        finding.check,
        finding.pointer,
        finding.expected,
        finding.passed,
        finding.match,
        key,
        name,
        raw.get(name, "") if name else "",
    )


def override_name(check: str, pointer: str) -> str:
    """The name of the field that holds the reason for letting this finding through."""
    return f"{OVERRIDE}{check}:{pointer}"


def overrides(raw: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """The reasons by check and pointer."""
    found = {}
    for name, text in raw.items():
        if name.startswith(OVERRIDE) and text.strip():
            check, _, pointer = name[len(OVERRIDE) :].partition(":")
            found[check, pointer] = text
    return found


def posted(data: Any) -> dict[str, str]:
    """What of a post belongs to the form and its draft."""
    found = fields.posted(data.items())
    found |= {name: text for name, text in data.items() if name.startswith((OVERRIDE, NOTE)) and text}
    return found


def places(root: Node, verdict: Verdict) -> Place:
    """The form's tree with every finding at its place; where the form does not show that place, at the nearest above it."""
    shown = {node.pointer for node in root.walk()}
    failing: dict[str, list[Said]] = {}
    for said in verdict.failing:
        pointer = said.pointer
        while pointer not in shown:
            pointer = pointer.rpartition("/")[0]
        failing.setdefault(pointer, []).append(said)
    return _place(root, failing, dict(verdict.unreadable), iter("123456789"))


def _place(node: Node, failing: Mapping[str, list[Said]], problems: Mapping[str, str], numbers: Iterator[str]) -> Place:
    here, problem = tuple(failing.get(node.pointer, ())), problems.get(node.pointer, "")
    is_leaf = node.kind not in ("object", "array")
    key = next(numbers, "") if is_leaf and (here or problem) else ""
    children = tuple(_place(child, failing, problems, numbers) for child in node.children)
    return Place(node, children, here, problem, key_of(node.pointer) if is_leaf else "", key)


def starting_fields(letter: DeadLetter, value_text: str) -> dict[str, str]:
    """The form before anyone has touched it: the best attempt's value, or empty."""
    assert letter.version is not None
    contract = contract_of(letter.version)
    try:
        return fields.spread(contract, parse(value_text))
    except Malformed:
        return fields.spread(contract, None, known=False)


def fields_of(letter: DeadLetter, draft: Draft | None, value_text: str) -> dict[str, str]:
    """The person's draft where there is one."""
    if draft is None:
        return starting_fields(letter, value_text)
    stored: dict[str, str] = json.loads(draft.fields)
    if not any(name[:2] in (fields.LEAF, fields.COUNT) for name in stored):
        return starting_fields(letter, value_text) | stored
    return stored


def document_segments(document: str, verdict: Verdict, *, whole: bool) -> list[Segment]:
    """The document with the places of the values lit: every character of it, as text."""
    return evidence.segments(values.printable(document), verdict.marks, None if whole else presentation.MOST_CHARS)


@dataclass(frozen=True, slots=True)
class AttemptStory:
    """An attempt beside the one before it: what changed in the prompt, in the reply (in ``view``) and in what failed."""

    view: presentation.AttemptView
    prompt: tuple[tuple[str, list[differences.Line]], ...] = ()
    new_failures: tuple[str, ...] = ()
    gone_failures: tuple[str, ...] = ()
    before: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """Why the run stopped, what it tried, and what its fallbacks answered; attempts newest first."""

    words: str
    attempts: tuple[AttemptStory, ...]
    fallbacks: tuple[str, ...]
    events: tuple[presentation.EventView, ...] = field(default=())


def story(letter: DeadLetter, rows: list[Attempt], events: list[Event], *, whole: bool) -> Story:
    views = presentation.attempts(rows, whole=whole)
    told = []
    for view, before in zip(views, [*views[1:], None], strict=False):
        told.append(AttemptStory(view) if before is None else _compared(view, before))
    outcome = json.loads(letter.run.outcome.result)
    fallbacks = tuple(event.why or "answered" for event in events if event.kind == "FellBack")
    return Story(presentation.outcome_words(letter.run, outcome), tuple(told), fallbacks)


def _compared(view: presentation.AttemptView, before: presentation.AttemptView) -> AttemptStory:
    old = {block.title: block.text.text for block in before.blocks}
    prompt = []
    for block in view.blocks:
        changed = differences.differences(old.get(block.title, ""), block.text.text)
        if changed:
            prompt.append((block.title, changed))
    prompt += [(title, differences.differences(text, "") or []) for title, text in old.items() if title not in _titles(view)]
    now, then = _failures(view), _failures(before)
    return AttemptStory(view, tuple(prompt), tuple(sorted(now - then)), tuple(sorted(then - now)), before.attempt.number)


def _titles(view: presentation.AttemptView) -> set[str]:
    return {block.title for block in view.blocks}


def _failures(view: presentation.AttemptView) -> set[str]:
    return {f"{finding.check} {finding.place}" for finding in view.failing}
