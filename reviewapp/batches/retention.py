"""Purging payloads by age: documents, prompts, replies and values go, hashes, outcomes, counts and statistics stay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches.models import Record, RecordPayload
from reviewapp.deadletters import search
from reviewapp.deadletters.models import Correction, DeadLetter, DeadLetterStatus, Delivery, Draft, SearchEntry
from reviewapp.envelopes.models import ShadowResult
from reviewapp.runs.models import LIVE, AttemptPayload, Outcome, Run
from reviewapp.samples.models import CorrectionRequest, GoldItem, Sample, SampleStatus

CHUNK = 200


@dataclass
class Purge:
    """``purged`` records lost their payloads; ``kept`` are old enough but still needed by a person, or not ended."""

    purged: int = 0
    kept: int = 0


def due(before: datetime) -> QuerySet[Record]:
    """Records whose payload is still there, submitted before ``before`` and without any run that ended later."""
    later = Run.objects.filter(record=OuterRef("pk")).filter(Q(ended_at__gte=before))
    return Record.objects.filter(created_at__lt=before).exclude(payload__document="").exclude(Exists(later)).order_by("pk")


def still_needed() -> Q:
    """What a person or a worker has not finished: live runs, dead letters that are not resolved, samples without a grade."""
    runs = Run.objects.filter(record=OuterRef("pk"))
    letters = DeadLetter.objects.filter(run__record=OuterRef("pk")).exclude(status=DeadLetterStatus.RESOLVED)
    samples = Sample.objects.filter(run__record=OuterRef("pk")).exclude(status=SampleStatus.SETTLED)
    gold = GoldItem.objects.filter(run__record=OuterRef("pk"))
    return Q(Exists(runs.filter(status__in=LIVE))) | Q(Exists(letters)) | Q(Exists(samples)) | Q(Exists(gold))


def purge_payloads(before: datetime, *, by: User | None, dry_run: bool = False) -> Purge:
    """Empties the payloads of every record that is due and not needed, in chunks; safe to stop and to run again.

    Grades keep their marks: they are the evidence of every rate that was shown. One audit entry says how many were purged.
    """
    result = Purge(kept=due(before).filter(still_needed()).count())
    free = due(before).exclude(still_needed())
    if dry_run:
        result.purged = free.count()
        return result
    for ids in _chunks(free):
        _purge(ids)
        result.purged += len(ids)
    if result.purged:
        search.forget_deleted()
        counts = {"purged": result.purged, "kept": result.kept}
        append("payloads purged", "record", before.date().isoformat(), by=by, after=counts)
    return result


def _chunks(records: QuerySet[Record]) -> Iterator[list[int]]:
    after = 0
    while ids := list(records.filter(pk__gt=after).values_list("pk", flat=True)[:CHUNK]):
        yield ids
        after = ids[-1]


@transaction.atomic
def _purge(ids: list[int]) -> None:
    runs = list(Run.objects.filter(record_id__in=ids).values_list("pk", flat=True))
    for payload in AttemptPayload.objects.filter(attempt__run_id__in=runs):
        payload.prompt, payload.directives, payload.reply = "[]", "[]", "null"
        payload.report = _without_value(payload.report)
        payload.save(update_fields=["prompt", "directives", "reply", "report"])
    Outcome.objects.filter(run_id__in=runs).exclude(value="").update(value="")
    ShadowResult.objects.filter(run_id__in=runs).update(value="", story="[]")
    letters = DeadLetter.objects.filter(run_id__in=runs)
    SearchEntry.objects.filter(letter__in=letters).delete()
    Draft.objects.filter(letter__in=letters).delete()
    Correction.objects.filter(decision__letter__in=letters).update(value="", report="")
    Delivery.objects.filter(record_id__in=ids).update(value="")
    CorrectionRequest.objects.filter(sample__run_id__in=runs).update(fields="{}")
    # Last: a record whose document is gone is purged, so an interrupted purge is taken up at the same record.
    RecordPayload.objects.filter(record_id__in=ids).update(document="", reference="")


def _without_value(report: str) -> str:
    if not report:
        return ""
    data = json.loads(report)
    if "value_text" in data:
        data["value_text"] = ""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True)
