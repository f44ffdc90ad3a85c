"""A large queue for measuring, written in bulk SQL: past the actions, so its numbers are counted once at the end.

The rows have the shape of real ones: one seeded batch, records, runs and outcomes, one attempt per dead letter, letters spread
over groups with a long tail. Documents are short; what is measured is the queue, not the disk.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from controller import machine
from controller.machine import RunStatus
from reviewapp.batches.models import Batch, BatchStatus, Record, RecordPayload
from reviewapp.deadletters import search
from reviewapp.deadletters.actions.counting import recount
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus, FailureGroup
from reviewapp.envelopes.models import Version
from reviewapp.runs.models import Attempt, AttemptPayload, Outcome, Run
from reviewapp.runs.state import dump

CHUNK = 5_000
GROUPS = 40
DOCUMENT = "Shop {n}\nTea {n}.50\nTotal {n}.50\n"
REPORT = json.dumps(
    {
        "parsed": True,
        "extracted": False,
        "value_text": '{"total":"1"}',
        "findings": [
            {"check": "total-printed", "group": "grounding", "class": "business", "pointer": "/total", "passed": False}
            | {"expected": "a number that is printed", "match": "", "spans": []}
        ],
    }
)
PROMPT = json.dumps([{"name": "task", "role": "user", "text": "Return one JSON object.", "tokens": 24, "cap": 120}])


def seed(version: Version, *, runs: int, open_letters: int, name: str = "seeded") -> Batch:
    """A paused batch of ``runs`` ended runs, the last ``open_letters`` of them open dead letters, the others accepted."""
    batch = Batch.objects.create(version=version, name=name, status=BatchStatus.PAUSED, paused_why="seeded for measuring")
    groups = _groups(version)
    state = dump(machine.start(version.content))
    start = timezone.now() - timedelta(days=13)
    for first in range(0, runs, CHUNK):
        _chunk(batch, groups, state, start, first, min(first + CHUNK, runs), runs - open_letters)
    recount([group.pk for group in groups])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return batch


def _groups(version: Version) -> list[FailureGroup]:
    now = timezone.now()
    return [
        FailureGroup.objects.get_or_create(
            envelope_id=version.envelope_id,
            signature=hashlib.sha256(f"seeded {number}".encode()).hexdigest()[:32],
            defaults={
                "title": f"total-printed /items/*/price-{number}",
                "fuse": "same_signature",
                "final_class": "business",
                "first_seen": now,
                "last_seen": now,
            },
        )[0]
        for number in range(GROUPS)
    ]


@transaction.atomic
def _chunk(batch: Batch, groups: list[FailureGroup], state: str, start: datetime, first: int, end: int, accepted: int) -> None:
    documents = [DOCUMENT.format(n=number) for number in range(first, end)]
    records = Record.objects.bulk_create(
        [
            Record(
                batch=batch,
                key=f"seeded-{number:08}",
                document_sha256=hashlib.sha256(text.encode()).hexdigest(),
                document_bytes=len(text),
            )
            for number, text in enumerate(documents, first)
        ]
    )
    RecordPayload.objects.bulk_create(
        [RecordPayload(record=record, document=text) for record, text in zip(records, documents, strict=True)]
    )
    moments = [start + timedelta(seconds=number) for number in range(first, end)]
    is_dead = [number >= accepted for number in range(first, end)]
    runs = Run.objects.bulk_create(
        [
            Run(
                record=record,
                batch=batch,
                version_id=batch.version_id,
                status=(RunStatus.DEAD_LETTERED if dead else RunStatus.ACCEPTED).value,
                state=state,
                attempts=1,
                calls=1,
                accepted_on=None if dead else 1,
                fuse="same_signature" if dead else "",
                final_class="business" if dead else "",
                started_at=moment,
                ended_at=moment,
            )
            for record, moment, dead in zip(records, moments, is_dead, strict=True)
        ]
    )
    Outcome.objects.bulk_create(
        [
            Outcome(run=run, kind=run.status, result="{}", value='{"total":"1"}', created_at=moment)
            for run, moment in zip(runs, moments, strict=True)
        ]
    )
    dead_runs = [(run, moment) for run, moment, dead in zip(runs, moments, is_dead, strict=True) if dead]
    _attempts(dead_runs)
    _letters(batch, groups, dead_runs)


def _attempts(runs: list[tuple[Run, datetime]]) -> None:
    attempts = Attempt.objects.bulk_create(
        [
            Attempt(
                run=run,
                number=1,
                kind="generation",
                plan="seeded",
                alias="default",
                status="replied",
                fence=1,
                request_sha256="0" * 64,
                prompt_tokens_counted=100,
                started_at=moment,
                ended_at=moment,
            )
            for run, moment in runs
        ]
    )
    AttemptPayload.objects.bulk_create(
        [AttemptPayload(attempt=a, prompt=PROMPT, reply='"{\\"total\\":\\"1\\"}"', report=REPORT) for a in attempts]
    )


def _letters(batch: Batch, groups: list[FailureGroup], runs: list[tuple[Run, datetime]]) -> None:
    before = DeadLetter.objects.aggregate(last=Max("pk"))["last"] or 0
    DeadLetter.objects.bulk_create(
        [
            DeadLetter(
                run=run,
                envelope_id=batch.version.envelope_id,
                version_id=batch.version_id,
                batch=batch,
                group=(group := groups[_tail(run.pk)]),
                status=DeadLetterStatus.OPEN,
                fuse="same_signature",
                final_class="business",
                signature=group.signature,
                failing=f"{group.title} of {run.record.key}",
                created_at=moment,
                waiting_since=moment,
                due_at=moment + timedelta(hours=24),
            )
            for run, moment in runs
        ]
    )
    made = DeadLetter.objects.filter(pk__gt=before, batch=batch).select_related("run__record__payload").order_by("pk")
    search.index_many((row.pk, (row.run.record.key, row.failing, row.run.record.payload.document)) for row in made)


def _tail(number: int) -> int:
    """Half of all in the first group, a quarter in the second, and so on: failures come in a few kinds."""
    spread = (number * 2_654_435_761) % 2**32
    return min(GROUPS - 1, 32 - spread.bit_length()) if spread else GROUPS - 1
