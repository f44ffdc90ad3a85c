"""What holds for every envelope, whatever the endpoint says, and wherever the worker dies.

500 examples by default; ``HYPOTHESIS_PROFILE=nightly`` takes 10,000. ``--hypothesis-show-statistics`` prints what became of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st

from controller import budget, machine, prompt
from controller.document import Document
from controller.envelope import Envelope, Slot
from controller.fuse import Fuse
from controller.machine import CallKind, Run, RunStatus
from controller.reply import Backend, Fault, InfrastructureError, Reply, Request
from controller.report import SlotType
from controller.runner import Begun, Change, Hold, Subject, Surroundings, drive, prepare
from controller.strict_json import parse
from controller.testing import EveryAlias, FakeClock, MemoryStore
from tests.controller.strategies import ANSWERS, DOCUMENTS, SECRET, envelopes

EXAMPLES = max(500, settings.default.max_examples) if settings.default else 500
MOST_CRASHES = 6


class Crash(BaseException):
    """The process is gone: nothing catches this."""


@dataclass
class Endpoint:
    """Answers anything, after any part of the time it was given; may take its caller down with it."""

    data: st.DataObject
    clock: FakeClock
    store: CrashingStore
    seen: list[tuple[Request, int]] = field(default_factory=list)

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        self.seen.append((request, timeout_ms))
        self.clock.advance(self.data.draw(st.sampled_from([0, 1, timeout_ms]), label="takes"))
        self.store.perhaps_crash("call")
        answer = self.data.draw(ANSWERS, label="answer")
        if isinstance(answer, InfrastructureError):
            raise answer
        return answer


@dataclass
class CrashingStore(MemoryStore):
    """Dies before or after some of its writes."""

    crashes: list[bool] = field(default_factory=list)
    crashed: int = 0

    def perhaps_crash(self, where: str) -> None:
        if self.crashes and self.crashes.pop():
            self.crashed += 1
            raise Crash(where)

    def save(self, run: Run, changes: Sequence[Change]) -> Hold | Fuse | None:
        self.perhaps_crash("before the write")
        answer = super().save(run, list(changes))
        self.perhaps_crash("after the write")
        return answer


@dataclass
class Life:
    """One record's whole way, restarts included."""

    envelope: Envelope
    document: str
    run: Run
    store: CrashingStore
    endpoint: Endpoint
    drives: int

    @property
    def begun(self) -> list[Begun]:
        return [change.begun for change in self.store.changes if change.begun is not None]

    @property
    def generations(self) -> list[Begun]:
        return [begun for begun in self.begun if begun.call.kind is CallKind.GENERATION]


@st.composite
def lives(draw: st.DrawFn) -> Life:
    envelope, document, data = draw(envelopes()), draw(DOCUMENTS), draw(st.data())
    clock = FakeClock()
    store = CrashingStore(crashes=draw(st.lists(st.sampled_from([False, False, False, True]), max_size=4 * MOST_CRASHES)))
    endpoint = Endpoint(data, clock, store)
    prepared = prepare(envelope, EveryAlias(endpoint))
    subject = Subject("record-1", document, hashlib.sha256(document.encode()).hexdigest())
    jitter = draw(st.sampled_from([0.0, 0.5, 0.999]))
    around = Surroundings(clock.now, clock.sleep, lambda: jitter, inline_wait_ms=draw(st.sampled_from([0, 1_000, 10**9])))
    bound = budget.bound(envelope)
    run = machine.start(envelope)
    for drives in range(1, 3 * bound.calls + 2 * len(store.crashes) + 40):
        try:
            run = drive(prepared, subject, store.run or machine.start(envelope), store, around)
        except Crash:
            run = store.run or machine.start(envelope)
        if run.result is not None and store.run is not None and store.run.result is not None:
            return Life(envelope, document, run, store, endpoint, drives)
        odd = draw(st.lists(st.sampled_from([0, 10, 5_000, 10**8, -(10**8)]), max_size=1), label="passes") if drives < 8 else []
        clock.now_ms += odd[0] if odd else max(0, run.not_before_ms - clock.now_ms)
    raise AssertionError("the run does not end")


