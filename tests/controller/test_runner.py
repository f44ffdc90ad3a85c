"""Driving one run: what is written before what, what a dead worker leaves, and what is never sent."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from controller import machine
from controller.backends.scripted import Scripted
from controller.budget import bound
from controller.fuse import Fuse
from controller.machine import CallKind, Run, RunStatus
from controller.reply import Fault, Finish, InfrastructureError, Reply, Usage
from controller.runner import Change, Hold, Prepared, Subject, Surroundings, drive, prepare
from controller.testing import EveryAlias, FakeClock, MemoryStore, run_record
from tests.envelopes import small

GOOD, BAD = '{"total":"15.00","qty":2}', '{"total":"9","qty":2}'
DOCUMENT = "Total 15.00"


def subject(document: str = DOCUMENT, sha256: str = "") -> Subject:
    return Subject("r", document, sha256 or hashlib.sha256(document.encode()).hexdigest())


def go_on(
    prepared: Prepared, store: MemoryStore, clock: FakeClock | None = None, *, inline: int = 10**9, about: Subject | None = None
) -> Run:
    clock = clock or FakeClock()
    around = Surroundings(clock.now, clock.sleep, lambda: 0.0, inline_wait_ms=inline)
    return drive(prepared, about or subject(), store.run or machine.start(prepared.envelope), store, around)


def made(script: Any, **changes: Any) -> tuple[Prepared, Scripted]:
    model = Scripted(script)
    return prepare(small(**changes), EveryAlias(model)), model


class Killed(BaseException):
    pass


@dataclass
class KilledAt(MemoryStore):
    """Dies at the n-th write, before or after it."""

    write: int = 0
    after: bool = False
    writes: int = 0

    def save(self, run: Run, changes: Sequence[Change]) -> Hold | Fuse | None:
        self.writes += 1
        if self.writes == self.write and not self.after:
            raise Killed
        answer = super().save(run, list(changes))
        if self.writes == self.write:
            raise Killed
        return answer


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(1, 6))
def test_death_at_any_write_ends_once(write: int, after: bool) -> None:
    prepared, model = made(lambda request: BAD if request.attempt < 3 else GOOD, limits__same_signature=3)
    store = KilledAt(write=write, after=after)
    for _ in range(3):
        try:
            go_on(prepared, store)
        except Killed:
            continue
    assert store.run is not None
    assert store.run.status is RunStatus.ACCEPTED
    assert sum(change.finish is not None for change in store.changes) == 1
    assert len(model.requests) <= 4 <= store.run.calls + 1


def test_attempt_is_written_before_its_call() -> None:
    store = MemoryStore()

    def look(request: object) -> Reply:
        assert store.run is not None
        assert store.run.status is RunStatus.CALLING
        assert store.changes[-1].begun is not None
        return Reply(GOOD)

    prepared, _ = made(look)
    assert go_on(prepared, store).status is RunStatus.ACCEPTED


def test_altered_document_is_never_sent() -> None:
    prepared, model = made([GOOD])
    run = go_on(prepared, MemoryStore(), about=subject(sha256="0" * 64))
    assert (run.fuse, model.requests) == (Fuse.DOCUMENT_ALTERED, [])


PARSER = {
    "id": "parser",
    "kind": "deterministic_parser",
    "fields": [{"at": "/total", "pattern": "Total ([0-9.]+)"}],
    "constants": {"/qty": 1},
}


@pytest.mark.parametrize("status", [RunStatus.CALLING, RunStatus.FALLING_BACK])
def test_altered_document_is_not_parsed_either(status: RunStatus) -> None:
    prepared, model = made([GOOD], fallback=[{"id": "person", "kind": "needs_review"}, PARSER])
    call = machine.Call(1, CallKind.GENERATION, "copy", "default", 1, 1) if status is RunStatus.CALLING else None
    store = MemoryStore(run=Run(status=status, plan="copy", calls=1, call=call, fallbacks=() if call else ("person",)))
    run = go_on(prepared, store, about=subject(sha256="0" * 64))
    assert (run.status, run.fuse, model.requests) == (RunStatus.DEAD_LETTERED, Fuse.DOCUMENT_ALTERED, [])


@pytest.mark.parametrize("fuse", [Fuse.SIGNATURE_INVALID, Fuse.VERSION_RETIRED])
@pytest.mark.parametrize("kind", [CallKind.GENERATION, CallKind.JUDGE])
def test_refused_version_ends_a_call_that_was_lost(fuse: Fuse, kind: CallKind) -> None:
    """The stand-in for a version that may not be read has no judge and no plans: nothing of the run may need them."""
    prepared, model = made([GOOD])
    call = machine.Call(1, kind, "gone", "default", 1, 1)
    run = go_on(prepared, MemoryStore(run=Run(status=RunStatus.CALLING, plan="gone", calls=1, call=call), allowed=fuse))
    assert (run.fuse, run.calls, model.requests) == (fuse, 1, [])


def test_pause_stops_before_the_next_call() -> None:
    prepared, model = made([BAD, GOOD])
    store = MemoryStore()

    def pause(request: object) -> Reply:
        store.allowed = Hold.HOLD
        return Reply(BAD)

    model._answer = pause
    run = go_on(prepared, store)
    assert (run.status, run.attempts, store.run) == (RunStatus.READY, 1, run)
    store.allowed, model._answer = None, lambda request: GOOD
    assert go_on(prepared, store).status is RunStatus.ACCEPTED


def test_long_wait_frees_the_thread() -> None:
    wait = InfrastructureError(Fault.RATE_LIMIT, "later", retry_after_ms=5_000)
    prepared, _ = made([wait, GOOD])
    clock, store = FakeClock(), MemoryStore()
    run = go_on(prepared, store, clock, inline=1_000)
    assert (run.status, clock.slept) == (RunStatus.WAITING, [])
    clock.advance(60_000)
    run = go_on(prepared, store, clock, inline=1_000)
    assert (run.status, run.elapsed_ms) == (RunStatus.ACCEPTED, 5_000)


def test_unknown_alias_is_a_configuration_fault() -> None:
    told = run_record(prepare(small(), {}), DOCUMENT)
    assert (told.result.reason, told.result.fault, told.result.retryable) == ("infrastructure", "configuration", False)


REPAIRING: dict[str, Any] = {
    "plans": [{"id": "copy", "text": "C."}, {"id": "repair", "text": "Repair.", "carries": ["previous_output", "errors"]}],
    "graph__edges": [{"from": "copy", "on": "*", "to": "repair"}],
}


def test_repair_carries_output_errors_and_what_to_keep() -> None:
    prepared, model = made(['{"total":"15.00","qty":"two"}', GOOD], **REPAIRING)
    assert go_on(prepared, MemoryStore()).status is RunStatus.ACCEPTED
    user = model.requests[1].messages[1].content
    assert '\n{"total":"15.00","qty":"two"}\n[end of previous output ' in user
    assert "- /qty: type integer" in user


def test_repair_keeps_what_passed() -> None:
    fields = {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    checks = [{"id": f"{x}-printed", "group": x, "kind": "text_in_document", "at": f"/{x}"} for x in "ab"]
    prepared, model = made(
        ['{"a":"Total","b":"no"}', '{"a":"Total","b":"15"}'], contract=fields, checks=checks, templates=[], **REPAIRING
    )
    go_on(prepared, MemoryStore())
    user = model.requests[1].messages[1].content
    assert "- /b: text that the document prints" in user
    assert "Keep as they are: /a" in user


def test_repair_after_a_restart_carries_the_same() -> None:
    wrong = '{"total":"15.00","qty":"two"}'
    prepared, model = made([wrong, GOOD], **REPAIRING)
    store = MemoryStore()

    def pause(request: object) -> Reply:
        store.allowed = Hold.HOLD
        return Reply(wrong)

    model._answer = pause
    go_on(prepared, store)
    store.allowed, model._answer = None, lambda request: GOOD
    go_on(prepared, store)
    whole, undisturbed = made([wrong, GOOD], **REPAIRING)
    go_on(whole, MemoryStore())
    assert [r.digest for r in model.requests] == [r.digest for r in undisturbed.requests]


def test_alternate_never_carries_a_truncated_reply() -> None:
    menu = [{"id": "other", "kind": "alternate_model", "alias": "second", "plan": "repair"}]
    cut = Reply('{"total":"15', finish=Finish.LENGTH)
    prepared, model = made([cut], **{**REPAIRING, "graph__edges": []}, fallback=menu)
    run = go_on(prepared, MemoryStore())
    assert (run.status, len(model.requests)) == (RunStatus.DEAD_LETTERED, 1)


JUDGE = {
    "alias": "judge",
    "instructions": "Judge.",
    "criteria": [{"id": "right", "text": "It is right.", "required": True}, {"id": "neat", "text": "It is neat."}],
    "threshold": 1,
}
AGAIN = {"for": "judgement", "text": "Look again."}


def by_kind(generations: list[str], votes: list[str]) -> Any:
    waiting = {"default": list(generations), "judge": list(votes)}
    return lambda request: Reply(waiting[request.alias].pop(0), usage=Usage(1, 1))


def test_worst_case_with_a_judge_is_six_calls() -> None:
    envelope = small(judge=JUDGE, templates=[AGAIN], limits__same_signature=9, limits__same_shape=9, limits__no_progress=9)
    model = Scripted(by_kind([GOOD] * 3, ['{"right":false,"neat":true}'] * 3))
    told = run_record(
        envelope.model_copy(update={"infrastructure": envelope.infrastructure.model_copy(update={"retries": 0})}),
        DOCUMENT,
        model,
    )
    assert len(model.requests) == 6 == told.result.requests
    assert bound(small(judge=JUDGE, infrastructure__retries=0)).calls == 6
    assert (told.result.status, told.result.reason, told.value_text) == ("dead_lettered", "attempts", GOOD)


def test_required_criterion_starts_healing() -> None:
    """Its weight alone would let the output pass: 1 of 2 is enough for the threshold."""
    model = Scripted(by_kind([GOOD, GOOD], ['{"right":false,"neat":true}', '{"right":true,"neat":false}']))
    told = run_record(small(judge=JUDGE, templates=[AGAIN]), DOCUMENT, model)
    assert (told.result.status, told.result.healed, told.result.judge) == ("accepted", True, "pass")
    assert "- Look again." in model.requests[2].messages[1].content


def test_judges_words_reach_no_prompt() -> None:
    model = Scripted(by_kind([GOOD, GOOD], ['{"right":false,"neat":true}', '<think>kiwi</think>{"right":true,"neat":true}']))
    told = run_record(small(judge=JUDGE, templates=[AGAIN]), DOCUMENT, model)
    assert told.result.judge == "pass"
    assert not any("kiwi" in m.content for request in model.requests for m in request.messages)


@pytest.mark.parametrize(("choice", "status"), [("accept", "accepted"), ("dead_letter", "dead_lettered")])
def test_eval_error_never_scores(choice: str, status: str) -> None:
    model = Scripted(by_kind([GOOD], ["I would say yes"]))
    told = run_record(small(judge={**JUDGE, "on_eval_error": choice}), DOCUMENT, model)
    assert (told.result.status, told.result.judge, told.value_text) == (status, "eval_error", GOOD)


def test_partial_does_not_go_around_the_judge() -> None:
    model = Scripted(by_kind([GOOD], ['{"right":false,"neat":true}']))
    told = run_record(small(judge=JUDGE, limits__attempts=1, fallback=[{"id": "part", "kind": "partial"}]), DOCUMENT, model)
    assert (told.result.status, told.result.fallback) == ("dead_lettered", "")


def test_judge_is_asked_about_the_alternate_too() -> None:
    menu = [{"id": "other", "kind": "alternate_model", "alias": "second", "plan": "copy"}]
    waiting = {"default": [BAD], "second": [GOOD], "judge": ['{"right":true,"neat":true}']}
    model = Scripted(lambda request: Reply(waiting[request.alias].pop(0)))
    told = run_record(small(judge=JUDGE, limits__attempts=1, fallback=menu), DOCUMENT, model)
    assert (told.result.status, told.result.fallback, told.result.judge, told.result.requests) == (
        "accepted",
        "other",
        "pass",
        3,
    )
    assert (told.result.healed, told.result.accepted_on) == (False, None)
