"""One decision over many letters: looked at, confirmed by its exact number, frozen, carried out, undone on demand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from reviewapp.access import limit
from reviewapp.accounts.models import Role, User
from reviewapp.audit.actions import append
from reviewapp.batches.models import BatchStatus
from reviewapp.deadletters.actions import deciding, undoing
from reviewapp.deadletters.actions.leases import free
from reviewapp.deadletters.forms import LetterFilter
from reviewapp.deadletters.models import (
    BulkItem,
    BulkJob,
    DeadLetter,
    DeadLetterStatus,
    Decision,
    ItemStatus,
    JobStatus,
    Requeue,
)
from reviewapp.deadletters.queries import for_lists, letters_for
from reviewapp.deadletters.rules import SENIOR_STATES, NotAllowed, may_steer, policy_of
from reviewapp.envelopes.models import Status, Version

CHUNK = 50
"""Letters per transaction: what a killed worker may have to do again."""
LEASE = timedelta(seconds=30)
SAMPLE = 5


class Act(StrEnum):
    REQUEUE = "requeue"
    REJECT = "reject"
    DEFER = "defer"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bulk act would do: ``count`` letters, and what it leaves out of ``named`` ones, with the reasons in words."""

    named: int
    count: int
    exclusions: tuple[tuple[str, int], ...]
    sample: tuple[DeadLetter, ...]


def plan(user: User, chosen: LetterFilter, act: Act, params: dict[str, Any]) -> Plan:
    """Evaluates the very filter of the list, and names everything that the act would not touch. Writes nothing."""
    _check(act, params)
    left = letters_for(user, chosen)
    named = count = left.count()
    exclusions = []
    for words, narrowed in _narrowed(left, user, act, params):
        left, now = narrowed, narrowed.count()
        if now < count:
            exclusions.append((words, count - now))
        count = now
    return Plan(named, count, tuple(exclusions), tuple(for_lists(left).order_by("pk")[:SAMPLE]))


def _narrowed(left: QuerySet[DeadLetter], user: User, act: Act, params: dict[str, Any]) -> Any:
    """The steps from all named letters to those that the act can touch."""
    left = left.exclude(status=DeadLetterStatus.RESOLVED)
    yield "resolved already", left
    left = left.exclude(status__in=SENIOR_STATES)
    yield "escalated or quarantined: decided one by one", left
    left = limit(left, user, "envelope", Role.REVIEWER)
    yield "in envelopes where you are no reviewer", left
    now = timezone.now()
    left = free(left, now) | left.filter(lease_owner=user)
    yield "held by someone who works on it now", left
    if act is Act.REQUEUE:
        version = _version(params)
        left = left.filter(envelope_id=version.envelope_id)
        yield f"of another envelope than {version}", left
        left = left.filter(version__number__lte=version.number)
        yield f"made under a newer version than {version}", left
        left = left.filter(replay__lt=policy_of(version.envelope_id).replays)
        yield "requeued as often as the policy allows", left
        left = left.exclude(batch__status=BatchStatus.CLOSED)
        yield "in closed batches", left
        before = Requeue.objects.filter(record_id=OuterRef("run__record_id"), version=version, undone=False)
        left = left.filter(~Exists(before))
        yield f"requeued under {version} before", left


def _targets(user: User, chosen: LetterFilter, act: Act, params: dict[str, Any]) -> QuerySet[DeadLetter]:
    left = letters_for(user, chosen)
    for _, narrowed in _narrowed(left, user, act, params):
        left = narrowed
    return left


def _version(params: dict[str, Any]) -> Version:
    return Version.objects.select_related("envelope").get(pk=params["version"])


def _check(act: Act, params: dict[str, Any]) -> None:
    if act is Act.REQUEUE:
        if not Version.objects.filter(pk=params.get("version") or 0, status=Status.APPROVED).exists():
            raise NotAllowed("choose an approved version")
    elif act is Act.REJECT:
        deciding.require_reason(params.get("reason", ""), deciding.REJECT_REASONS, params.get("note", ""))
    elif act is Act.ESCALATE and len(params.get("note", "").strip()) < deciding.SHORTEST_REASON:
        raise NotAllowed("say why they are escalated")
    elif act is Act.DEFER and datetime.fromisoformat(params["until"]) <= timezone.now():
        raise NotAllowed("defer to a time ahead")


