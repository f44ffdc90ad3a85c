"""The state machine of one run: ``step(envelope, run, event, now) -> (run, command)``.

Pure: the document, the judged reply and the time come in as values, what is to be done goes out as a command. ``TABLE`` is the
machine: every status has its row, terminal ones an empty row; an event that the row does not name raises and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from controller import budget, fuse, ledger, prompt
from controller import judge as judging
from controller.envelope import Edge, Envelope, Plan
from controller.fallbacks.alternate_model import Spec as Alternate
from controller.fallbacks.base import Answer, FallbackSpec, Fallen
from controller.fuse import Fuse, Seen
from controller.ledger import Directive
from controller.prompt import Carried, OverCap, Prompt
from controller.reply import Fault, Reply, Request
from controller.report import JSON, CheckReport, FailureClass, Finding
from controller.tokens import Counter


class RunStatus(StrEnum):
    READY = "ready"
    WAITING = "waiting"
    CALLING = "calling"
    FALLING_BACK = "falling_back"
    ACCEPTED = "accepted"
    DEAD_LETTERED = "dead_lettered"


class CallKind(StrEnum):
    GENERATION = "generation"
    ALTERNATE = "alternate"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was begun: it counts from here on, whatever becomes of its worker."""

    number: int
    kind: CallKind
    plan: str
    alias: str
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Best:
    """The best failed attempt so far: the call's number and how bad it was (severity, violations). ``judged``: it passed every
    check and only its judge said no."""

    number: int
    severity: int
    violations: int
    judged: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The stable result object of a run. ``reason`` is ``""`` or a fuse or fallback word, ``fault`` the infrastructure fault
    that ended the main loop; times in ms, tokens nullable."""

    status: str
    reason: str
    attempts: int
    retryable: bool
    fallback: str
    final_class: str
    duration_ms: int
    requests: int
    usage: Mapping[str, int | None]
    healed: bool
    accepted_on: int | None
    early_stop: bool
    judge: str = ""
    missing: tuple[str, ...] = ()
    request: dict[str, object] | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """All that the machine remembers of one run. Small: hashes, counts, names and directives, never document or reply text."""

    status: RunStatus = RunStatus.READY
    next_kind: CallKind = CallKind.GENERATION
    plan: str = ""
    attempts: int = 0
    repairs: int = 0
    calls: int = 0
    infrastructure: int = 0
    tokens: int = 0
    prompt_tokens_reported: int | None = None
    output_tokens_reported: int | None = None
    elapsed_ms: int = 0
    seen_at_ms: int | None = None
    not_before_ms: int = 0
    plans_used: tuple[tuple[str, int], ...] = ()
    ledger: tuple[Directive, ...] = ()
    seen: Seen = field(default_factory=Seen)
    best: Best | None = None
    last_number: int = 0
    call: Call | None = None
    candidate: int = 0
    votes: tuple[str, ...] = ()
    fuse: Fuse | None = None
    final_class: FailureClass | None = None
    retryable: bool = False
    fallbacks: tuple[str, ...] = ()
    result: Result | None = None
    fault: Fault | None = None


# Events


@dataclass(frozen=True, slots=True)
class Begin:
    """Make the next call. ``missing`` are failed checks over the document alone; ``carried`` what a repair plan takes along."""

    document: str
    count: Counter
    record: str = ""
    missing: tuple[Finding, ...] = ()
    carried: Carried | None = None
    judge_request: Request | None = None
    judge_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Woke:
    """A run that was put aside (by a pause, a queue, a restart) is taken up again: the time in between does not count."""


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply and its judgement. ``count`` sizes what a repair plan would carry."""

    reply: Reply
    report: CheckReport
    count: Counter


@dataclass(frozen=True, slots=True)
class Voted:
    """One judge call's answer as ``judge.vote`` words it. ``value`` is the value that was judged."""

    reply: Reply
    vote: str
    value: JSON = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A call without a reply. ``jitter`` in [0, 1) spreads the backoff."""

    fault: Fault
    retryable: bool = True
    retry_after_ms: int | None = None
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker died in the middle: the call counts, its reply is gone."""


@dataclass(frozen=True, slots=True)
class FellBack:
    fallen: Fallen


@dataclass(frozen=True, slots=True)
class Refused:
    """The run may not go on: its version's signature does not verify, it was retired, or the document is not the one submitted.
    A run that lost its worker in the middle of a call or a fallback is refused where it is."""

    fuse: Fuse


