"""Taking decisions back: within the window before anything has left the system, afterwards by compensation."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from controller.machine import RunStatus
from reviewapp.accounts.models import User
from reviewapp.deadletters.actions.deciding import SHORTEST_REASON, Change, write
from reviewapp.deadletters.models import (
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
from reviewapp.deadletters.rules import NotAllowed, may_steer
from reviewapp.runs.models import Run


@transaction.atomic
def undo(decision_id: int, *, by: User) -> Decision:
    """Takes back the letter's last decision as if it had not been made; what it held back never leaves.

    Only the one who decided, or an owner or manager, and only while nothing else happened to the letter.
    """
    found = Decision.objects.get(pk=decision_id)
    letter = DeadLetter.objects.select_for_update(of=("self",)).get(pk=found.letter_id)
    if found.by_id != by.pk and not may_steer(by, letter.envelope_id):
        raise NotAllowed("only the person who decided, or an owner or manager, takes it back")
    return undo_locked(letter, found, by=by)


def undo_locked(letter: DeadLetter, decision: Decision, *, by: User, in_bulk: bool = False) -> Decision:
    """As ``undo``, for a letter that the caller has locked; the caller has checked who asks."""
    now = timezone.now()
    decision.refresh_from_db()
    if decision.undone_at is not None:
        raise NotAllowed("it was undone already")
    if not decision.can_be_undone(now):
        raise NotAllowed("its effects have left: reopen the letter instead")
    if letter.fence != decision.fence_after:
        raise NotAllowed("something else has happened to the letter since")
    _take_back(decision, now)
    if decision.kind == Kind.SKIP:
        Skip.objects.filter(letter=letter, user_id=decision.by_id or 0).delete()
    Decision.objects.filter(pk=decision.pk).update(undone_at=now)
    back = Change(Kind.UNDO, DeadLetterStatus(decision.before), details={"undone": decision.kind})
    if decision.before == DeadLetterStatus.DEFERRED:
        # A letter that was decided straight out of its deferral is simply open again.
        back.after = DeadLetterStatus.OPEN
    return write(letter, back, by=by, now=now, wait=timedelta(0), job=decision.job if in_bulk else None)


def _take_back(decision: Decision, now: datetime) -> None:
    Delivery.objects.filter(decision=decision, cancelled_at=None).update(cancelled_at=now)
    requeue = Requeue.objects.filter(decision=decision, undone=False).first()
    if requeue is None:
        return
    run = Run.objects.select_for_update().filter(pk=requeue.run_id or 0).first()
    if run is not None and (run.fence or run.started_at is not None):
        raise NotAllowed("its new run has started")
    Requeue.objects.filter(pk=requeue.pk).update(undone=True, run=None)
    if run is not None:
        Run.objects.filter(pk=run.pk, fence=0, started_at=None).delete()


@transaction.atomic
def reopen(letter_id: int, *, by: User, why: str) -> Decision:
    """Makes a resolved letter wait again, whenever that was. What was delivered for it is withdrawn by a new delivery."""
    if len(why.strip()) < SHORTEST_REASON:
        raise NotAllowed("a reason is needed")
    letter = DeadLetter.objects.select_for_update(of=("self",)).get(pk=letter_id)
    return reopen_locked(letter, by=by, why=why)


def reopen_locked(letter: DeadLetter, *, by: User, why: str) -> Decision:
    """As ``reopen``, for a letter that the caller has locked."""
    if not letter.is_resolved:
        raise NotAllowed("the letter is not resolved")
    last = _resolving(letter)
    now = timezone.now()
    if last.effective_at > now:
        raise NotAllowed("nothing has left yet: undo the decision instead")
    if letter.resolution == Resolution.REQUEUED:
        _refuse_unless_accepted(last)
    record_id = Run.objects.values_list("record_id", flat=True).get(pk=letter.run_id)
    change = Change(Kind.REOPEN, DeadLetterStatus.OPEN, note=why, details={"was": letter.resolution})
    decision = write(letter, change, by=by, now=now, wait=timedelta(0))
    Delivery.objects.create(
        decision=decision,
        record_id=record_id,
        kind=DeliveryKind.WITHDRAWN,
        note=why,
        created_at=now,
        effective_at=now,
    )
    return decision


def _resolving(letter: DeadLetter) -> Decision:
    """The decision that stands."""
    rows = Decision.objects.filter(letter=letter, after=DeadLetterStatus.RESOLVED, undone_at=None)
    return rows.order_by("-pk")[0]


def _refuse_unless_accepted(decision: Decision) -> None:
    run = Requeue.objects.select_related("run").get(decision=decision).run
    if run is not None and not run.has_ended:
        raise NotAllowed("its new run has not ended yet")
    if run is not None and run.status == RunStatus.DEAD_LETTERED:
        raise NotAllowed("its new run is a dead letter itself: work on that one")