@transaction.atomic
def start(user: User, chosen: LetterFilter, act: Act, params: dict[str, Any], *, typed: int) -> BulkJob:
    """Freezes exactly the ``typed`` letters that were shown and queues the job; refuses where their number has changed."""
    _check(act, params)
    targets = _targets(user, chosen, act, params).order_by("pk").values("id")
    job = BulkJob.objects.create(
        kind=act.value,
        params=params,
        filter=chosen.query,
        scope=chosen.scope,
        created_by=user,
        created_at=timezone.now(),
    )
    total = _freeze(job, targets)
    if total == 0:
        raise NotAllowed("there is no letter that this could be done to")
    if total != typed:
        raise NotAllowed(f"it would be {total:,} letters now, and you confirmed {typed:,}: look again")
    BulkJob.objects.filter(pk=job.pk).update(total=total)
    job.total = total
    about = {"act": act.value, "letters": total, "filter": chosen.query, **params}
    append("bulk job started", "bulk job", job.pk, by=user, after=about, reason=params.get("note", ""))
    return job


def _freeze(job: BulkJob, targets: QuerySet[Any]) -> int:
    """One statement, whatever the number: the ids never pass through this process."""
    sql, values = targets.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO deadletters_bulkitem (job_id, letter_id, status, detail) "  # noqa: S608
            f"SELECT %s, chosen.id, %s, %s FROM ({sql}) AS chosen",
            [job.pk, ItemStatus.WAITING.value, "", *values],
        )
        return int(cursor.rowcount)


def take_job(worker: str) -> tuple[int, int] | None:
    """A job to work on, as (id, fence), the oldest first; ``None`` where no job needs a worker."""
    now = timezone.now()
    ready = BulkJob.objects.filter(status__in=[JobStatus.RUNNING, JobStatus.UNDOING])
    ready = ready.filter(Q(lease_until=None) | Q(lease_until__lt=now) | Q(lease_owner=worker))
    row = ready.order_by("pk").values_list("pk", "fence").first()
    if row is None:
        return None
    pk, fence = row
    taken = BulkJob.objects.filter(pk=pk, fence=fence).update(lease_owner=worker, lease_until=now + LEASE, fence=fence + 1)
    return (pk, fence + 1) if taken else None


@transaction.atomic
def work_chunk(job_id: int, fence: int) -> int:
    """Carries out the next letters of the job; how many. 0 where the job is finished, stopped, or another worker has it.

    Decision and item row are written together: a worker killed at any moment leaves each letter done and listed, or neither.
    """
    job = BulkJob.objects.select_for_update(of=("self",)).select_related("created_by").get(pk=job_id)
    if job.fence != fence or job.status not in (JobStatus.RUNNING, JobStatus.UNDOING):
        return 0
    undoing_now = job.status == JobStatus.UNDOING
    open_status = ItemStatus.DONE if undoing_now else ItemStatus.WAITING
    items = list(job.items.filter(status=open_status).order_by("pk")[:CHUNK])
    tally = dict.fromkeys(ItemStatus.values, 0)
    for item in items:
        item.status, item.detail = (_undone if undoing_now else _done)(job, item)
        tally[item.status] += 1
    BulkItem.objects.bulk_update(items, ["status", "detail"])
    if undoing_now:
        job.n_undone += tally[ItemStatus.UNDONE]
        job.n_kept += tally[ItemStatus.KEPT]
    else:
        job.n_done += tally[ItemStatus.DONE]
        job.n_refused += tally[ItemStatus.REFUSED]
    job.lease_until = timezone.now() + LEASE
    if len(items) < CHUNK:
        _finish(job, JobStatus.UNDONE if undoing_now else JobStatus.DONE)
    job.save()
    return len(items)


def _finish(job: BulkJob, status: JobStatus) -> None:
    job.status, job.finished_at = status, timezone.now()
    job.lease_owner, job.lease_until = "", None
    counts = {"done": job.n_done, "refused": job.n_refused, "undone": job.n_undone, "kept": job.n_kept}
    append(f"bulk job {status.value}", "bulk job", job.pk, by=None, after=counts)


