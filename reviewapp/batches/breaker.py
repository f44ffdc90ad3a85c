"""The breaker's counters as rows: every step is stored, the counter is the fold over them, and survives any restart.

Lock order in every transaction here: the breaker's rows by rule, then the batch, then the audit log.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from controller.breaker import OLDEST_LIMIT_HOURS, Counter, Pause, Rule, blind, over_limit
from reviewapp import statements
from reviewapp.batches.models import Batch, Breaker, BreakerStep
from reviewapp.batches.rules import Rules, rules_of

COUNTED = (Rule.DEAD_LETTERS, Rule.SILENT_FAILURES)


def locked(batch_id: int, rule: Rule) -> Breaker:
    """The rule's row in this batch, held by this transaction until its end."""
    found = _row(batch_id, rule, lock=True)
    if found is None:
        try:
            with transaction.atomic():
                Breaker.objects.create(batch_id=batch_id, rule=rule.value)
        except IntegrityError:
            pass  # another transaction was quicker
        found = _row(batch_id, rule, lock=True)
    assert found is not None, "made here or by another, and never deleted"
    return found


def _row(batch_id: int, rule: Rule, *, lock: bool = False) -> Breaker | None:
    return statements.instance(Breaker, {"batch_id": batch_id, "rule": rule.value}, lock=lock)


def count(batch: Batch, rule: Rule, *, run_id: int, is_bad: bool, kind: str, now: datetime) -> Pause | None:
    """One more finished run, or one more grade of the base sample. A pause where the counter is at its limit now."""
    row = locked(batch.pk, rule)
    fresh = rules_of(batch.version).counters[rule]
    before = at(fresh, row)
    after = before.step(is_bad)
    _write(row, kind, after.excess, run_id=run_id, is_bad=is_bad, now=now)
    return over_limit(after, rule)


def at(fresh: Counter, row: Breaker) -> Counter:
    """The counter in its stored state."""
    return Counter(fresh.limit_pct, fresh.h, row.excess)


def _write(row: Breaker, kind: str, excess: int, *, run_id: int | None, is_bad: bool, now: datetime) -> None:
    row.steps, row.excess = row.steps + 1, excess
    statements.update(Breaker, {"id": row.pk}, steps=row.steps, excess=row.excess, resumed_at=row.resumed_at)
    statements.insert(
        BreakerStep,
        batch_id=row.batch_id,
        rule=row.rule,
        number=row.steps,
        kind=kind,
        run_id=run_id,
        is_bad=is_bad,
        excess=excess,
        at=now,
    )


def take_back(batch: Batch, rule: Rule, *, run_id: int) -> None:
    """A grade was undone: its step no longer counts, and the counter is folded anew without it. Nothing resumes by itself."""
    row = locked(batch.pk, rule)
    mine = BreakerStep.objects.filter(batch=batch, rule=rule.value)
    if not mine.filter(run_id=run_id, undone=False).update(undone=True):
        return
    row.excess = folded(rules_of(batch.version).counters[rule], mine).excess
    row.save(update_fields=["excess"])


def folded(fresh: Counter, steps: object) -> Counter:
    """The counter after the steps in order: what its row must say."""
    counter = fresh
    rows = steps.filter(undone=False).order_by("number").values_list("kind", "is_bad")  # type: ignore[attr-defined]
    for kind, is_bad in rows:
        counter = counter.resumed() if kind == "resumed" else counter.step(is_bad)
    return counter


def resume(batch: Batch, now: datetime, *, waiting: int) -> None:
    """After a pause was lifted: what had tripped starts at half, and half as many outputs again may wait for a grade."""
    rules = rules_of(batch.version)
    for rule in COUNTED:
        row = locked(batch.pk, rule)
        counter = at(rules.counters[rule], row)
        if counter.tripped:
            row.resumed_at = now
            _write(row, "resumed", counter.resumed().excess, run_id=None, is_bad=False, now=now)
    row = locked(batch.pk, Rule.BLIND)
    row.resumed_at, row.excess = now, max(0, waiting - rules.ungraded // 2)
    row.save(update_fields=["resumed_at", "excess"])


def blindness(batch: Batch, now: datetime, *, waiting: int, oldest: datetime | None) -> Pause | None:
    """A pause where too many sampled outputs wait for a grade, or one waits too long; counted from the last resume."""
    rules: Rules = rules_of(batch.version)
    row = _row(batch.pk, Rule.BLIND)
    forgiven = row.excess if row is not None else 0
    since = max((at for at in (oldest, row.resumed_at if row else None) if at is not None), default=None)
    hours = None if oldest is None or since is None else (now - since) / timedelta(hours=1)
    return blind(waiting, hours, waiting_limit=rules.ungraded + forgiven, oldest_limit_hours=OLDEST_LIMIT_HOURS)
