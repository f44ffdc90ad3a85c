"""The table: which event may happen when, where it leads, and what an event that may not happen changes (nothing)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller import machine, prompt
from controller.envelope import Envelope
from controller.fallbacks.base import Answer, Fallen
from controller.fuse import Fuse
from controller.machine import (
    TABLE,
    Begin,
    Call,
    CallKind,
    Continue,
    Failed,
    FellBack,
    Finish,
    IllegalEvent,
    Lost,
    MakeCall,
    Refused,
    Replied,
    Run,
    RunFallback,
    RunStatus,
    Voted,
    Wait,
    Woke,
    step,
)
from controller.reply import Fault, Reply, Request, Usage
from controller.report import CheckReport, FailureClass, Finding
from controller.tokens import utf8_bytes
from tests.envelopes import small

DOCUMENT = "Total 1"
BEGIN = Begin(DOCUMENT, utf8_bytes)
PASSED = CheckReport((Finding("json", "syntax", FailureClass.SYNTAX, "", True),), parsed=True, value={}, value_text="{}")
JUDGE = {"alias": "judge", "instructions": "Judge.", "criteria": [{"id": "c", "text": "C."}], "threshold": 1, "votes": 3}


def failed(failure_class: FailureClass = FailureClass.BUSINESS, path: str = "/total", group: str = "grounding") -> CheckReport:
    return CheckReport(
        (Finding("total-printed", group, failure_class, path, False),), parsed=True, value={"total": "1", "qty": 1}
    )


def replied(report: CheckReport = PASSED, text: str | None = "{}", **fields: Any) -> Replied:
    return Replied(Reply(text, **fields), report, utf8_bytes)


EVENTS: dict[type, Any] = {
    Begin: BEGIN,
    Woke: Woke(),
    Replied: replied(),
    Voted: Voted(Reply("{}"), "pass:+c"),
    Failed: Failed(Fault.SERVER),
    Lost: Lost(),
    FellBack: FellBack(Fallen(Answer.DECLINED)),
    Refused: Refused(Fuse.VERSION_RETIRED),
}


def in_status(status: RunStatus) -> Run:
    call = Call(1, CallKind.GENERATION, "copy", "default", 100, 200) if status is RunStatus.CALLING else None
    return Run(
        status=status,
        plan="copy",
        call=call,
        calls=int(call is not None),
        fallbacks=("person",) * (status is RunStatus.FALLING_BACK),
    )


def begun(envelope: Envelope, run: Run | None = None, now: int = 0, begin: Begin = BEGIN) -> Run:
    after, command = step(envelope, run or machine.start(envelope), begin, now)
    assert isinstance(command, MakeCall)
    return after


FORBIDDEN = [(status, kind) for status, row in TABLE.items() for kind in EVENTS if kind not in row]


@pytest.mark.parametrize(("status", "kind"), FORBIDDEN, ids=lambda x: getattr(x, "__name__", str(x)))
def test_forbidden_event_raises_and_changes_nothing(status: RunStatus, kind: type) -> None:
    run = in_status(status)
    before = repr(run)
    with pytest.raises(IllegalEvent):
        step(small(), run, EVENTS[kind], 5)
    assert repr(run) == before


ALLOWED = [(status, kind) for status, row in TABLE.items() for kind in row if kind is not Voted]


@pytest.mark.parametrize(("status", "kind"), ALLOWED, ids=lambda x: getattr(x, "__name__", str(x)))
def test_allowed_event_follows_its_arrow(status: RunStatus, kind: type) -> None:
    after, _ = step(small(), in_status(status), EVENTS[kind], 5)
    assert after.status in TABLE[status][kind].to


def test_every_status_has_a_row() -> None:
    assert set(TABLE) == set(RunStatus)
    assert TABLE[RunStatus.ACCEPTED] == TABLE[RunStatus.DEAD_LETTERED] == {}


def test_every_event_has_an_arrow() -> None:
    assert {kind for row in TABLE.values() for kind in row} == set(EVENTS)


def test_diagram_has_every_arrow() -> None:
    drawn = machine.diagram()
    for status, row in TABLE.items():
        for kind, arrow in row.items():
            assert all(f"{status.value} --> {to.value}: {kind.__name__}" in drawn for to in arrow.to)


def test_arrow_outside_the_table_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = machine.Arrow(lambda envelope, run, event, now: (run, Continue()), (RunStatus.ACCEPTED,))
    monkeypatch.setitem(TABLE[RunStatus.READY], Woke, wrong)
    with pytest.raises(IllegalEvent, match="which the table forbids"):
        step(small(), in_status(RunStatus.READY), Woke(), 0)


def test_vote_on_a_generation_raises() -> None:
    with pytest.raises(IllegalEvent):
        step(small(judge=JUDGE), in_status(RunStatus.CALLING), EVENTS[Voted], 0)


def test_reply_to_a_judge_is_no_output() -> None:
    run = replace(in_status(RunStatus.CALLING), call=Call(1, CallKind.JUDGE, "", "judge", 1, 1))
    with pytest.raises(IllegalEvent):
        step(small(judge=JUDGE), run, replied(), 0)


# Before a call


@pytest.mark.parametrize(
    ("run", "changes", "fuse"),
    [
        ({"attempts": 3}, {}, Fuse.ATTEMPTS),
        ({}, {"limits__attempts": 0}, Fuse.ATTEMPTS),
        ({"elapsed_ms": 12_000}, {}, Fuse.ELAPSED),
        ({"plans_used": (("copy", 3),)}, {}, Fuse.SAME_PLAN),
        ({"plan": "invented"}, {}, Fuse.PLAN_NOT_APPROVED),
        ({"tokens": 19_900}, {}, Fuse.TOTAL_TOKENS),
        ({}, {"limits__caps__plan": 3}, Fuse.PROMPT_OVER_CAP),
        ({}, {"model__context_window": 300}, Fuse.PROMPT_OVER_CAP),
    ],
)
def test_call_that_may_not_be_made(run: dict[str, Any], changes: dict[str, Any], fuse: Fuse) -> None:
    envelope = small(**changes)
    after, command = step(envelope, replace(machine.start(envelope), **run), BEGIN, 0)
    assert after.fuse is fuse
    assert isinstance(command, RunFallback)
    assert after.calls == 0


@pytest.mark.parametrize("changes", [{"limits__caps__document": 20}, {"model__context_window": 300}])
def test_too_long_a_document_is_context_overflow(changes: dict[str, Any]) -> None:
    envelope = small(**changes)
    after, _ = step(envelope, machine.start(envelope), BEGIN, 0)
    assert after.final_class is FailureClass.CONTEXT_OVERFLOW
    assert after.calls == 0


def test_exactly_full_limits_still_call() -> None:
    envelope = small()
    built = prompt.build(envelope, envelope.plans[0], (), DOCUMENT, utf8_bytes)
    assert isinstance(built, prompt.Prompt)
    need = built.tokens + 200
    exact = small(limits__total_tokens=need, model__context_window=need)
    after = begun(exact, replace(machine.start(exact), elapsed_ms=11_999))
    assert after.tokens == need


def test_call_gets_what_time_is_left() -> None:
    _, first = step(small(), machine.start(small()), BEGIN, 0)
    _, late = step(small(), replace(machine.start(small()), elapsed_ms=11_000), BEGIN, 0)
    assert isinstance(first, MakeCall)
    assert isinstance(late, MakeCall)
    assert (first.timeout_ms, late.timeout_ms) == (8_000, 1_000)


def test_missing_source_data_calls_nobody() -> None:
    missing = (Finding("has", "source", FailureClass.MISSING_SOURCE_DATA, "", False),)
    after, command = step(small(), machine.start(small()), Begin(DOCUMENT, utf8_bytes, missing=missing), 0)
    assert (after.fuse, after.final_class) == (Fuse.NON_RECOVERABLE, FailureClass.MISSING_SOURCE_DATA)
    assert isinstance(command, RunFallback)


# Time


def test_woken_run_does_not_pay_for_the_queue() -> None:
    run, _ = step(small(), machine.start(small()), Woke(), 1_000)
    run, _ = step(small(), run, Woke(), 900_000)
    assert run.elapsed_ms == 0


def waiting(envelope: Envelope, now: int = 1_000) -> Run:
    run = begun(envelope, now=now)
    run, command = step(envelope, run, Failed(Fault.RATE_LIMIT, retry_after_ms=5_000), now)
    assert command == Wait(5_000)
    return run


def test_backoff_counts_when_put_aside() -> None:
    run, command = step(small(), waiting(small()), Woke(), 500_000)
    assert run.elapsed_ms == 5_000
    assert command == Wait(0)


def test_early_waking_waits_the_rest() -> None:
    run, command = step(small(), waiting(small()), Woke(), 3_000)
    assert (run.elapsed_ms, command) == (2_000, Wait(3_000))
    run, command = step(small(), run, Woke(), 6_000)
    assert (run.elapsed_ms, command) == (5_000, Wait(0))


def test_clock_gone_back_waits_no_longer() -> None:
    run, command = step(small(), waiting(small(), now=10**9), Woke(), 5)
    assert (run.elapsed_ms, command) == (0, Wait(5_000))


def test_lost_call_pays_at_most_its_timeout() -> None:
    envelope = small()
    run, command = step(envelope, begun(envelope), Lost(), 10**7)
    assert run.elapsed_ms == 8_000
    assert isinstance(command, Wait)
    assert (run.attempts, run.infrastructure, run.calls) == (0, 1, 1)


def test_backoff_doubles_up_to_its_longest() -> None:
    envelope = small(
        infrastructure={"retries": 9, "backoff_ms": [100, 1_000]}, limits__elapsed_ms=100_000, limits__total_tokens=10**6
    )
    run, waits = machine.start(envelope), []
    for _ in range(6):
        run, command = step(envelope, begun(envelope, run), Failed(Fault.SERVER, jitter=0.5), 0)
        assert isinstance(command, Wait)
        waits.append(command.delay_ms)
    assert waits == [75, 150, 300, 600, 750, 750]


@pytest.mark.parametrize(("backoff", "jitter", "delay"), [([101, 101], 0.5, 75), ([1, 1], 0.0, 0), ([101, 101], 0.0, 50)])
def test_backoff_is_whole_milliseconds(backoff: list[int], jitter: float, delay: int) -> None:
    envelope = small(infrastructure__backoff_ms=backoff)
    _, command = step(envelope, begun(envelope), Failed(Fault.SERVER, jitter=jitter), 0)
    assert command == Wait(delay)


@pytest.mark.parametrize(
    ("event", "retryable"),
    [
        (Failed(Fault.RATE_LIMIT, retry_after_ms=12_000), True),
        (Failed(Fault.CONFIGURATION, retryable=False), False),
    ],
)
def test_wait_without_hope_ends_now(event: Failed, retryable: bool) -> None:
    run, command = step(small(), begun(small()), event, 0)
    assert isinstance(command, RunFallback)
    assert (run.fuse, run.retryable, run.fault) == (Fuse.INFRASTRUCTURE, retryable, event.fault)


def test_infrastructure_retries_are_counted() -> None:
    envelope = small(infrastructure__retries=2)
    run = machine.start(envelope)
    for _ in range(2):
        run, command = step(envelope, begun(envelope, run), Failed(Fault.SERVER), 0)
        assert isinstance(command, Wait)
    run, command = step(envelope, begun(envelope, run), Failed(Fault.SERVER), 0)
    assert isinstance(command, RunFallback)
    assert (run.calls, run.attempts) == (3, 0)


def test_refused_call_costs_no_tokens() -> None:
    run = begun(small())
    free, _ = step(small(), run, Failed(Fault.RATE_LIMIT), 0)
    paid, _ = step(small(), run, Failed(Fault.TIMEOUT), 0)
    assert (free.tokens, paid.tokens) == (0, run.tokens)


# After a reply


def test_edge_is_the_first_that_fits() -> None:
    edges = [
        {"from": "copy", "on": "schema", "to": "copy"},
        {"from": "again", "on": "*", "to": "copy"},
        {"from": "copy", "on": "grounding", "to": "again"},
        {"from": "copy", "on": "*", "to": "copy"},
    ]
    envelope = small(graph__edges=edges)
    run, _ = step(envelope, begun(envelope), replied(failed()), 0)
    assert run.plan == "again"


def test_no_edge_ends_the_loop() -> None:
    envelope = small(graph__edges=[{"from": "again", "on": "*", "to": "copy"}])
    run, _ = step(envelope, begun(envelope), replied(failed()), 0)
    assert run.fuse is Fuse.EDGE_MISSING


def test_syntax_edge_serves_nothing_else() -> None:
    envelope = small(graph__edges=[{"from": "copy", "on": "syntax", "to": "again"}])
    run, _ = step(envelope, begun(envelope), replied(failed()), 0)
    assert run.fuse is Fuse.EDGE_MISSING


def test_last_attempt_is_told_as_that() -> None:
    envelope = small(graph__edges=[], limits__attempts=1)
    run, _ = step(envelope, begun(envelope), replied(failed()), 0)
    assert (run.fuse, run.call) == (Fuse.ATTEMPTS, None)


@pytest.mark.parametrize(("room", "fuse"), [(200, Fuse.EDGE_MISSING), (201, None)])
def test_truncated_needs_more_room(room: int, fuse: Fuse | None) -> None:
    plans = [{"id": "copy", "text": "C."}, {"id": "again", "text": "A.", "max_output_tokens": room}]
    envelope = small(plans=plans)
    cut = CheckReport((Finding("finish", "finish", FailureClass.TRUNCATED, "", False),))
    run, _ = step(envelope, begun(envelope), replied(cut), 0)
    assert run.fuse is fuse


def test_syntax_edge_serves_its_family() -> None:
    envelope = small(graph__edges=[{"from": "copy", "on": "syntax", "to": "again"}])
    doubled = CheckReport((Finding("json", "syntax", FailureClass.DUPLICATE_KEY, "", False),))
    run, _ = step(envelope, begun(envelope), replied(doubled), 0)
    assert run.plan == "again"
    cut = CheckReport((Finding("finish", "finish", FailureClass.TRUNCATED, "", False),))
    run, _ = step(envelope, begun(envelope), replied(cut), 0)
    assert run.fuse is Fuse.EDGE_MISSING


REPAIR = [{"id": "copy", "text": "C."}, {"id": "repair", "text": "R.", "carries": ["previous_output", "errors"]}]
TO_REPAIR = {"plans": REPAIR, "graph__edges": [{"from": ["copy", "repair"], "on": "*", "to": "repair"}]}


def test_repair_is_chosen_up_to_its_cap() -> None:
    size = utf8_bytes(prompt.carried_block("{}"))
    for cap, fuse in ((size, None), (size - 1, Fuse.EDGE_MISSING)):
        envelope = small(**TO_REPAIR, limits__caps__previous_output=cap)
        run, _ = step(envelope, begun(envelope), replied(failed()), 0)
        assert run.fuse is fuse


@pytest.mark.parametrize("text", [None, "", "\ud800"])
def test_unsendable_reply_is_not_carried(text: str | None) -> None:
    run, _ = step(small(**TO_REPAIR), begun(small(**TO_REPAIR)), replied(failed(), text), 0)
    assert run.fuse is Fuse.EDGE_MISSING
    assert run.last_number == 0


def test_repairs_have_their_own_limit() -> None:
    envelope = small(**TO_REPAIR, limits__repairs=1, limits__same_signature=9, limits__same_shape=9, limits__no_progress=9)
    run, _ = step(envelope, begun(envelope), replied(failed()), 0)
    carried = Begin(DOCUMENT, utf8_bytes, carried=prompt.Carried("{}", (("/total", "text"),)))
    run, _ = step(envelope, begun(envelope, run, begin=carried), replied(failed(path="/qty")), 0)
    run, _ = step(envelope, run, carried, 0)
    assert (run.fuse, run.repairs) == (Fuse.REPAIRS, 1)


def test_fault_gives_the_repair_back() -> None:
    envelope = small(**TO_REPAIR)
    run, _ = step(envelope, begun(envelope), replied(failed()), 0)
    run = begun(envelope, run, begin=Begin(DOCUMENT, utf8_bytes, carried=prompt.Carried("{}")))
    assert run.repairs == 1
    run, _ = step(envelope, run, Failed(Fault.TIMEOUT), 0)
    assert run.repairs == 0


def test_usage_is_added_up() -> None:
    envelope = small()
    run, _ = step(envelope, begun(envelope), replied(failed(), usage=Usage(7, None)), 0)
    run, _ = step(envelope, begun(envelope, run), replied(failed(path="/qty"), usage=Usage(5, 2)), 0)
    assert (run.prompt_tokens_reported, run.output_tokens_reported) == (12, 2)


# The judge


def judged(votes: tuple[str, ...] = ()) -> tuple[Envelope, Run]:
    envelope = small(judge=JUDGE)
    run = Run(status=RunStatus.CALLING, next_kind=CallKind.JUDGE, plan="copy", calls=2, candidate=1, votes=votes, attempts=1)
    return envelope, replace(run, call=Call(2, CallKind.JUDGE, "", "judge", 10, 10), tokens=20)


def test_passing_output_goes_to_its_judge() -> None:
    envelope = small(judge=JUDGE)
    run, command = step(envelope, begun(envelope), replied(), 0)
    assert (run.status, run.next_kind, run.candidate) == (RunStatus.READY, CallKind.JUDGE, 1)
    assert command == Continue()


@pytest.mark.parametrize("event", [Failed(Fault.TIMEOUT), Lost(), Voted(Reply("?"), "eval_error")])
def test_majority_stands_without_the_last_vote(event: Any) -> None:
    envelope, run = judged(("pass:+c", "pass:+c"))
    run, command = step(envelope, run, event, 0)
    assert isinstance(command, Finish)
    assert (run.status, command.result.judge) == (RunStatus.ACCEPTED, "pass")


def test_too_few_votes_are_an_eval_error() -> None:
    envelope, run = judged(("pass:+c", "eval_error"))
    run, command = step(envelope, run, Failed(Fault.TIMEOUT), 0)
    assert isinstance(command, Finish)
    assert (command.result.status, command.result.reason, command.result.judge) == (
        "dead_lettered",
        "judge_eval_error",
        "eval_error",
    )
    assert (command.result.fallback, command.value_of) == ("", 1)


def test_scored_attempt_stands_before_unscored() -> None:
    envelope, run = judged(("eval_error", "eval_error"))
    run = replace(run, best=machine.Best(1, 0, 1, judged=True), candidate=2)
    _, command = step(envelope, run, Voted(Reply("?"), "eval_error"), 0)
    assert isinstance(command, Finish)
    assert command.value_of == 1


def test_vote_that_may_not_be_asked_is_an_eval_error() -> None:
    envelope, run = judged(("pass:+c", "pass:+c"))
    ready = replace(run, status=RunStatus.READY, call=None, elapsed_ms=12_000)
    run, command = step(envelope, ready, BEGIN, 0)
    assert isinstance(command, Finish)
    assert command.result.judge == "pass"


@pytest.mark.parametrize(
    ("run", "changes"),
    [({"elapsed_ms": 12_000}, {}), ({"tokens": 19_500}, {}), ({}, {"judge_request": None})],
    ids=["time", "tokens", "cap"],
)
def test_judge_is_only_asked_within_limits(run: dict[str, Any], changes: dict[str, Any]) -> None:
    """512 of 20,000 tokens are kept for the vote itself."""
    envelope, calling = judged()
    ready = replace(calling, status=RunStatus.READY, call=None, tokens=0)
    begin = Begin(DOCUMENT, utf8_bytes, judge_request=Request("judge", (), 512), judge_tokens=10)
    asked, command = step(envelope, ready, begin, 0)
    assert isinstance(command, MakeCall)
    assert (asked.tokens, asked.calls, command.timeout_ms) == (522, 3, 8_000)
    assert asked.call == Call(3, CallKind.JUDGE, "", "judge", 10, 512)
    _, command = step(envelope, replace(ready, **run), replace(begin, **changes), 0)
    assert isinstance(command, Finish)
    assert command.result.judge == "eval_error"


def test_judge_may_use_the_last_token() -> None:
    envelope, calling = judged()
    begin = Begin(DOCUMENT, utf8_bytes, judge_request=Request("judge", (), 512), judge_tokens=10)
    for tokens, asked in ((20_000 - 522, True), (20_000 - 521, False)):
        _, command = step(envelope, replace(calling, status=RunStatus.READY, call=None, tokens=tokens), begin, 0)
        assert isinstance(command, MakeCall) is asked


def test_verdict_is_no_regression() -> None:
    """The judged output keeps every value that the attempt before it had, and broke no rule: that is progress."""
    envelope, run = judged(("fail:-c", "fail:-c"))
    seen = replace(run.seen, severity=1, violations=1, present=("/qty", "/total"))
    strict = envelope.model_copy(update={"limits": envelope.limits.model_copy(update={"no_progress": 1})})
    for value in ({"total": "1", "qty": 1}, None):
        after, command = step(strict, replace(run, seen=seen), Voted(Reply("{}"), "fail:-c", value), 0)
        assert after.fuse is None
        assert command == Continue()
        assert after.best == machine.Best(1, 0, 1, judged=True)


def test_failed_verdict_on_alternate_goes_on_in_the_menu() -> None:
    menu = [
        {"id": "other", "kind": "alternate_model", "alias": "second", "plan": "copy"},
        {"id": "person", "kind": "needs_review"},
    ]
    envelope, run = judged(("fail:-c", "fail:-c"))
    envelope = small(judge=JUDGE, fallback=menu)
    run, command = step(envelope, replace(run, fallbacks=("other",)), Voted(Reply("{}"), "fail:-c"), 0)
    assert isinstance(command, RunFallback)
    assert command.spec.id == "person"


# The menu


def test_items_run_once_in_order() -> None:
    menu = [{"id": each, "kind": "needs_review"} for each in ("a", "b")]
    envelope = small(fallback=menu, limits__attempts=0)
    run, command = step(envelope, machine.start(envelope), BEGIN, 0)
    asked = []
    while isinstance(command, RunFallback):
        asked.append(command.spec.id)
        run, command = step(envelope, run, FellBack(Fallen(Answer.DECLINED)), 0)
    assert asked == ["a", "b"]
    assert run.status is RunStatus.DEAD_LETTERED


def test_lost_item_counts_as_used() -> None:
    envelope = small(fallback=[{"id": each, "kind": "needs_review"} for each in ("a", "b")], limits__attempts=0)
    run, _ = step(envelope, machine.start(envelope), BEGIN, 0)
    _, command = step(envelope, run, Lost(), 0)
    assert isinstance(command, RunFallback)
    assert command.spec.id == "b"


def test_alternate_makes_no_call_after_time_is_up() -> None:
    menu = [{"id": "other", "kind": "alternate_model", "alias": "second", "plan": "copy"}]
    envelope = small(fallback=menu)
    run, command = step(envelope, replace(machine.start(envelope), elapsed_ms=12_000), BEGIN, 0)
    assert (run.next_kind, command) == (CallKind.ALTERNATE, Continue())
    run, command = step(envelope, run, BEGIN, 0)
    assert isinstance(command, Finish)
    assert (run.calls, run.fuse) == (0, Fuse.ELAPSED)


def test_alternate_fault_is_not_retried() -> None:
    menu = [{"id": "other", "kind": "alternate_model", "alias": "second", "plan": "copy"}]
    envelope = small(fallback=menu, limits__attempts=0)
    run, _ = step(envelope, machine.start(envelope), BEGIN, 0)
    run = begun(envelope, run)
    assert run.call is not None
    assert (run.call.kind, run.call.alias) == (CallKind.ALTERNATE, "second")
    run, command = step(envelope, run, Failed(Fault.SERVER), 0)
    assert isinstance(command, Finish)
    assert run.infrastructure == 0


def test_accepted_fallback_ends_the_run() -> None:
    envelope = small(limits__attempts=0)
    run, _ = step(envelope, machine.start(envelope), BEGIN, 0)
    report = CheckReport(parsed=True)
    run, command = step(envelope, run, FellBack(Fallen(Answer.ACCEPTED, value_text="{}", report=report, missing=("/a",))), 0)
    assert isinstance(command, Finish)
    assert (run.status, command.value_text) == (RunStatus.ACCEPTED, "{}")
    assert (command.result.fallback, command.result.reason, command.result.missing) == ("person", "attempts", ("/a",))
    assert (command.result.healed, command.result.accepted_on, command.result.final_class) == (False, None, "")


def test_run_without_menu_goes_to_a_person() -> None:
    envelope = small(limits__attempts=0, fallback=[])
    run, command = step(envelope, machine.start(envelope), BEGIN, 0)
    assert isinstance(command, Finish)
    assert (run.status, command.result.fallback, command.value_of) == (RunStatus.DEAD_LETTERED, "", 0)


@pytest.mark.parametrize("fault", [Failed(Fault.SERVER), Lost()])
def test_ended_call_is_not_at_hand_any_more(fault: Any) -> None:
    envelope = small()
    run, _ = step(envelope, begun(envelope), fault, 0)
    assert (run.call, run.repairs) == (None, 0)
    hopeless, _ = step(envelope, begun(envelope), Failed(Fault.CONFIGURATION, retryable=False), 0)
    assert (hopeless.call, hopeless.not_before_ms) == (None, 0)


def test_passing_vote_waits_for_the_others() -> None:
    envelope, run = judged()
    after, command = step(envelope, run, Voted(Reply("{}"), "pass:+c"), 0)
    assert command == Continue()
    assert (after.status, after.call, after.votes, after.next_kind) == (RunStatus.READY, None, ("pass:+c",), CallKind.JUDGE)


def test_judged_value_is_what_a_retry_must_keep() -> None:
    envelope, run = judged(("fail:-c", "fail:-c"))
    after, _ = step(envelope, run, Voted(Reply("{}"), "fail:-c", {"total": "1", "qty": 1}), 0)
    assert after.seen.present == ("/qty", "/total")
    assert after.final_class is FailureClass.JUDGEMENT


def test_unjudged_output_is_classed_as_judgement() -> None:
    envelope, run = judged(("eval_error", "eval_error"))
    _, command = step(envelope, run, Voted(Reply("?"), "eval_error"), 0)
    assert isinstance(command, Finish)
    assert command.result.final_class == "judgement"


def test_refused_run_is_not_retryable() -> None:
    run = replace(in_status(RunStatus.READY), retryable=True, fault=Fault.SERVER)
    _, command = step(small(), run, Refused(Fuse.SIGNATURE_INVALID), 0)
    assert isinstance(command, Finish)
    assert (command.result.reason, command.result.retryable, command.result.fault) == ("signature_invalid", False, "")
    assert (command.result.status, command.result.fallback, command.result.judge) == ("dead_lettered", "", "")
