"""Making a dead letter, with its group and its search entry, in the transaction that ends the run."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction

from controller.fuse import Fuse
from controller.machine import Result
from controller.report import SIGNATURE_VERSION, CheckReport, signature_hash
from reviewapp.deadletters import search
from reviewapp.deadletters.actions import counting
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus, FailureGroup
from reviewapp.deadletters.rules import policy_of

if TYPE_CHECKING:
    from reviewapp.runs.models import Run

SAMPLES = 3
MOST_WORDS = 500


@transaction.atomic
def open_dead_letter(run: Run, *, fuse: Fuse | None, result: Result, report: CheckReport | None, now: datetime) -> DeadLetter:
    """The letter of a run that has just ended without an accepted value. ``report`` is that of its best attempt, if any.

    A record that has been requeued as often as the policy allows is quarantined at once: another requeue is no answer to it.
    """
    shape = report.shape() if report is not None else ()
    failures = report.failures if report is not None else ()
    signature = signature_hash(shape, f"{result.final_class}/{result.reason}")
    policy = policy_of(run.version.envelope_id)
    letter = DeadLetter(
        run_id=run.pk,
        envelope_id=run.version.envelope_id,
        version_id=run.version_id,
        batch_id=run.batch_id,
        status=DeadLetterStatus.QUARANTINED if run.replay and run.replay >= policy.replays else DeadLetterStatus.OPEN,
        fuse=fuse.value if fuse else result.reason,
        final_class=result.final_class,
        signature=signature,
        failing=_cut(", ".join(sorted({f"{f.check} {f.pointer}".strip() for f in failures}))),
        request=json.dumps(result.request) if result.request else "",
        replay=run.replay,
        created_at=now,
        waiting_since=now,
        due_at=now + timedelta(hours=policy.due_hours),
    )
    title = _cut(", ".join(f"{check} {place}".strip() for check, place in shape))
    letter.group_id = _group(letter, title)
    letter.save(force_insert=True)
    counting.arrived(letter.group_id, letter)
    _remember_sample(letter)
    record = run.record
    search.index(letter.pk, record.key, letter.failing, record.payload.document)
    return letter


def _cut(text: str) -> str:
    return text[: MOST_WORDS - 3] + "…" if len(text) > MOST_WORDS - 2 else text


def _group(letter: DeadLetter, title: str) -> int:
    """The group of the signature, made where there is none; the one that it was merged into, if it was."""
    keys = {
        "envelope_id": letter.envelope_id,
        "signature": letter.signature,
        "signature_version": SIGNATURE_VERSION,
    }
    found = _find(keys)
    if found is None:
        about = {
            "title": title,
            "fuse": letter.fuse,
            "final_class": letter.final_class,
            "directive": _told_in_vain(letter.run_id),
            "first_seen": letter.created_at,
            "last_seen": letter.created_at,
        }
        FailureGroup.objects.get_or_create(**keys, defaults=about)
        found = _find(keys)
        assert found is not None
    return found


def _find(keys: dict[str, object]) -> int | None:
    # Locked, so that a merge and a new letter cannot miss each other.
    row = FailureGroup.objects.select_for_update().filter(**keys).values_list("pk", "merged_into_id").first()
    return None if row is None else row[1] or row[0]


def _remember_sample(letter: DeadLetter) -> None:
    assert letter.group_id is not None
    group = FailureGroup.objects.only("samples").get(pk=letter.group_id)
    if len(group.samples) < SAMPLES:
        group.samples = [*group.samples, letter.pk]
        group.save(update_fields=["samples"])


def _told_in_vain(run_id: int) -> str:
    """The directives of the run's last attempt: they were followed by this failure all the same."""
    from reviewapp.runs.models import AttemptPayload

    last = AttemptPayload.objects.filter(attempt__run_id=run_id).exclude(attempt__kind="judge").order_by("-attempt__number")
    return "\n".join(json.loads(last.values_list("directives", flat=True).first() or "[]"))
