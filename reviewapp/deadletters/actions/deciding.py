"""What a person can decide about a letter. Each decision is one transaction: letter, history, effects, numbers, audit entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from controller import machine
from controller.contract import SCHEMA
from controller.report import JSON, CheckReport, Finding
from controller.strict_json import dumps
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.deadletters.actions import counting
from reviewapp.deadletters.actions.drafts import drop_draft
from reviewapp.deadletters.actions.leases import Claim, held
from reviewapp.deadletters.judging import judgement
from reviewapp.deadletters.models import (
    BulkJob,
    Correction,
    DeadLetter,
    DeadLetterStatus,
    Decision,
    Delivery,
    DeliveryKind,
    Kind,
    Requeue,
    Resolution,
    Skip,
)
from reviewapp.deadletters.rules import NotAllowed, policy_of
from reviewapp.envelopes.models import Status, Version
from reviewapp.runs.models import Run
from reviewapp.runs.state import dump, dump_report

REJECT_REASONS = {
    "out_of_scope": "Out of scope: no document of this kind",
    "unreadable": "Unreadable document",
    "duplicate": "Duplicate of another record",
    "no_data": "The document does not have what is asked for",
    "other": "Another reason, in words",
}
SKIP_REASONS = {
    "language": "I do not read this language",
    "knowledge": "I do not know this field",
    "conflict": "I should not judge this one",
    "other": "Another reason, in words",
}
ASK_REASONS = {
    "missing_page": "A page or part is missing",
    "better_copy": "A better copy is needed",
    "missing_data": "Data is missing",
    "other": "Something else, in words",
}
SHORTEST_REASON = 3
BULK_WINDOW = timedelta(minutes=15)


class NotPassed(NotAllowed):
    """The value fails checks that nobody has given a reason to override. ``report`` is the judgement over it."""

    def __init__(self, report: CheckReport, open_findings: list[Finding]) -> None:
        places = ", ".join(sorted({f"{f.check} {f.pointer}".strip() for f in open_findings}))
        super().__init__(f"still failing: {places}")
        self.report = report


@dataclass(slots=True)
class Change:
    """A decision about to be written: the letter's new columns, and what the history says."""

    kind: Kind
    after: DeadLetterStatus
    reason: str = ""
    note: str = ""
    columns: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    resolution: str = ""


def write(
    letter: DeadLetter, change: Change, *, by: User, now: datetime, wait: timedelta | None = None, job: BulkJob | None = None
) -> Decision:
    """Moves a letter that the caller has locked; writes history and numbers. Decisions of a job are audited with the job."""
    before, resolved_before = letter.status, letter.resolved_at
    resolved = change.after is DeadLetterStatus.RESOLVED
    letter.status = change.after
    letter.waiting_since = None if resolved else letter.created_at
    letter.resolution = change.resolution if resolved else ""
    letter.resolved_at = now if resolved else None
    letter.resolved_by = by if resolved else None
    letter.deferred_until = None
    letter.lease_owner = letter.lease_until = letter.beat_at = None
    letter.fence += 1
    for name, value in change.columns.items():
        setattr(letter, name, value)
    letter.save()
    counting.moved(letter, before, letter.status, resolved_at=letter.resolved_at or resolved_before)
    decision = Decision.objects.create(
        letter=letter,
        kind=change.kind,
        by=by,
        at=now,
        before=before,
        after=letter.status,
        reason=change.reason,
        note=change.note,
        details=change.details,
        effective_at=now + (undo_window(letter, job) if wait is None else wait),
        fence_after=letter.fence,
        job=job,
    )
    if job is None:
        append(
            f"dead letter {_PAST[change.kind]}",
            "dead letter",
            letter.pk,
            by=by,
            before={"status": before},
            after={"status": letter.status, **change.details},
            reason=" – ".join(text for text in (change.reason, change.note) if text),
        )
    return decision


_PAST = {
    Kind.CORRECT: "corrected",
    Kind.REQUEUE: "requeued",
    Kind.REJECT: "rejected",
    Kind.ASK: "asked about",
    Kind.DEFER: "deferred",
    Kind.ESCALATE: "escalated",
    Kind.SKIP: "skipped",
    Kind.RETURN: "returned to the queue",
    Kind.UNDO: "decision undone",
    Kind.REOPEN: "reopened",
}


def undo_window(letter: DeadLetter, job: BulkJob | None = None) -> timedelta:
    """How long the effects of a decision about this letter wait: longer in a job, whose mistake takes longer to see."""
    single = timedelta(seconds=policy_of(letter.envelope_id).undo_seconds)
    return single if job is None else max(single, BULK_WINDOW)


