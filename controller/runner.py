"""Drives one run: machine, checks and backends, over a store that it is handed. The only loop around model calls.

The runner decides nothing: it turns the machine's commands into calls and the answers into events, and hands every change to
the store before it acts on it. It may be killed between any two lines: what the store has is enough to go on.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from controller import judge as judging
from controller import machine, prompt
from controller.budget import settle
from controller.document import Document
from controller.envelope import Envelope
from controller.evaluate import Judge, compile_checks
from controller.fallbacks import fall_back
from controller.fallbacks.base import Situation
from controller.fuse import Fuse
from controller.machine import CallKind, Finish, MakeCall, Run, RunStatus
from controller.prompt import Carried
from controller.reply import Backend, Fault, InfrastructureError, Reply
from controller.report import CheckReport, FailureClass
from controller.tokens import Counter, counter_for

log = logging.getLogger(__name__)


class LeaseLost(Exception):
    """Another worker holds the run now: nothing was written, and this one must stop."""


class Hold(Enum):
    """The batch is paused: no further attempt may start."""

    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Begun:
    """A call about to be made: written before it is made. ``directives`` are the texts that it carries."""

    call: machine.Call
    request_digest: str
    prompt: prompt.Prompt | None
    directives: tuple[str, ...]
    judge_input: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A call that is over: its reply and report, or its fault."""

    number: int
    reply: Reply | None
    report: CheckReport | None
    fault: Fault | None
    detail: str = ""
    over_cap: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One step as it is stored: a history row, and what began, ended or was decided with it."""

    kind: str
    before: RunStatus
    after: RunStatus
    why: str = ""
    begun: Begun | None = None
    ended: Ended | None = None
    finish: Finish | None = None
    report: CheckReport | None = None


class Store(Protocol):
    """Where a run lives. Every method may raise ``LeaseLost``."""

    def permission(self) -> Hold | Fuse | None:
        """Whether the next call may start: ``None`` is yes; a fuse ends the run."""
        ...

    def save(self, run: Run, changes: Sequence[Change]) -> Hold | Fuse | None:
        """Writes the run and its changes in one transaction. A change with ``begun`` is only written while the call may start:
        otherwise nothing is written, and ``Hold`` or the fuse that ends the run comes back."""
        ...

    def reply_text(self, number: int) -> str | None:
        """The reply of an earlier call of this run, as received."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """An envelope made ready once per version: compiled checks, the counter, and the endpoints behind its aliases."""

    envelope: Envelope
    judge: Judge
    count: Counter
    backends: Mapping[str, Backend]


def prepare(envelope: Envelope, backends: Mapping[str, Backend]) -> Prepared:
    """Compiles the checks and finds the counter. Raises ``SpecError`` or ``CounterUnavailable``: then no run may start."""
    judge = compile_checks(envelope.contract, envelope.checks, tolerant_fence=envelope.tolerant_fence)
    return Prepared(envelope, judge, counter_for(envelope.tokens), backends)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Time and chance, handed in: ``now`` in ms, ``sleep`` in ms, ``jitter`` in [0, 1). Waits above ``inline_wait_ms`` go back
    to the queue instead of holding a thread."""

    now: Callable[[], int]
    sleep: Callable[[int], None]
    jitter: Callable[[], float]
    inline_wait_ms: int = 1000


@dataclass(frozen=True, slots=True)
class Subject:
    """The record of a run: its id, its document, and the document's SHA-256 as it was when it was submitted."""

    key: str
    document: str
    sha256: str


def drive(prepared: Prepared, subject: Subject, run: Run, store: Store, around: Surroundings) -> Run:
    """Takes the run as far as it goes now: to its end, to a wait that is too long to hold a thread, or to a pause.

    Returns the run as it was last stored. A run that has ended is left as it is: a job that is delivered twice does nothing.
    """
    if run.result is not None:
        return run
    return _Drive(prepared, subject, store, around).to_the_end(run)