Event: TypeAlias = "Begin | Woke | Replied | Voted | Failed | Lost | FellBack | Refused"


# Commands


@dataclass(frozen=True, slots=True)
class MakeCall:
    """Write the attempt, then send ``request`` with ``timeout_ms`` in total."""

    request: Request
    timeout_ms: int
    prompt: Prompt | None


@dataclass(frozen=True, slots=True)
class Continue:
    """The next call is decided: send ``Begin`` when the run may go on."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Send ``Begin`` after ``delay_ms``."""

    delay_ms: int


@dataclass(frozen=True, slots=True)
class RunFallback:
    spec: FallbackSpec


@dataclass(frozen=True, slots=True)
class Finish:
    """The outcome. ``value_text`` is the exact JSON accepted, or ``None``: take it from call ``value_of`` (0: none)."""

    result: Result
    value_text: str | None
    value_of: int


Command: TypeAlias = "MakeCall | Continue | Wait | RunFallback | Finish"
Step: TypeAlias = tuple[Run, Command]


class IllegalEvent(Exception):
    """The status does not allow the event. Nothing was changed."""


def start(envelope: Envelope) -> Run:
    """A new run, before anything happened."""
    return Run(plan=envelope.graph.start)


def step(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    """The run after ``event`` at ``now`` (ms on any clock), and what to do next. ``IllegalEvent`` where no arrow says so."""
    arrow = TABLE[run.status].get(type(event))
    if arrow is None:
        raise IllegalEvent(f"{type(event).__name__} cannot happen to a run that is {run.status.value}")
    after, command = arrow.act(envelope, _tick(envelope, run, event, now), event, now)
    if after.status not in arrow.to:
        raise IllegalEvent(
            f"{type(event).__name__} led from {run.status.value} to {after.status.value}, which the table forbids"
        )
    return after, command


def _tick(envelope: Envelope, run: Run, event: Event, now: int) -> Run:
    """Adds the time since the run was last seen.

    Where the run was put aside or its worker died, only what it was itself busy with counts: the backoff it was told to wait,
    the longest that its call may have taken; not the queue, a pause, or the time until somebody noticed. A clock that went back
    adds nothing, and what is still to be waited moves with it.
    """
    if run.seen_at_ms is None:
        return replace(run, seen_at_ms=now)
    passed = now - run.seen_at_ms
    if passed < 0:
        still = run.not_before_ms + passed if run.status is RunStatus.WAITING else run.not_before_ms
        return replace(run, seen_at_ms=now, not_before_ms=still)
    if isinstance(event, Woke | Lost | Refused):
        passed = min(passed, _busy(envelope, run))
    return replace(run, elapsed_ms=run.elapsed_ms + passed, seen_at_ms=now)


def _busy(envelope: Envelope, run: Run) -> int:
    if run.status is RunStatus.WAITING and run.seen_at_ms is not None:
        return max(0, run.not_before_ms - run.seen_at_ms)
    return max(0, _timeout(envelope, run)) if run.status is RunStatus.CALLING else 0


# READY, WAITING


def _woke(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    return run, (Wait(max(0, run.not_before_ms - now)) if run.status is RunStatus.WAITING else Continue())


def _begin(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    assert isinstance(event, Begin)
    if run.next_kind is CallKind.JUDGE:
        return _begin_judging(envelope, run, event)
    if event.missing and run.calls == 0:
        return _stop(envelope, _classed(run, CheckReport(event.missing).final_class), Fuse.NON_RECOVERABLE)
    plan = envelope.plan(run.plan)
    if plan is None:
        return _stop(envelope, run, Fuse.PLAN_NOT_APPROVED)
    blown = _before_call(envelope, run, plan)
    if blown is not None:
        return _no_call(envelope, run, blown)
    if plan.is_repair and event.carried is None:
        return _no_call(envelope, run, Fuse.EDGE_MISSING)
    built = prompt.build(envelope, plan, run.ledger, event.document, event.count, carried=event.carried)
    if isinstance(built, OverCap):
        over = FailureClass.CONTEXT_OVERFLOW if built.block == "document" else run.final_class
        return _no_call(envelope, replace(run, final_class=over), Fuse.PROMPT_OVER_CAP)
    output = envelope.output_tokens(plan)
    if built.tokens + output > envelope.model.context_window:
        return _no_call(envelope, replace(run, final_class=FailureClass.CONTEXT_OVERFLOW), Fuse.PROMPT_OVER_CAP)
    if run.tokens + built.tokens + output > envelope.limits.total_tokens:
        return _no_call(envelope, run, Fuse.TOTAL_TOKENS)
    alias = _alias(envelope, run)
    request = prompt.request(envelope, plan, built, alias=alias, attempt=run.attempts + 1, record=event.record)
    call = Call(run.calls + 1, run.next_kind, plan.id, alias, built.tokens, output)
    begun = replace(
        run,
        status=RunStatus.CALLING,
        call=call,
        calls=run.calls + 1,
        repairs=run.repairs + plan.is_repair,
        tokens=run.tokens + built.tokens + output,
        not_before_ms=0,
    )
    return begun, MakeCall(request, _timeout(envelope, run), built)


def _before_call(envelope: Envelope, run: Run, plan: Plan) -> Fuse | None:
    limits = envelope.limits
    if run.elapsed_ms >= limits.elapsed_ms:
        return Fuse.ELAPSED
    if run.next_kind is CallKind.ALTERNATE:
        return None
    if run.attempts >= limits.attempts:
        return Fuse.ATTEMPTS
    if plan.is_repair and run.repairs >= limits.repairs:
        return Fuse.REPAIRS
    if dict(run.plans_used).get(plan.id, 0) >= limits.same_plan:
        return Fuse.SAME_PLAN
    return None


def _no_call(envelope: Envelope, run: Run, blown: Fuse) -> Step:
    """A call that may not be made ends the main loop; where it was a fallback's, the menu goes on."""
    if run.next_kind is CallKind.ALTERNATE:
        return _next_fallback(envelope, run)
    return _stop(envelope, run, blown)


def _timeout(envelope: Envelope, run: Run) -> int:
    return min(envelope.limits.call_timeout_ms, envelope.limits.elapsed_ms - run.elapsed_ms)


def _begin_judging(envelope: Envelope, run: Run, event: Begin) -> Step:
    judge = envelope.judge
    assert judge is not None
    size = event.judge_tokens
    over_budget = run.tokens + size + judge.max_output_tokens > envelope.limits.total_tokens
    if event.judge_request is None or run.elapsed_ms >= envelope.limits.elapsed_ms or over_budget:
        # A vote that cannot be asked for is an eval_error like any other: the votes that are in may still be a majority.
        votes = (*run.votes, *(judging.EVAL_ERROR for _ in range(judge.votes - len(run.votes))))
        return _judged(envelope, replace(run, votes=votes), None)
    call = Call(run.calls + 1, CallKind.JUDGE, "", judge.alias, size, judge.max_output_tokens)
    begun = replace(
        run, status=RunStatus.CALLING, call=call, calls=run.calls + 1, tokens=run.tokens + size + judge.max_output_tokens
    )
    return begun, MakeCall(event.judge_request, _timeout(envelope, run), None)


# CALLING


def _replied(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    assert isinstance(event, Replied)
    call, report = run.call, event.report
    assert call is not None
    if call.kind is CallKind.JUDGE:
        raise IllegalEvent("Replied cannot happen to a judge's call: its reply is a vote")
    run = _settled(run, call, event.reply)
    carry_tokens = _carry_tokens(event)
    run = replace(
        run,
        attempts=run.attempts + (call.kind is CallKind.GENERATION),
        last_number=0 if carry_tokens is None else call.number,
    )
    if call.kind is CallKind.GENERATION:
        run = replace(run, plans_used=_counted(run.plans_used, call.plan))
    if report.passed:
        run = replace(run, candidate=call.number, final_class=None)
        return _to_judge(run) if envelope.judge is not None else _accept(run, "")
    return _rejected(envelope, run, call.kind, report, number=call.number, carry_tokens=carry_tokens)


_NEVER_CARRIED = frozenset(
    {FailureClass.TRUNCATED, FailureClass.EMPTY_OUTPUT, FailureClass.POLICY_REJECTION, FailureClass.CONTEXT_OVERFLOW}
)


def _carry_tokens(event: Replied) -> int | None:
    """What carrying the reply would take; ``None`` where no plan may carry it: it was cut off, refused or empty, or UTF-8
    cannot say it (half a surrogate pair)."""
    text = event.reply.text
    if not text or event.report.final_class in _NEVER_CARRIED or not prompt.is_sendable(text):
        return None
    return event.count(prompt.carried_block(text))


def _rejected(
    envelope: Envelope, run: Run, kind: CallKind, report: CheckReport, *, number: int, carry_tokens: int | None
) -> Step:
    """A reply that may not be accepted: remember what is needed, ask the fuses, choose what follows."""
    failure_class = report.final_class or FailureClass.JUDGEMENT
    run = _classed(run, failure_class)
    found = Best(number, fuse.rank(failure_class), len(report.failures), failure_class is FailureClass.JUDGEMENT)
    if report.parsed and (run.best is None or (found.severity, found.violations) < (run.best.severity, run.best.violations)):
        run = replace(run, best=found)
    if kind is CallKind.ALTERNATE:
        return _next_fallback(envelope, run)
    before, after = run.seen, fuse.observe(run.seen, report, envelope.contract)
    run = replace(run, seen=after, ledger=ledger.update(run.ledger, report, envelope))
    blown = fuse.check(envelope, before, after, failure_class)
    if blown is not None:
        return _stop(envelope, run, blown)
    if run.attempts >= envelope.limits.attempts:
        return _stop(envelope, run, Fuse.ATTEMPTS)
    following = _following(envelope, run, report, failure_class, carry_tokens)
    if following is None:
        return _stop(envelope, run, Fuse.EDGE_MISSING)
    return replace(run, status=RunStatus.READY, call=None, next_kind=CallKind.GENERATION, plan=following), Continue()


def _following(
    envelope: Envelope, run: Run, report: CheckReport, failure_class: FailureClass, carry_tokens: int | None
) -> str | None:
    """The plan that the step graph names: the first edge from this plan whose ``on`` failed and whose plan can be used."""
    failed = {finding.group for finding in report.failures} | {failure_class.value, "*"}
    current = envelope.plan(run.plan)
    assert current is not None
    for edge in envelope.graph.edges:
        if run.plan in edge.from_ and failed & set(edge.on) and _usable(envelope, current, edge, failure_class, carry_tokens):
            return edge.to
    return None


def _usable(envelope: Envelope, current: Plan, edge: Edge, failure_class: FailureClass, carry_tokens: int | None) -> bool:
    """A truncated reply is never carried, and only a plan with a larger output cap may follow it. A previous output that may
    not be carried or is over its cap makes a repair plan unavailable: it is never cut."""
    target = envelope.plan(edge.to)
    if target is None:
        return False
    if failure_class is FailureClass.TRUNCATED:
        return not target.is_repair and envelope.output_tokens(target) > envelope.output_tokens(current)
    if target.is_repair:
        return carry_tokens is not None and carry_tokens <= envelope.limits.caps.previous_output
    return True


def _failed(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    assert isinstance(event, Failed)
    call = run.call
    assert call is not None
    reserved = call.prompt_tokens + call.output_tokens
    run = replace(run, tokens=run.tokens - reserved + budget.kept_after(event.fault, reserved))
    if call.kind is CallKind.JUDGE:
        return _after_vote(envelope, run, judging.EVAL_ERROR, None)
    if call.kind is CallKind.ALTERNATE:
        return _next_fallback(envelope, replace(run, call=None))
    run = replace(run, call=None, infrastructure=run.infrastructure + 1)
    repair = envelope.plan(call.plan)
    run = replace(run, repairs=run.repairs - bool(repair and repair.is_repair))
    delay = _backoff(envelope, run.infrastructure, event)
    exhausted = run.infrastructure > envelope.infrastructure.retries
    too_late = run.elapsed_ms + delay >= envelope.limits.elapsed_ms
    if exhausted or too_late or not event.retryable:
        run = replace(_classed(run, FailureClass.INFRASTRUCTURE), retryable=event.retryable, fault=event.fault)
        return _stop(envelope, run, Fuse.INFRASTRUCTURE)
    return replace(run, status=RunStatus.WAITING, not_before_ms=now + delay), Wait(delay)


def _backoff(envelope: Envelope, failures: int, event: Failed) -> int:
    """Exponential, half fixed and half jitter, never before the endpoint's own Retry-After."""
    first, longest = envelope.infrastructure.backoff_ms
    full: int = min(longest, first * 2 ** (failures - 1))
    return max(full // 2 + int(full / 2 * event.jitter), event.retry_after_ms or 0)


def _lost(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    return _failed(envelope, run, Failed(Fault.LOST), now)


def _settled(run: Run, call: Call, reply: Reply) -> Run:
    charge = budget.settle(call.prompt_tokens, call.output_tokens, reply.usage)
    return replace(
        run,
        tokens=run.tokens - call.prompt_tokens - call.output_tokens + charge.tokens,
        prompt_tokens_reported=_plus(run.prompt_tokens_reported, reply.usage.prompt_tokens),
        output_tokens_reported=_plus(run.output_tokens_reported, reply.usage.completion_tokens),
    )


def _plus(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more


def _to_judge(run: Run) -> Step:
    return replace(run, status=RunStatus.READY, call=None, next_kind=CallKind.JUDGE, votes=()), Continue()


def _voted(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    assert isinstance(event, Voted)
    call = run.call
    assert call is not None
    if call.kind is not CallKind.JUDGE:
        raise IllegalEvent("Voted can only happen to a judge's call")
    return _after_vote(envelope, _settled(run, call, event.reply), event.vote, event.value)


def _after_vote(envelope: Envelope, run: Run, vote: str, value: JSON) -> Step:
    judge = envelope.judge
    assert judge is not None
    run = replace(run, call=None, votes=(*run.votes, vote))
    if len(run.votes) < judge.votes:
        return replace(run, status=RunStatus.READY), Continue()
    return _judged(envelope, run, value)


def _judged(envelope: Envelope, run: Run, value: JSON) -> Step:
    judge = envelope.judge
    assert judge is not None
    verdict, report = judging.verdict(judge, run.votes)
    if verdict == "pass":
        return _accept(run, "pass")
    if verdict == judging.EVAL_ERROR or report is None:
        if judge.on_eval_error == "accept":
            return _accept(run, judging.EVAL_ERROR)
        run = _classed(run, FailureClass.JUDGEMENT)
        return _end(run, Answer.DEAD_LETTER, "", judged=judging.EVAL_ERROR, reason="judge_eval_error")
    kind = CallKind.ALTERNATE if run.fallbacks else CallKind.GENERATION
    # The judged text itself is not at hand here: no repair plan can follow a verdict.
    judged = replace(report, value=value)
    return _rejected(envelope, run, kind, judged, number=run.candidate, carry_tokens=None)


# The menu


def _stop(envelope: Envelope, run: Run, blown: Fuse) -> Step:
    """The main loop is over, for this reason; the menu follows."""
    return _next_fallback(envelope, replace(run, fuse=blown, call=None))


def _next_fallback(envelope: Envelope, run: Run) -> Step:
    """The first item not used yet; each at most once, never back into the loop. An empty menu leaves the record to a person."""
    for item in envelope.fallback:
        if item.id in run.fallbacks:
            continue
        used = replace(run, fallbacks=(*run.fallbacks, item.id), call=None, not_before_ms=0)
        if isinstance(item, Alternate):
            return replace(used, status=RunStatus.READY, next_kind=CallKind.ALTERNATE, plan=item.plan), Continue()
        return replace(used, status=RunStatus.FALLING_BACK), RunFallback(item)
    return _end(run, Answer.DEAD_LETTER, "")


def _alias(envelope: Envelope, run: Run) -> str:
    if run.next_kind is CallKind.ALTERNATE:
        return next(i.alias for i in envelope.fallback if isinstance(i, Alternate) and i.id == run.fallbacks[-1])
    return envelope.model.alias


def _fell_back(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    assert isinstance(event, FellBack)
    fallen = event.fallen
    if fallen.answer is Answer.DECLINED:
        return _next_fallback(envelope, run)
    return _end(run, fallen.answer, run.fallbacks[-1], fallen=fallen)


def _lost_in_menu(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    """An item counts as used once it was begun: the next one follows."""
    return _next_fallback(envelope, run)


# The end


def _accept(run: Run, judged: str) -> Step:
    fallback = run.fallbacks[-1] if run.fallbacks else ""
    return _end(run, Answer.ACCEPTED, fallback, judged=judged)


def _refused(envelope: Envelope, run: Run, event: Event, now: int) -> Step:
    assert isinstance(event, Refused)
    return _end(replace(run, fuse=event.fuse, retryable=False, fault=None), Answer.DEAD_LETTER, "")


def _end(
    run: Run,
    answer: Answer,
    fallback: str,
    *,
    fallen: Fallen | None = None,
    judged: str = "",
    reason: str = "",
) -> Step:
    accepted = answer is Answer.ACCEPTED
    status = RunStatus.ACCEPTED if accepted else RunStatus.DEAD_LETTERED
    by_model = accepted and fallen is None
    result = Result(
        status=status.value,
        reason="" if accepted and not fallback else (run.fuse.value if run.fuse else reason or fallback),
        attempts=run.attempts,
        retryable=run.retryable and not accepted,
        fallback=fallback,
        final_class="" if accepted or run.final_class is None else run.final_class.value,
        duration_ms=run.elapsed_ms,
        requests=run.calls,
        usage={"tokens": run.tokens, "prompt": run.prompt_tokens_reported, "output": run.output_tokens_reported},
        healed=by_model and not fallback and run.attempts > 1,
        accepted_on=run.attempts if by_model and not fallback else None,
        early_stop=run.fuse is not None and run.fuse not in _NOT_EARLY,
        judge=judged,
        missing=fallen.missing if fallen else (),
        request=fallen.request if fallen else None,
        fault="" if accepted or run.fault is None else run.fault.value,
    )
    ended = replace(run, status=status, call=None, result=result, not_before_ms=0)
    value_of = run.candidate if by_model else _best_number(run, judged)
    return ended, Finish(result, fallen.value_text if fallen and accepted else None, value_of)


def _best_number(run: Run, judged: str) -> int:
    """The attempt whose own text a person gets. An output that no judge could score passed every check, so it stands before any
    that failed one, but never before one that a judge scored."""
    if judged == judging.EVAL_ERROR and not (run.best is not None and run.best.judged):
        return run.candidate
    return run.best.number if run.best is not None else 0


_NOT_EARLY = frozenset({Fuse.ATTEMPTS, Fuse.REPAIRS, Fuse.ELAPSED, Fuse.TOTAL_TOKENS, Fuse.INFRASTRUCTURE})


def _classed(run: Run, failure_class: FailureClass | None) -> Run:
    return replace(run, final_class=failure_class)


def _counted(counts: tuple[tuple[str, int], ...], key: str) -> tuple[tuple[str, int], ...]:
    table = dict(counts)
    table[key] = table.get(key, 0) + 1
    return tuple(table.items())


@dataclass(frozen=True, slots=True)
class Arrow:
    """What an event does, and the statuses that it may lead to."""

    act: Callable[[Envelope, Run, Event, int], Step]
    to: tuple[RunStatus, ...]


_AFTER_STOP = (RunStatus.READY, RunStatus.FALLING_BACK, RunStatus.DEAD_LETTERED)

TABLE: Mapping[RunStatus, Mapping[type, Arrow]] = {
    RunStatus.READY: {
        Begin: Arrow(_begin, (RunStatus.CALLING, RunStatus.ACCEPTED, *_AFTER_STOP)),
        Woke: Arrow(_woke, (RunStatus.READY,)),
        Refused: Arrow(_refused, (RunStatus.DEAD_LETTERED,)),
    },
    RunStatus.WAITING: {
        Begin: Arrow(_begin, (RunStatus.CALLING, *_AFTER_STOP)),
        Woke: Arrow(_woke, (RunStatus.WAITING,)),
        Refused: Arrow(_refused, (RunStatus.DEAD_LETTERED,)),
    },
    RunStatus.CALLING: {
        Replied: Arrow(_replied, (RunStatus.ACCEPTED, *_AFTER_STOP)),
        Voted: Arrow(_voted, (RunStatus.ACCEPTED, *_AFTER_STOP)),
        Failed: Arrow(_failed, (RunStatus.WAITING, RunStatus.ACCEPTED, *_AFTER_STOP)),
        Lost: Arrow(_lost, (RunStatus.WAITING, RunStatus.ACCEPTED, *_AFTER_STOP)),
        Refused: Arrow(_refused, (RunStatus.DEAD_LETTERED,)),
    },
    RunStatus.FALLING_BACK: {
        FellBack: Arrow(_fell_back, (RunStatus.ACCEPTED, *_AFTER_STOP)),
        Lost: Arrow(_lost_in_menu, _AFTER_STOP),
        Refused: Arrow(_refused, (RunStatus.DEAD_LETTERED,)),
    },
    RunStatus.ACCEPTED: {},
    RunStatus.DEAD_LETTERED: {},
}


def diagram() -> str:
    """The table as a Mermaid state diagram: what ARCHITECTURE.md shows; a test keeps the two equal."""
    lines = ["stateDiagram-v2", "    [*] --> ready"]
    for status, row in TABLE.items():
        for event, arrow in row.items():
            lines += [f"    {status.value} --> {to.value}: {event.__name__}" for to in dict.fromkeys(arrow.to)]
        if not row:
            lines.append(f"    {status.value} --> [*]")
    return "\n".join(lines)