@transaction.atomic
def correct_and_accept(
    claim: Claim, value: JSON, *, overrides: Mapping[tuple[str, str], str] | None = None, note: str = ""
) -> Decision:
    """Delivers the person's value as human-corrected; the run's own outcome stays as it was.

    The checks of the run's version run again. Each finding that still fails needs a reason in ``overrides``, by check and
    pointer. What breaks the contract cannot be overridden: whoever reads the delivery relies on it. Raises ``NotPassed``.
    """
    letter = held(claim)
    run = Run.objects.select_related("record__payload", "version").get(pk=letter.run_id)
    report = judgement(run.version, run.record.payload.document, value)
    reasons = {key: why.strip() for key, why in (overrides or {}).items() if len(why.strip()) >= SHORTEST_REASON}
    missing = [f for f in report.failures if f.check == SCHEMA or (f.check, f.pointer) not in reasons]
    if missing:
        raise NotPassed(report, missing)
    used = [{"check": f.check, "pointer": f.pointer, "reason": reasons[f.check, f.pointer]} for f in report.failures]
    text = dumps(value)
    now = timezone.now()
    overridden = [f"{item['check']} {item['pointer']}" for item in used]
    change = Change(
        Kind.CORRECT,
        DeadLetterStatus.RESOLVED,
        note=note,
        resolution=Resolution.CORRECTED,
        details={"overridden": overridden} if overridden else {},
    )
    decision = write(letter, change, by=claim.user, now=now)
    Correction.objects.create(decision=decision, value=text, report=dump_report(report), overrides=used)
    _deliver(decision, run.record_id, DeliveryKind.HUMAN_CORRECTED, value=text)
    drop_draft(letter.pk, claim.user)
    return decision


def _deliver(decision: Decision, record_id: int, kind: DeliveryKind, **about: str) -> None:
    Delivery.objects.create(
        decision=decision,
        record_id=record_id,
        kind=kind,
        created_at=decision.at,
        effective_at=decision.effective_at,
        **about,
    )


def versions_for(letter: DeadLetter) -> list[Version]:
    """The approved versions that the letter's record may be sent through, newest first: its own or newer ones."""
    rows = Version.objects.filter(envelope_id=letter.envelope_id, status=Status.APPROVED)
    number = letter.version.number if letter.version is not None else 0
    return list(rows.filter(number__gte=number).defer("source", "canonical").select_related("envelope").order_by("-number"))


def requeue_refusal(letter: DeadLetter, version: Version, *, record_id: int, batch_status: str) -> str:
    """Why the letter's record may not go through again under this version; empty where it may."""
    own = letter.version
    if version.envelope_id != letter.envelope_id:
        return "the version belongs to another envelope"
    if version.status != Status.APPROVED:
        return f"{version} is {version.get_status_display().lower()}, not approved"
    if own is not None and version.number < own.number:
        return f"{version} is older than {own}, under which it ran"
    if batch_status == BatchStatus.CLOSED:
        return "its batch is closed"
    if letter.replay >= policy_of(letter.envelope_id).replays:
        return f"it was requeued {letter.replay} times already: correct or reject it"
    if Requeue.objects.filter(record_id=record_id, version=version, undone=False).exists():
        return f"its record was requeued under {version} before"
    return ""


@transaction.atomic
def requeue(claim: Claim, version: Version, *, note: str = "") -> Decision:
    """Sends the record through again under an approved version. The new run starts once the undo window is over."""
    return requeue_locked(held(claim), version, by=claim.user, note=note)


def requeue_locked(letter: DeadLetter, version: Version, *, by: User, note: str = "", job: BulkJob | None = None) -> Decision:
    """As ``requeue``, for a letter that the caller has locked."""
    record_id, batch_id = Run.objects.values_list("record_id", "batch_id").get(pk=letter.run_id)
    status = Batch.objects.values_list("status", flat=True).get(pk=batch_id)
    refusal = requeue_refusal(letter, version, record_id=record_id, batch_status=status)
    if refusal:
        raise NotAllowed(refusal)
    now = timezone.now()
    replay = (Run.objects.filter(record_id=record_id).aggregate(last=Max("replay"))["last"] or 0) + 1
    run = Run(
        record_id=record_id,
        batch_id=batch_id,
        version=version,
        replay=replay,
        state=dump(machine.start(version.content)),
        not_before=now + undo_window(letter, job),
    )
    change = Change(
        Kind.REQUEUE,
        DeadLetterStatus.RESOLVED,
        note=note,
        resolution=Resolution.REQUEUED,
        details={"version": version.number, "replay": replay},
    )
    decision = write(letter, change, by=by, now=now, job=job)
    try:
        with transaction.atomic():
            run.save(force_insert=True)
            Requeue.objects.create(decision=decision, record_id=record_id, version=version, run=run)
    except IntegrityError:
        raise NotAllowed("its record was requeued by someone else just now") from None
    return decision


