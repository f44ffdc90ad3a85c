"""The worker's side of shadow runs: one record at a time, claimed by lease and fence like a run, in memory throughout."""

from __future__ import annotations

import json
import logging
import random
import threading
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.db import close_old_connections, connection, connections, transaction
from django.db.models import F, Q
from django.utils import timezone
from pydantic import ValidationError

from controller import machine
from controller.checks.base import SpecError
from controller.envelope import from_canonical
from controller.fuse import Fuse
from controller.machine import RunStatus
from controller.runner import Change, Prepared, Subject, Surroundings, drive, prepare
from controller.safe_summary import safe_summary
from controller.testing import MemoryStore
from controller.tokens import CounterUnavailable
from reviewapp.envelopes.models import ShadowResult, ShadowRun, ShadowStatus
from reviewapp.runs.actions import now_ms
from reviewapp.runs.endpoints import Endpoints

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
SLACK = timedelta(seconds=60)
"""How much longer than the draft's own time limit a worker may hold a record before another takes it up."""
NOT_RUN = "not_run"


def in_thread(worker: str, stopping: threading.Event) -> threading.Thread:
    """Works shadow runs beside the queue of real ones until ``stopping`` is set; never in a thread that real runs need."""
    thread = threading.Thread(target=_loop, args=(worker, stopping), name="shadow", daemon=True)
    thread.start()
    return thread


def _loop(worker: str, stopping: threading.Event) -> None:
    while not stopping.is_set():
        try:
            if not work_next(stopping):
                stopping.wait(POLL_SECONDS)
        except Exception as error:  # whatever goes wrong with one record, the worker lives on: its lease runs out
            log.error("a shadow record could not be worked: %s", safe_summary(error))
            close_old_connections()
            stopping.wait(POLL_SECONDS)
    connections.close_all()


def work_next(stopping: threading.Event | None = None) -> bool:
    """Works one record of the oldest shadow run. False where nothing waits."""
    claimed = _claim()
    if claimed is None:
        return False
    result, shadow = claimed
    try:
        prepared = _prepared(shadow.digest, shadow.canonical)
    except (SpecError, CounterUnavailable, ValidationError) as error:
        _end(shadow, ShadowStatus.STOPPED, f"it cannot run here: {safe_summary(error)}"[:300])
        return True
    _store(result, _tried(prepared, result, stopping or threading.Event()))
    if not ShadowResult.objects.filter(shadow=shadow, ended_at=None).exists():
        _end(shadow, ShadowStatus.DONE, "")
    return True


def _claim() -> tuple[ShadowResult, ShadowRun] | None:
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    with transaction.atomic():
        rows = ShadowResult.objects.filter(
            free, ended_at=None, shadow__status__in=[ShadowStatus.WAITING, ShadowStatus.RUNNING]
        ).order_by("pk")
        if connection.features.has_select_for_update_skip_locked:
            rows = rows.select_for_update(skip_locked=True, of=("self",))
        result = rows.first()
        if result is None:
            return None
        shadow = ShadowRun.objects.get(pk=result.shadow_id)
        limit = json.loads(shadow.canonical)["limits"]["elapsed_ms"]
        until = now + timedelta(milliseconds=limit) + SLACK
        ShadowResult.objects.filter(pk=result.pk).update(lease_until=until, fence=F("fence") + 1)
        ShadowRun.objects.filter(pk=shadow.pk, status=ShadowStatus.WAITING).update(status=ShadowStatus.RUNNING)
        found = ShadowResult.objects.select_related("run__record__payload", "run__outcome").get(pk=result.pk)
        return found, shadow