# No shrinking: a whole life is large, and making it smaller takes minutes; what failed is printed as it was.
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(lives())
def test_every_run_keeps_every_promise(life: Life) -> None:
    event(f"ended {life.run.status.value}" + (f" by {life.run.fuse.value}" if life.run.fuse else ""))
    event(f"crashes: {min(life.store.crashed, 3)}{'+' if life.store.crashed > 3 else ''}")
    event(f"calls: {min(life.run.calls, 6)}{'+' if life.run.calls > 6 else ''}")
    stays_within_bound(life)
    stays_within_caps(life)
    stays_within_envelope(life)
    sends_the_document_unchanged(life)
    ends_once(life)
    says_nothing_secret(life)
    accepts_only_what_passes(life)


def stays_within_bound(life: Life) -> None:
    bound, limits = budget.bound(life.envelope), life.envelope.limits
    assert len(life.endpoint.seen) <= len(life.begun) == life.run.calls <= bound.calls
    assert len(life.generations) <= bound.generations + bound.infrastructure_retries
    assert sum(b.call.kind is CallKind.JUDGE for b in life.begun) <= bound.judge_calls
    assert life.run.elapsed_ms <= bound.milliseconds
    assert all(0 < timeout <= limits.call_timeout_ms for _, timeout in life.endpoint.seen)
    assert life.run.attempts <= limits.attempts
    assert life.run.repairs <= limits.repairs
    reported_more = any(change.ended is not None and change.ended.over_cap for change in life.store.changes)
    assert reported_more or life.run.tokens <= bound.tokens


def stays_within_caps(life: Life) -> None:
    bound = budget.bound(life.envelope)
    for begun in life.begun:
        if begun.prompt is None:
            assert life.envelope.judge is not None
            assert begun.call.prompt_tokens <= life.envelope.judge.cap
            continue
        assert all(block.tokens == len(block.text.encode()) <= block.cap for block in begun.prompt.blocks)
        assert begun.call.prompt_tokens <= bound.prompt_tokens
        assert begun.call.prompt_tokens + begun.call.output_tokens <= life.envelope.model.context_window


def stays_within_envelope(life: Life) -> None:
    envelope = life.envelope
    plans = [begun.call.plan for begun in life.generations]
    edges = {(start, edge.to) for edge in envelope.graph.edges for start in edge.from_}
    assert plans[:1] in ([], [envelope.graph.start])
    assert all(before == after or (before, after) in edges for before, after in pairwise(plans))
    for begun in life.begun:
        if begun.prompt is None:
            continue
        blocks = {block.name: block.text for block in begun.prompt.blocks}
        plan = envelope.plan(begun.call.plan)
        assert plan is not None
        assert blocks["plan"] == f"\n{plan.text}\n"
        assert blocks["invariants"] == envelope.invariants
        assert ("previous_output" in blocks) == plan.is_repair
        assert len(begun.directives) <= len(
            {check.group for check in envelope.checks} | {"finish", "syntax", "schema", "judgement"}
        )
        assert all(is_signed(text, envelope) for text in begun.directives)
        lines = "".join(f"- {text}\n" for text in begun.directives)
        assert blocks.get("ledger", "") == (f"\nTake care this time:\n{lines}" if lines else "")


PATTERNS = {
    SlotType.JSON_POINTER: r"(?:/[^/\s]*)+",
    SlotType.NUMBER: r"-?\d+(?:\.\d+)?",
    SlotType.INTEGER: r"-?\d+",
    SlotType.ENUM: r"[^\n]{1,80}",
    SlotType.DATE: r"\d{4}-\d{2}-\d{2}",
    SlotType.QUOTED_TOKEN: r'"[^"\n]{1,200}"',
}


