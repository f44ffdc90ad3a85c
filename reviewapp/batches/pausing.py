"""Stopping a batch and letting it go on. A rule or a person stops it; only named persons let it go on, each with a reason."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from controller import breaker as decisions
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches import breaker, notices
from reviewapp.batches.models import Batch, BatchStatus, Pause
from reviewapp.batches.rules import rules_of


class NotAllowed(Exception):
    """The act breaks a rule; the message says which."""


@transaction.atomic
def pause_batch(batch: Batch, *, by: User | None, why: str, found: decisions.Pause | None = None) -> Batch:
    """No further attempt starts in the batch; calls in flight come to their end. ``found`` is the rule's own verdict."""
    batch = _locked(batch)
    if batch.status != BatchStatus.OPEN:
        raise NotAllowed(f"the batch is {batch.get_status_display().lower()}, not open")
    _need(why)
    batch.status, batch.paused_at, batch.paused_why = BatchStatus.PAUSED, timezone.now(), why[:500]
    batch.save(update_fields=["status", "paused_at", "paused_why"])
    pause = Pause.objects.create(
        batch=batch,
        rule=found.rule.value if found else "",
        observed=found.observed if found else None,
        limit=found.limit if found else None,
        why=why[:500],
        by=by,
        at=batch.paused_at,
    )
    after = {"status": "paused"}
    if found is not None:
        after |= {"rule": found.rule.value, "observed": str(found.observed), "limit": str(found.limit)}
    append("batch paused", "batch", batch.pk, by=by, before={"status": "open"}, after=after, reason=why)
    if by is None:
        notices.tell(pause)
    return batch


def pause_by_rule(batch: Batch, found: decisions.Pause | None) -> bool:
    """Carries a rule's verdict out, where there is one and the batch is not stopped already. True where it stopped now."""
    if found is None:
        return False
    try:
        pause_batch(batch, by=None, why=found.text, found=found)
    except NotAllowed:
        return False
    return True


@transaction.atomic
def resume_batch(batch: Batch, *, by: User, why: str) -> Batch:
    """A named person lets the batch go on; what had tripped starts at half its limit.

    Where the envelope wants a second person and a rule had stopped the batch, the first call only asks: the batch stays paused
    until somebody else calls.
    """
    from reviewapp.samples.queries import waiting_in

    _need(why)
    rules = rules_of(batch.version)
    for rule in decisions.Rule:
        breaker.locked(batch.pk, rule)
    batch = _locked(batch)
    if batch.status != BatchStatus.PAUSED:
        raise NotAllowed(f"the batch is {batch.get_status_display().lower()}, not paused")
    now = timezone.now()
    pause = Pause.objects.filter(batch=batch, resumed_at=None).first()
    if rules.second_person and pause is not None and pause.rule:
        if pause.asked_by_id == by.pk:
            raise NotAllowed("you have asked already: another person has to confirm it")
        if pause.asked_by_id is None:
            pause.asked_by, pause.asked_why, pause.asked_at = by, why[:500], now
            pause.save(update_fields=["asked_by", "asked_why", "asked_at"])
            append("batch resume asked for", "batch", batch.pk, by=by, reason=why)
            return batch
    before = {"status": "paused", "paused_why": batch.paused_why}
    batch.status, batch.paused_at, batch.paused_why = BatchStatus.OPEN, None, ""
    batch.save(update_fields=["status", "paused_at", "paused_why"])
    if pause is not None:
        pause.resumed_by, pause.resumed_why, pause.resumed_at = by, why[:500], now
        pause.save(update_fields=["resumed_by", "resumed_why", "resumed_at"])
    breaker.resume(batch, now, waiting=waiting_in(batch.pk))
    append("batch resumed", "batch", batch.pk, by=by, before=before, after={"status": "open"}, reason=why)
    return batch


def _locked(batch: Batch) -> Batch:
    # Without the key: rows that point at the batch may be written meanwhile, only its own columns may not.
    return Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("version__envelope").get(pk=batch.pk)


def _need(why: str) -> None:
    if not why.strip():
        raise NotAllowed("a reason is needed")
