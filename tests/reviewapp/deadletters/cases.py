"""Dead letters for tests, made by running records against a model that says what it is told."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from controller.backends.scripted import Scripted
from controller.runner import Subject, Surroundings, drive, prepare
from controller.testing import EveryAlias
from reviewapp.accounts.models import Role, User
from reviewapp.batches.models import Batch
from reviewapp.deadletters.actions.leases import Claim, claim, claim_next
from reviewapp.deadletters.models import DeadLetter, Delivery, FailureGroup, QueuePolicy
from reviewapp.envelopes.models import Version
from reviewapp.runs import actions
from reviewapp.runs.models import Run
from reviewapp.runs.state import load
from reviewapp.runs.store import DatabaseStore
from tests.reviewapp.factories import approved, batch, person

DOCUMENT = "Shop One\nTotal 15.00\nQty 3\n"
WRONG_TOTAL = '{"total":"99.00","qty":3}'
WRONG_TYPE = '{"total":"15.00","qty":"three"}'
NO_JSON = "I cannot do that"
PATIENT = {"dead_letters": {"limit": 0.99, "h": 1000}, "silent": {"limit": 0.99, "h": 1000}, "ungraded": 100_000}
"""No breaker stops the batch: these tests want dead letters."""
RIGHT = {"total": "15.00", "qty": 3}


def run_all(made: Batch, reply: str | Mapping[str, str]) -> None:
    """Works every queued run of the batch; ``reply`` is what the model always says, or by record key."""
    for pk, fence in actions.claim("tests", 1000):
        run = Run.objects.select_related("record__payload", "version__envelope", "batch").get(pk=pk)
        assert run.batch_id == made.pk
        text = reply if isinstance(reply, str) else reply[run.record.key]
        _end(run, text)
        assert Run.objects.filter(pk=pk, fence=fence).exists()


def _end(run: Run, text: str) -> None:
    prepared = prepare(run.version.content, EveryAlias(Scripted(lambda _: text)))
    subject = Subject(run.record.key, run.record.payload.document, run.record.document_sha256)
    around = Surroundings(actions.now_ms, lambda _: None, random.Random(1).random)
    drive(prepared, subject, load(run.state), DatabaseStore(run), around)


def letters(
    count: int = 1,
    *,
    reply: str | Mapping[str, str] = WRONG_TOTAL,
    version: Version | None = None,
    name: str = "batch",
    document: str = DOCUMENT,
    **kwargs: Any,
) -> list[DeadLetter]:
    """``count`` open dead letters, oldest first, in one batch of ``version`` (the small envelope, approved)."""
    version = version or approved(breaker=PATIENT, **kwargs)
    documents = {f"{name}-{number:04}": document for number in range(count)}
    made = batch(version, documents, name=name)
    run_all(made, reply)
    return list(DeadLetter.objects.filter(batch=made).order_by("pk"))


def reviewer(name: str = "rae") -> User:
    return person(name, Role.REVIEWER)


def manager(name: str = "max") -> User:
    return person(name, Role.MANAGER)


def claimed(letter: DeadLetter, user: User) -> Claim:
    return Claim(letter.pk, user, claim(letter.pk, user).fence)


def next_for(user: User, **kwargs: Any) -> Claim | None:
    letter = claim_next(user, **kwargs)
    return None if letter is None else Claim(letter.pk, user, letter.fence)


def policy(version: Version, **values: Any) -> QueuePolicy:
    return QueuePolicy.objects.update_or_create(envelope=version.envelope, defaults=values)[0]


def windows_over() -> None:
    """As if the undo windows of everything so far had passed."""
    from reviewapp.deadletters.models import Decision

    now = timezone.now()
    Decision.objects.filter(effective_at__gt=now).update(effective_at=now)
    Delivery.objects.filter(effective_at__gt=now).update(effective_at=now)
    Run.objects.filter(not_before__gt=now).update(not_before=None)


def assert_counts_true() -> None:
    """Every group's numbers are those that counting its letters gives."""
    from reviewapp.deadletters.actions.counting import recount

    def numbers() -> list[Any]:
        groups = FailureGroup.objects.order_by("pk")
        rows = [
            (g.pk, g.n_open, g.n_deferred, g.n_asked, g.n_escalated, g.n_quarantined, g.n_resolved, g.oldest_waiting)
            for g in groups
        ]
        days = [
            (d.group_id, d.day, d.arrived, d.cleared) for g in groups for d in g.days.order_by("day") if d.arrived or d.cleared
        ]
        versions = [(v.group_id, v.version_id, v.arrived, v.cleared) for g in groups for v in g.versions.order_by("version_id")]
        return [rows, days, versions]

    kept = numbers()
    recount(FailureGroup.objects.values_list("pk", flat=True))
    assert kept == numbers()