def is_signed(text: str, envelope: Envelope) -> bool:
    return any(re.fullmatch(_pattern(t.text, t.slots), text, re.DOTALL) for t in envelope.templates)


def _pattern(text: str, slots: dict[str, Slot]) -> str:
    pattern = re.escape(text)
    for name, slot in slots.items():
        hole = PATTERNS.get(slot.type, rf"⟦data: [^⟦⟧\x00-\x1f]{{0,{slot.max_chars}}}⟧")
        pattern = pattern.replace(re.escape("{" + name + "}"), hole)
    return pattern


def sends_the_document_unchanged(life: Life) -> None:
    marked = prompt.marked("document", life.document)
    for request, _ in life.endpoint.seen:
        user = request.messages[1].content
        assert user.startswith(marked)
        mark = marked.split("]", 1)[0].split(" ")[1]
        assert mark not in life.document


def ends_once(life: Life) -> None:
    finished = [change for change in life.store.changes if change.finish is not None]
    assert len(finished) == 1
    assert life.run.status in (RunStatus.ACCEPTED, RunStatus.DEAD_LETTERED)
    assert life.run.result is not None
    assert life.run.result.requests == life.run.calls
    used = list(life.run.fallbacks)
    assert used == [item.id for item in life.envelope.fallback if item.id in used]
    menu = next((n for n, c in enumerate(life.store.changes) if c.after is RunStatus.FALLING_BACK), None)
    later = [] if menu is None else life.store.changes[menu:]
    assert not any(c.begun is not None and c.begun.call.kind is CallKind.GENERATION for c in later)


def says_nothing_secret(life: Life) -> None:
    for change in life.store.changes:
        assert SECRET not in change.why
        for report in (change.report, change.ended.report if change.ended else None):
            findings = report.findings if report else ()
            assert not any(SECRET in f"{f.pointer} {f.expected} {f.facts}" for f in findings)
    declared = {t.for_ for t in life.envelope.templates if any(s.type is SlotType.MODEL_TEXT for s in t.slots.values())}
    assert not any(SECRET in d.text and d.template not in declared for d in life.run.ledger)


def accepts_only_what_passes(life: Life) -> None:
    finish = next(change.finish for change in life.store.changes if change.finish is not None)
    result = finish.result
    if result.status == "dead_lettered":
        assert not result.healed
        assert result.accepted_on is None
        return
    assert finish.value_text is not None
    judge = prepare(life.envelope, {}).judge
    report = judge.evaluate_value(Document(life.document), parse(finish.value_text))
    assert report.passed or (result.missing and {f.failure_class.value for f in report.failures} == {"missing_source_data"})
    assert result.healed == (not result.fallback and life.run.attempts > 1)
    assert result.accepted_on == (life.run.attempts if not result.fallback else None)


@settings(max_examples=60)
@given(envelopes(), DOCUMENTS, st.data())
def test_same_run_sends_same_bytes(envelope: Envelope, document: str, data: st.DataObject) -> None:
    """The prompt is a function of envelope and run state: a call repeated after a lost reply is the same request."""
    assume(envelope.limits.attempts > 0 and envelope.infrastructure.retries > 0)
    sent: list[str] = []

    class Lossy(Backend):
        def complete(self, request: Request, timeout_ms: int) -> Reply:
            sent.append(request.digest)
            raise InfrastructureError(Fault.CONNECTION, "gone")

    clock = FakeClock()
    subject = Subject("r", document, hashlib.sha256(document.encode()).hexdigest())
    around = Surroundings(clock.now, clock.sleep, lambda: 0.0, inline_wait_ms=10**9)
    without_menu = envelope.model_copy(update={"fallback": ()})
    drive(prepare(without_menu, EveryAlias(Lossy())), subject, machine.start(without_menu), MemoryStore(), around)
    assert len(set(sent)) <= 1
