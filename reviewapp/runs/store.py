"""The runner's store over the database: one transaction per save, every write fenced.

The run's row is written first and only while it still has this worker's fence; 0 rows means that another worker holds it, and
nothing is written. What begins a call also needs an open batch and an approved version, in the same statement, so a pause or
an emergency retire acts before the next attempt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controller.fuse import Fuse
from controller.machine import Finish, RunStatus
from controller.machine import Run as RunState
from controller.report import CheckReport
from controller.runner import Begun, Change, Ended, Hold, LeaseLost
from reviewapp import statements
from reviewapp.batches import endpoint_states
from reviewapp.batches.models import BatchStatus
from reviewapp.deadletters.actions import open_dead_letter
from reviewapp.envelopes.models import Status, Version
from reviewapp.runs.models import Attempt, AttemptPayload, AttemptStatus, Event, Outcome, Run
from reviewapp.runs.state import dump, dump_report
from reviewapp.samples.finishing import run_ended

_ANYWAY: tuple[str, tuple[str, ...]] = ("", ())
_MAY_BEGIN = (
    "batch_id IN (SELECT id FROM batches_batch WHERE status = %s)"
    " AND version_id IN (SELECT id FROM envelopes_version WHERE status = %s)",
    (BatchStatus.OPEN.value, Status.APPROVED.value),
)
"""A call may begin. The fence stands beside it in the same WHERE, not behind a join: where another worker was quicker,
PostgreSQL looks again at the row's own columns, but not at what a subquery had found over them."""