class _Drive:
    def __init__(self, prepared: Prepared, subject: Subject, store: Store, around: Surroundings) -> None:
        self.prepared, self.subject, self.store, self.around = prepared, subject, store, around
        self.envelope = prepared.envelope
        self.document = Document(subject.document)
        self.altered = hashlib.sha256(subject.document.encode("utf-8")).hexdigest() != subject.sha256
        self.pending: list[Change] = []
        self.replies: dict[int, tuple[str, CheckReport]] = {}

    def to_the_end(self, run: Run) -> Run:
        run, command = self._resume(run)
        while True:
            match command:
                case machine.Continue():
                    stopped, run, command = self._next_call(run)
                    if stopped:
                        return run
                case machine.Wait(delay_ms=delay):
                    self._flush(run)
                    if delay > self.around.inline_wait_ms:
                        return run
                    self.around.sleep(delay)
                    command = machine.Continue()
                case machine.RunFallback(spec=spec):
                    self._flush(run)
                    situation = Situation(self.envelope, self.prepared.judge, self.document, self._best(run), run.final_class)
                    fallen = fall_back(spec, situation)
                    run, command = self._step(run, machine.FellBack(fallen), why=f"{spec.id}: {fallen.detail or fallen.answer}")
                case Finish():
                    self._flush(run)
                    return run
                case MakeCall():  # pragma: no cover - _next_call makes the calls
                    raise AssertionError("a call outside _next_call")

    def _resume(self, run: Run) -> tuple[Run, machine.Command]:
        """A run found in the middle of a call or a fallback lost its worker there."""
        if run.status not in (RunStatus.CALLING, RunStatus.FALLING_BACK):
            after, command = machine.step(self.envelope, run, machine.Woke(), self.around.now())
            if after.not_before_ms != run.not_before_ms:
                # Stored, or a worker that puts the run aside again would count the same wait from its start each time.
                self._note(run, after, "Woke", command, why="the clock had gone back")
            return after, command
        number = run.call.number if run.call else 0
        ended = Ended(number, None, None, Fault.LOST, "its worker stopped in the middle") if number else None
        # Asked here too: what is left of the menu needs no call, and may not read an altered document or version either.
        refusal = self._permission()
        if isinstance(refusal, Fuse):
            return self._step(run, machine.Refused(refusal), why=refusal.value, ended=ended)
        return self._step(run, machine.Lost(), why="its worker stopped in the middle", ended=ended)

    def _permission(self) -> Hold | Fuse | None:
        return Fuse.DOCUMENT_ALTERED if self.altered else self.store.permission()

    def _next_call(self, run: Run) -> tuple[bool, Run, machine.Command]:
        allowed = self._permission()
        if isinstance(allowed, Hold):
            self._flush(run)
            return True, run, machine.Continue()
        if allowed is not None:
            after, command = self._step(run, machine.Refused(allowed), why=allowed.value)
            return False, after, command
        begin = self._begin(run)
        begun, command = machine.step(self.envelope, run, begin, self.around.now())
        if not isinstance(command, MakeCall):
            self._note(run, begun, "Begin", command, why=begun.fuse.value if begun.fuse else "")
            return False, begun, command
        if not self._sends_document(command):
            log.error("record %s: the document would not be sent byte for byte, so nothing was sent", self.subject.key)
            after, command = self._step(run, machine.Refused(Fuse.DOCUMENT_ALTERED), why=Fuse.DOCUMENT_ALTERED.value)
            return False, after, command
        assert begun.call is not None
        started = Begun(
            begun.call,
            command.request.digest,
            command.prompt,
            tuple(d.text for d in run.ledger) if command.prompt is not None else (),
        )
        change = Change("Begin", run.status, begun.status, begun.call.plan or begun.call.kind.value, begun=started)
        refused = self.store.save(begun, [*self.pending, change])
        if isinstance(refused, Hold):
            self._flush(run)
            return True, run, machine.Continue()
        if refused is not None:
            after, command = self._step(run, machine.Refused(refused), why=refused.value)
            return False, after, command
        self.pending.clear()
        after, command = self._call(begun, command)
        return False, after, command

    def _begin(self, run: Run) -> machine.Begin:
        missing = self.prepared.judge.precheck(self.document) if run.calls == 0 else ()
        failed = tuple(finding for finding in missing if not finding.passed)
        request, tokens = None, 0
        if run.next_kind is CallKind.JUDGE:
            value = self._report(run.candidate)
            request, tokens = judging.request(
                self.envelope,
                self.document.text,
                value.value_text,
                self.prepared.count,
                vote=len(run.votes) + 1,
                record=self.subject.key,
            )
        return machine.Begin(
            self.document.text, self.prepared.count, self.subject.key, failed, self._carried(run), request, tokens
        )

    def _carried(self, run: Run) -> Carried | None:
        """What a repair plan takes along: the last reply as it was, what failed in it, and what did not."""
        plan = self.envelope.plan(run.plan)
        if plan is None or not plan.carries or not run.last_number:
            return None
        text = self._reply_text(run.last_number)
        if text is None or not prompt.is_sendable(text):
            return None
        report = self._report(run.last_number)
        errors = tuple(dict.fromkeys((f.pointer, f.expected or f.check) for f in report.failures))
        wrong = {f.pointer for f in report.failures}
        keep = tuple(sorted({f.pointer for f in report.findings if f.passed and f.pointer} - wrong))
        return Carried(text, errors, keep)

    def _call(self, run: Run, command: MakeCall) -> tuple[Run, machine.Command]:
        assert run.call is not None
        number = run.call.number
        backend = self.prepared.backends.get(command.request.alias)
        try:
            if backend is None:
                raise InfrastructureError(
                    Fault.CONFIGURATION, f"no endpoint is set up for the alias {command.request.alias}", retryable=False
                )
            reply = backend.complete(command.request, command.timeout_ms)
        except InfrastructureError as error:
            event = machine.Failed(error.fault, error.retryable, error.retry_after_ms, self.around.jitter())
            ended = Ended(number, None, None, error.fault, error.detail)
            return self._step(run, event, why=error.fault.value, ended=ended)
        if run.call.kind is CallKind.JUDGE:
            return self._vote(run, reply)
        report = self.prepared.judge.evaluate(self.document, reply)
        self.replies[number] = (reply.text or "", report)
        why = "passed" if report.passed else (report.final_class or FailureClass.SYNTAX).value
        ended = Ended(number, reply, report, None, over_cap=_is_over(run.call, reply))
        return self._step(run, machine.Replied(reply, report, self.prepared.count), why=why, ended=ended)

    def _vote(self, run: Run, reply: Reply) -> tuple[Run, machine.Command]:
        assert run.call is not None
        assert self.envelope.judge is not None
        vote = judging.vote(self.envelope.judge, reply)
        verdict, report = judging.verdict(self.envelope.judge, (*run.votes, vote))
        ended = Ended(run.call.number, reply, report, None, over_cap=_is_over(run.call, reply))
        voted = machine.Voted(reply, vote, self._report(run.candidate).value)
        return self._step(run, voted, why=verdict or "vote", ended=ended)

    # What the steps share

    def _step(
        self, run: Run, event: machine.Event, *, why: str = "", ended: Ended | None = None
    ) -> tuple[Run, machine.Command]:
        after, command = machine.step(self.envelope, run, event, self.around.now())
        self._note(run, after, type(event).__name__, command, why=why, ended=ended)
        return after, command

    def _note(
        self, before: Run, after: Run, kind: str, command: machine.Command, *, why: str, ended: Ended | None = None
    ) -> None:
        finish = command if isinstance(command, Finish) else None
        report = None
        if finish is not None:
            report = self._report(finish.value_of) if finish.value_of else None
            if finish.value_text is None and report is not None:
                finish = Finish(finish.result, report.value_text, finish.value_of)
        self.pending.append(Change(kind, before.status, after.status, why[:200], ended=ended, finish=finish, report=report))

    def _flush(self, run: Run) -> None:
        if self.pending:
            self.store.save(run, self.pending)
            self.pending.clear()

    def _reply_text(self, number: int) -> str | None:
        kept = self.replies.get(number)
        return kept[0] if kept is not None else self.store.reply_text(number)

    def _report(self, number: int) -> CheckReport:
        """The judgement over an earlier reply: kept, or made again from the stored reply (it is a pure function of it)."""
        if number not in self.replies:
            text = self.store.reply_text(number)
            self.replies[number] = (text or "", self.prepared.judge.evaluate(self.document, Reply(text)))
        return self.replies[number][1]

    def _best(self, run: Run) -> CheckReport | None:
        return self._report(run.best.number) if run.best is not None else None

    def _sends_document(self, command: MakeCall) -> bool:
        """The last look before a call: the document of the record stands in it byte for byte, in its marks."""
        marked = prompt.marked("document", self.subject.document)
        return any(marked in message.content for message in command.request.messages)


def _is_over(call: machine.Call, reply: Reply) -> bool:
    """Whether the endpoint reports more tokens than were reserved for the call: an alarm."""
    return settle(call.prompt_tokens, call.output_tokens, reply.usage).over_cap
