"""Claiming runs and working them. Every entry that makes a run go on comes through here: threads, Celery tasks, commands."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from pydantic import ValidationError

from controller import envelope as content
from controller.checks.base import SpecError
from controller.fuse import Fuse
from controller.runner import LeaseLost, Prepared, Subject, Surroundings, drive, prepare
from controller.safe_summary import safe_summary
from controller.signature import Invalid
from controller.tokens import CounterUnavailable
from reviewapp import statements
from reviewapp.accounts.models import User
from reviewapp.batches.actions import NotAllowed, pause_batch
from reviewapp.batches.models import Batch, BatchStatus, Record, RecordPayload
from reviewapp.envelopes.models import Envelope, Version
from reviewapp.envelopes.notices import tell_operators
from reviewapp.envelopes.verification import verified
from reviewapp.runs import queue
from reviewapp.runs.endpoints import Endpoints
from reviewapp.runs.models import LIVE, Run
from reviewapp.runs.state import load
from reviewapp.runs.store import DatabaseStore, release

log = logging.getLogger(__name__)

_STARTED_WALL_MS = int(time.time() * 1000)
_STARTED_MONOTONIC = time.monotonic()


def now_ms() -> int:
    """Milliseconds that never jump while the process lives: the wall clock at its start, then the monotonic one."""
    return _STARTED_WALL_MS + int((time.monotonic() - _STARTED_MONOTONIC) * 1000)


def _free() -> Q:
    """Live runs that nobody holds and whose time has come, by their own columns alone."""
    now = timezone.now()
    return Q(status__in=LIVE) & (Q(lease_until=None) | Q(lease_until__lt=now)) & (Q(not_before=None) | Q(not_before__lte=now))


def claim(worker: str, limit: int, *, lease_seconds: int | None = None) -> list[tuple[int, int]]:
    """Up to ``limit`` runs for ``worker`` as (run id, fence), oldest first; two workers never get the same one.

    A run whose lease ran out is claimed like any other: its worker is taken for dead, and its fence is worth nothing any more.
    """
    until = timezone.now() + timedelta(seconds=lease_seconds or settings.COUNTERSIGN_LEASE_SECONDS)
    with transaction.atomic():
        # Nobody else writes these rows before this transaction ends: their locks are held, or on SQLite the whole database is.
        free = queue.free_runs(limit, lock=True)
        if free:
            queue.lease([pk for pk, _ in free], worker, until)
        return [(pk, fence + 1) for pk, fence in free]


def claim_one(worker: str, run_id: int) -> int | None:
    """This very run for ``worker``, as its fence; ``None`` where it cannot be claimed now. Of two that ask, one gets it."""
    until = timezone.now() + timedelta(seconds=settings.COUNTERSIGN_LEASE_SECONDS)
    with transaction.atomic():
        # No join: PostgreSQL looks again at the row's own columns when another worker was quicker, not at a subquery over them.
        free = Run.objects.filter(_free(), pk=run_id, batch__in=Batch.objects.filter(status=BatchStatus.OPEN))
        if not free.update(lease_owner=worker, lease_until=until, fence=F("fence") + 1):
            return None
        return Run.objects.values_list("fence", flat=True).get(pk=run_id)


def renew(held: Iterable[tuple[int, int]]) -> None:
    """Moves the end of the leases that are still held: a heartbeat."""
    until = timezone.now() + timedelta(seconds=settings.COUNTERSIGN_LEASE_SECONDS)
    wanted = Q()
    for pk, fence in held:
        wanted |= Q(pk=pk, fence=fence)
    if wanted:
        Run.objects.filter(wanted, ended_at=None).update(lease_until=until)


def execute(run_id: int, fence: int) -> bool:
    """Works one claimed run as far as it goes. True where it ended. Harmless when the claim is no longer held."""
    run = _held(run_id, fence)
    if run is None:
        return False
    try:
        refusal, prepared = _ready(run)
    except (SpecError, CounterUnavailable, ValidationError) as error:
        _pause(run, error)
        return False
    subject = Subject(run.record.key, run.record.payload.document, run.record.document_sha256)
    around = Surroundings(now_ms, _sleep, random.random)
    try:
        ended = drive(prepared, subject, load(run.state), DatabaseStore(run, refusal=refusal), around)
    except LeaseLost:
        log.info("run %s was taken over by another worker", run_id)
        return False
    if ended.result is None:
        release(run)
    return ended.result is not None


_WORKED = (
    statements.Join(Record, 0, "record_id"),
    statements.Join(RecordPayload, 0, "record_id"),
    statements.Join(Batch, 0, "batch_id"),
    statements.Join(Version, 0, "version_id"),
    statements.Join(Envelope, 4, "envelope_id"),
    statements.Join(User, 4, "author_id", ("id", "username")),
)
"""What working a run reads beside its own row."""


def _held(run_id: int, fence: int) -> Run | None:
    """The claimed run with everything that working it reads, fresh from the database; ``None`` where the claim is not held."""
    found = statements.together(Run, _WORKED, {"id": run_id, "fence": fence, "ended_at": None})
    if found is None:
        return None
    run, run.record, run.record.payload, run.batch, run.version, run.version.envelope, run.version.author = found
    run.batch.version = run.version
    return run


def _pause(run: Run, error: Exception) -> None:
    """A version that cannot be made ready here would only make dead letters: the batch waits for a person instead."""
    summary = safe_summary(error)
    log.error("%s cannot run here: %s", run.version, summary)
    release(run)
    with contextlib.suppress(NotAllowed):
        pause_batch(run.batch, by=None, why=f"{run.version} cannot run here: {summary[:300]}")


def _sleep(milliseconds: int) -> None:
    time.sleep(milliseconds / 1000)


def _ready(run: Run) -> tuple[Fuse | None, Prepared]:
    """The prepared version, and the fuse that stops the run where the version may not run. Fails closed."""
    invalid = verified(run.version)
    if isinstance(invalid, Invalid):
        tell_operators(run.version, f"it may not run: {invalid.why}")
        return Fuse.SIGNATURE_INVALID, _refused_version()
    prepared = _prepared(run.version.digest, run.version.canonical)
    # The same content, read once per version: the digest was verified a moment ago.
    run.version.content = prepared.envelope
    return None, prepared


@lru_cache(maxsize=64)
def _prepared(digest: str, canonical: str) -> Prepared:
    """Compiled once per version and process."""
    return prepare(content.from_canonical(canonical.encode("utf-8")), Endpoints())


@lru_cache(maxsize=1)
def _refused_version() -> Prepared:
    """Stands in for a version that may not be read: no endpoint, no fallback, nothing of the altered content."""
    bare = content.Envelope.model_validate(
        {
            "task": "refused",
            "model": {"alias": "none", "max_output_tokens": 1, "context_window": 1},
            "invariants": "none",
            "task_text": "none",
            "plans": [{"id": "none", "text": "none"}],
            "graph": {"start": "none"},
            "contract": {},
            "classes": {},
            "limits": {
                "attempts": 0,
                "repairs": 0,
                "elapsed_ms": 1,
                "call_timeout_ms": 1,
                "total_tokens": 0,
                "same_signature": 2,
                "same_shape": 2,
                "same_plan": 1,
                "no_progress": 1,
                "caps": dict.fromkeys(("invariants", "document", "contract", "plan", "ledger", "task", "reminder"), 0),
            },
            "infrastructure": {"retries": 0, "backoff_ms": [1, 1]},
        }
    )
    return prepare(bare, {})