def _done(job: BulkJob, item: BulkItem) -> tuple[str, str]:
    try:
        with transaction.atomic():
            _carry_out(job, _still_mine(job, item.letter_id))
    except NotAllowed as rule:
        return ItemStatus.REFUSED.value, str(rule)[:200]
    return ItemStatus.DONE.value, ""


def _still_mine(job: BulkJob, letter_id: int) -> DeadLetter:
    """The letter, locked, if nothing has happened to it since that speaks against the act."""
    rows = DeadLetter.objects.select_for_update(of=("self",)).select_related("version__envelope", "lease_owner")
    letter = rows.get(pk=letter_id)
    if letter.is_resolved:
        raise NotAllowed("resolved by someone meanwhile")
    if letter.status in SENIOR_STATES:
        raise NotAllowed(f"{letter.get_status_display().lower()} meanwhile")
    if letter.is_held(timezone.now()) and letter.lease_owner_id != job.created_by_id:
        raise NotAllowed(f"{letter.lease_owner} works on it")
    return letter


def _carry_out(job: BulkJob, letter: DeadLetter) -> Decision:
    by, params = job.created_by, job.params
    about: dict[str, Any] = {"by": by, "job": job}
    note = params.get("note", "")
    if job.kind == Act.REQUEUE:
        return deciding.requeue_locked(letter, _version(params), note=note, **about)
    if job.kind == Act.REJECT:
        return deciding.reject_locked(letter, params["reason"], note=note, **about)
    if job.kind == Act.DEFER:
        return deciding.defer_locked(letter, datetime.fromisoformat(params["until"]), note=note, **about)
    return deciding.escalate_locked(letter, note=note, **about)


def _undone(job: BulkJob, item: BulkItem) -> tuple[str, str]:
    letter = DeadLetter.objects.select_for_update(of=("self",)).get(pk=item.letter_id)
    decision = Decision.objects.filter(letter=letter, job=job).order_by("-pk")[0]
    try:
        with transaction.atomic():
            if decision.effective_at > timezone.now():
                undoing.undo_locked(letter, decision, by=job.created_by, in_bulk=True)
            else:
                undoing.reopen_locked(letter, by=job.created_by, why=f"bulk job {job.pk} was undone")
    except NotAllowed as rule:
        return ItemStatus.KEPT.value, str(rule)[:200]
    return ItemStatus.UNDONE.value, ""


_STEPS = {
    "pause": ((JobStatus.RUNNING,), JobStatus.PAUSED),
    "resume": ((JobStatus.PAUSED,), JobStatus.RUNNING),
    "cancel": ((JobStatus.RUNNING, JobStatus.PAUSED), JobStatus.CANCELLED),
    "undo": ((JobStatus.DONE, JobStatus.CANCELLED, JobStatus.PAUSED), JobStatus.UNDOING),
}


@transaction.atomic
def steer_job(job_id: int, step: str, *, by: User) -> BulkJob:
    """Pauses, resumes, cancels or undoes a job: the one who started it, or an owner or manager of the letters' envelopes."""
    job = BulkJob.objects.select_for_update(of=("self",)).select_related("created_by").get(pk=job_id)
    if job.created_by_id != by.pk and not all(may_steer(by, pk) for pk in envelopes_of(job)):
        raise NotAllowed("only the person who started the job, or an owner or manager there, steers it")
    allowed, after = _STEPS[step]
    if job.status not in allowed:
        raise NotAllowed(f"the job is {job.get_status_display().lower()}")
    before, job.status = job.status, after
    job.finished_at = timezone.now() if after is JobStatus.CANCELLED else None
    job.fence, job.lease_owner, job.lease_until = job.fence + 1, "", None
    job.save()
    append(f"bulk job {step}", "bulk job", job.pk, by=by, before={"status": before}, after={"status": after.value})
    return job


def envelopes_of(job: BulkJob) -> list[int]:
    """The envelopes whose letters the job touches."""
    return list(
        DeadLetter.objects.filter(pk__in=job.items.values("letter")).order_by().values_list("envelope_id", flat=True).distinct()
    )