@transaction.atomic
def reject(claim: Claim, reason: str, *, note: str = "") -> Decision:
    """Nothing is delivered but the reason."""
    decision = reject_locked(held(claim), reason, by=claim.user, note=note)
    drop_draft(claim.letter_id, claim.user)
    return decision


def reject_locked(letter: DeadLetter, reason: str, *, by: User, note: str = "", job: BulkJob | None = None) -> Decision:
    """As ``reject``, for a letter that the caller has locked."""
    require_reason(reason, REJECT_REASONS, note)
    change = Change(Kind.REJECT, DeadLetterStatus.RESOLVED, reason=reason, note=note, resolution=Resolution.REJECTED)
    decision = write(letter, change, by=by, now=timezone.now(), job=job)
    record_id = Run.objects.values_list("record_id", flat=True).get(pk=letter.run_id)
    _deliver(decision, record_id, DeliveryKind.REJECTED, reason=reason, note=note)
    return decision


def require_reason(reason: str, reasons: Mapping[str, str], note: str) -> None:
    """Refuses what is no preset reason, and "other" without words."""
    if reason not in reasons:
        raise NotAllowed("choose one of the reasons")
    if reason == "other" and len(note.strip()) < SHORTEST_REASON:
        raise NotAllowed("say in words what the other reason is")


@transaction.atomic
def ask_submitter(claim: Claim, reason: str, *, note: str) -> Decision:
    """The submitter is asked for data; the letter waits for the answer outside the queue."""
    letter = held(claim)
    require_reason(reason, ASK_REASONS, note)
    if len(note.strip()) < SHORTEST_REASON:
        raise NotAllowed("say what the submitter should send")
    decision = write(letter, Change(Kind.ASK, DeadLetterStatus.ASKED, reason, note), by=claim.user, now=timezone.now())
    record_id = Run.objects.values_list("record_id", flat=True).get(pk=letter.run_id)
    _deliver(decision, record_id, DeliveryKind.ASKED, reason=reason, note=note)
    return decision


@transaction.atomic
def defer(claim: Claim, until: datetime, *, note: str = "") -> Decision:
    """Out of the queue until then; it comes back by itself."""
    return defer_locked(held(claim), until, by=claim.user, note=note)


def defer_locked(letter: DeadLetter, until: datetime, *, by: User, note: str = "", job: BulkJob | None = None) -> Decision:
    """As ``defer``, for a letter that the caller has locked."""
    now = timezone.now()
    if not now < until <= now + timedelta(days=366):
        raise NotAllowed("defer to a time ahead, within a year")
    details = {"until": until.isoformat()}
    change = Change(Kind.DEFER, DeadLetterStatus.DEFERRED, "", note, {"deferred_until": until}, details)
    return write(letter, change, by=by, now=now, job=job)


@transaction.atomic
def escalate(claim: Claim, *, note: str) -> Decision:
    """To the owners and managers of the envelope, with what is asked of them."""
    return escalate_locked(held(claim), by=claim.user, note=note)


def escalate_locked(letter: DeadLetter, *, by: User, note: str, job: BulkJob | None = None) -> Decision:
    """As ``escalate``, for a letter that the caller has locked."""
    if len(note.strip()) < SHORTEST_REASON:
        raise NotAllowed("say why it is escalated")
    change = Change(Kind.ESCALATE, DeadLetterStatus.ESCALATED, note=note)
    return write(letter, change, by=by, now=timezone.now(), job=job)


@transaction.atomic
def skip(claim: Claim, reason: str, *, note: str = "") -> Decision:
    """Not mine: back to the queue for everyone else."""
    letter = held(claim)
    require_reason(reason, SKIP_REASONS, note)
    now = timezone.now()
    Skip.objects.get_or_create(letter=letter, user=claim.user, defaults={"reason": reason, "at": now})
    change = Change(Kind.SKIP, DeadLetterStatus(letter.status), reason, note)
    return write(letter, change, by=claim.user, now=now)


@transaction.atomic
def return_to_queue(letter_id: int, *, by: User, why: str) -> Decision:
    """A deferred, asked, escalated or quarantined letter is open again: the answer came, or the waiting is over."""
    letter = DeadLetter.objects.select_for_update(of=("self",)).get(pk=letter_id)
    if letter.status in (DeadLetterStatus.OPEN, DeadLetterStatus.RESOLVED):
        raise NotAllowed(f"the letter is {letter.get_status_display().lower()}")
    if letter.is_held(timezone.now()) and letter.lease_owner_id != by.pk:
        raise NotAllowed("someone works on it now")
    if len(why.strip()) < SHORTEST_REASON:
        raise NotAllowed("a reason is needed")
    change = Change(Kind.RETURN, DeadLetterStatus.OPEN, note=why)
    return write(letter, change, by=by, now=timezone.now(), wait=timedelta(0))