@lru_cache(maxsize=16)
def _prepared(digest: str, canonical: str) -> Prepared:
    return prepare(from_canonical(canonical.encode("utf-8")), Endpoints())


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one record under the draft."""

    outcome: str
    change: str = ""
    reason: str = ""
    final_class: str = ""
    failing: str = ""
    value: str = ""
    story: tuple[dict[str, Any], ...] = ()
    calls: int = 0
    tokens: int = 0


def _tried(prepared: Prepared, result: ShadowResult, stopping: threading.Event) -> Tried:
    record = result.run.record
    document = record.payload.document
    if not document and record.document_bytes:
        return Tried(NOT_RUN, reason="its document was deleted")
    store = MemoryStore()

    def sleep(milliseconds: int) -> None:
        stopping.wait(milliseconds / 1000)

    around = Surroundings(now_ms, sleep, random.random, inline_wait_ms=10**9)
    subject = Subject(record.key, document, record.document_sha256)
    run = drive(prepared, subject, machine.start(prepared.envelope), store, around)
    finish = next((change.finish for change in store.changes if change.finish is not None), None)
    report = next((change.report for change in store.changes if change.finish is not None), None)
    failing = ", ".join(sorted({f"{f.check} {f.pointer}".strip() for f in report.failures})) if report is not None else ""
    value = (finish.value_text if finish else None) or ""
    story = tuple(told(store.changes))
    no_reply = run.fuse is Fuse.INFRASTRUCTURE and run.status is RunStatus.DEAD_LETTERED
    return Tried(
        outcome=NOT_RUN if no_reply else run.status.value,
        change="" if no_reply else change_of(result, run.status.value, value),
        reason=_reason(run, story),
        final_class=run.final_class.value if run.final_class is not None else "",
        failing=failing[:500],
        value=value,
        story=story,
        calls=run.calls,
        tokens=run.tokens,
    )


def _reason(run: machine.Run, story: tuple[dict[str, Any], ...]) -> str:
    """The fuse; where the endpoint gave no reply, what it said, such as that nothing is recorded for this prompt."""
    if run.fuse is Fuse.INFRASTRUCTURE:
        said = next((call["fault"] for call in reversed(story) if call["fault"]), "")
        return said[:300] or Fuse.INFRASTRUCTURE.value
    return run.fuse.value if run.fuse is not None and run.status is RunStatus.DEAD_LETTERED else ""


def change_of(result: ShadowResult, outcome: str, value: str) -> str:
    """rescued, still_failing, newly_failing, changed or same, against the run that it is compared with."""
    before = result.run.status
    if outcome == RunStatus.DEAD_LETTERED.value:
        return "still_failing" if before == outcome else "newly_failing"
    if before != RunStatus.ACCEPTED.value:
        return "rescued"
    return "same" if _read(result.run.outcome.value) == _read(value) else "changed"


def _read(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return text


def told(changes: list[Change]) -> list[dict[str, Any]]:
    """The calls of a run as plain data for its page: what was asked, by hash and directives, and what came back."""
    calls: dict[int, dict[str, Any]] = {}
    for change in changes:
        if change.begun is not None:
            call = change.begun.call
            calls[call.number] = {
                "number": call.number,
                "kind": call.kind.value,
                "plan": call.plan,
                "alias": call.alias,
                "request": change.begun.request_digest,
                "directives": list(change.begun.directives),
                "tokens": call.prompt_tokens,
                "reply": None,
                "fault": "",
                "failures": [],
            }
        if change.ended is not None and change.ended.number in calls:
            ended = change.ended
            failures = ended.report.failures if ended.report is not None else ()
            calls[ended.number] |= {
                "reply": ended.reply.text if ended.reply is not None else None,
                "fault": f"{ended.fault.value}: {ended.detail}" if ended.fault is not None else "",
                "failures": [{"check": f.check, "place": f.pointer, "expected": f.expected} for f in failures],
            }
    return [calls[number] for number in sorted(calls)]


def _store(result: ShadowResult, tried: Tried) -> None:
    """Writes the result while this worker still holds the record; another one's result stands."""
    ShadowResult.objects.filter(pk=result.pk, fence=result.fence, ended_at=None).update(
        outcome=tried.outcome,
        change=tried.change,
        reason=tried.reason,
        final_class=tried.final_class,
        failing=tried.failing,
        value=tried.value,
        story=json.dumps(tried.story, ensure_ascii=True),
        calls=tried.calls,
        tokens=tried.tokens,
        ended_at=timezone.now(),
        lease_until=None,
    )


def _end(shadow: ShadowRun, status: ShadowStatus, note: str) -> None:
    live = ShadowRun.objects.filter(pk=shadow.pk, status__in=[ShadowStatus.WAITING, ShadowStatus.RUNNING])
    live.update(status=status, note=note, ended_at=timezone.now())