class DatabaseStore:
    """One claimed run. ``refusal`` is the fuse that the verification of its version found, asked before the first call."""

    def __init__(self, run: Run, *, refusal: Fuse | None = None) -> None:
        self._row = run
        self._refusal = refusal
        self._begun: dict[int, Begun] = {}
        self._attempts: dict[int, int] = {}
        self._resting: datetime | None = None

    def permission(self) -> Hold | Fuse | None:
        return self._refusal

    def save(self, run: RunState, changes: Sequence[Change]) -> Hold | Fuse | None:
        """See ``controller.runner.Store``. ``LeaseLost`` where another worker has the run."""
        begins = any(change.begun is not None for change in changes)
        with transaction.atomic():
            if begins and self._endpoint_rests(changes):
                return Hold.HOLD
            held = {"id": self._row.pk, "fence": self._row.fence, "ended_at": None}
            if not statements.update(Run, held, only_if=_MAY_BEGIN if begins else _ANYWAY, **self._columns(run)):
                return self._why_not(begins)
            self._write(run, changes)
        return None

    def reply_text(self, number: int) -> str | None:
        payload = AttemptPayload.objects.filter(attempt__run=self._row.pk, attempt__number=number)
        stored = (
            payload.exclude(attempt__status__in=[AttemptStatus.STARTED, AttemptStatus.LOST])
            .values_list("reply", flat=True)
            .first()
        )
        return None if stored is None else json.loads(stored)

    def _endpoint_rests(self, changes: Sequence[Change]) -> bool:
        """An endpoint whose own breaker is open is left alone: nothing is sent or counted, the run comes back later."""
        for change in changes:
            if change.begun is None:
                continue
            alias, version = change.begun.call.alias, self._row.version
            self._resting = endpoint_states.may_call(alias, partial(_call_timeout, version), timezone.now())
            if self._resting is not None:
                held = Run.objects.filter(pk=self._row.pk, fence=self._row.fence, ended_at=None)
                held.update(not_before=self._resting)
                return True
        return False

    def _why_not(self, begins: bool) -> Hold | Fuse:
        found = (
            Run.objects.filter(pk=self._row.pk, fence=self._row.fence, ended_at=None)
            .values_list("batch__status", "version__status")
            .first()
        )
        if found is None or not begins:
            raise LeaseLost(f"run {self._row.pk} is held by another worker")
        return Fuse.VERSION_RETIRED if found[1] != Status.APPROVED else Hold.HOLD

    def _columns(self, run: RunState) -> dict[str, object]:
        now = timezone.now()
        columns: dict[str, object] = {
            "status": run.status.value,
            "state": dump(run),
            "attempts": run.attempts,
            "calls": run.calls,
            "tokens_counted": run.tokens,
            "tokens_reported": _sum(run.prompt_tokens_reported, run.output_tokens_reported),
            "duration_ms": run.elapsed_ms,
            "not_before": now + timedelta(milliseconds=_left(run)) if run.status is RunStatus.WAITING else self._resting,
        }
        if self._row.started_at is None:
            columns["started_at"] = self._row.started_at = now
        if run.result is not None:
            columns |= {
                "accepted_on": run.result.accepted_on,
                "fallback": run.result.fallback,
                "fuse": run.fuse.value if run.fuse else "",
                "final_class": run.result.final_class,
                "ended_at": now,
                "lease_until": None,
                "lease_owner": "",
            }
        return columns

    def _write(self, run: RunState, changes: Sequence[Change]) -> None:
        now = timezone.now()
        for change in changes:
            if change.begun is not None:
                self._begin(change.begun)
            if change.ended is not None:
                self._end(change.ended)
        for c in changes:
            statements.insert(
                Event, run_id=self._row.pk, at=now, kind=c.kind, from_status=c.before.value, to_status=c.after.value, why=c.why
            )
        for change in changes:
            if change.finish is not None:
                self._finish(run, change.finish, change.report)

    def _begin(self, begun: Begun) -> None:
        call = begun.call
        self._begun[call.number] = begun
        self._attempts[call.number] = statements.insert(
            Attempt,
            run_id=self._row.pk,
            number=call.number,
            kind=call.kind.value,
            plan=call.plan,
            alias=call.alias,
            fence=self._row.fence,
            request_sha256=begun.request_digest,
            prompt_tokens_counted=call.prompt_tokens,
            started_at=timezone.now(),
        )

    def _end(self, ended: Ended) -> None:
        now = timezone.now()
        reply, report = ended.reply, ended.report
        failures = report.failures if report is not None else ()
        lost = ended.fault is not None and ended.fault.value == "lost"
        status = AttemptStatus.REPLIED if reply else (AttemptStatus.LOST if lost else AttemptStatus.FAILED)
        attempt_id = self._attempts.get(ended.number) or _attempt_of(self._row.pk, ended.number)
        statements.update(
            Attempt,
            {"id": attempt_id},
            status=status.value,
            finish=reply.finish.value if reply else "",
            fault=ended.fault.value if ended.fault else "",
            final_class=report.final_class.value if report and report.final_class else "",
            passed=bool(report and report.passed),
            violations=len(failures),
            prompt_tokens_reported=reply.usage.prompt_tokens if reply else None,
            output_tokens_reported=reply.usage.completion_tokens if reply else None,
            over_cap=ended.over_cap,
            model_name=reply.model[:200] if reply else "",
            duration_ms=reply.duration_ms if reply else 0,
            ended_at=now,
        )
        begun = self._begun.get(ended.number)
        if begun is not None:
            _note_endpoint(begun.call.alias, ended)
        statements.insert(
            AttemptPayload,
            attempt_id=attempt_id,
            prompt=json.dumps(_blocks(begun), ensure_ascii=True),
            directives=json.dumps(begun.directives if begun else [], ensure_ascii=True),
            # As a JSON text: it keeps lone surrogates and NUL, which no PostgreSQL text column takes.
            reply=json.dumps(reply.text if reply else None, ensure_ascii=True),
            report=dump_report(report) if report is not None else json.dumps({"fault": ended.detail}),
        )

    def _finish(self, run: RunState, finish: Finish, report: CheckReport | None) -> None:
        now = timezone.now()
        result = finish.result
        statements.insert(
            Outcome,
            run_id=self._row.pk,
            kind=result.status,
            result=json.dumps({name: getattr(result, name) for name in result.__dataclass_fields__}, ensure_ascii=True),
            value=finish.value_text or "",
            created_at=now,
        )
        if run.status is RunStatus.DEAD_LETTERED:
            open_dead_letter(self._row, fuse=run.fuse, result=result, report=report, now=now)
        run_ended(self._row, run, result, now)


def _call_timeout(version: Version) -> int:
    return version.content.limits.call_timeout_ms


def _attempt_of(run_id: int, number: int) -> int:
    """The row of a call that another worker began."""
    found = statements.first(Attempt, ("id",), {"run_id": run_id, "number": number})
    assert found is not None, f"attempt {number} of run {run_id} was written before its call"
    return int(found[0])


def _note_endpoint(alias: str, ended: Ended) -> None:
    if ended.fault is None:
        endpoint_states.answered(alias)
    else:
        endpoint_states.failed(alias, ended.fault)


def release(run: Run) -> None:
    """Gives a run back to the queue before its lease ends; nothing happens where another worker has it already."""
    Run.objects.filter(pk=run.pk, fence=run.fence, ended_at=None).update(lease_until=None, lease_owner="", fence=F("fence") + 1)


def _blocks(begun: Begun | None) -> list[dict[str, object]]:
    if begun is None or begun.prompt is None:
        return []
    return [
        {
            "name": block.name,
            "role": block.role,
            # The document is the record's own and is not kept again with every attempt.
            "text": "" if block.name == "document" else block.text,
            "tokens": block.tokens,
            "cap": block.cap,
        }
        for block in begun.prompt.blocks
    ]


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _left(run: RunState) -> int:
    return max(0, run.not_before_ms - (run.seen_at_ms or 0))
