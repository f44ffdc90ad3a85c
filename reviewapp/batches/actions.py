"""Everything that is done to batches: submitting records here, stopping and closing in the modules beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from django.db import IntegrityError, transaction
from django.utils import timezone

from controller import machine
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches import submission
from reviewapp.batches.models import Batch, BatchStatus, Record, RecordPayload
from reviewapp.batches.pausing import NotAllowed, pause_batch, resume_batch
from reviewapp.batches.submission import LineError, Reading, Row
from reviewapp.envelopes.models import Status, Version
from reviewapp.runs.models import Run
from reviewapp.runs.state import dump
from reviewapp.samples.drawing import change_rate, close_batch, open_draw

__all__ = ["NotAllowed", "change_rate", "close_batch", "open_batch", "pause_batch", "resume_batch", "submit_lines"]

CHUNK = 500


@dataclass
class Submission:
    """What became of a submission. With any error nothing was stored and ``batch`` is ``None``."""

    batch: Batch | None = None
    added: int = 0
    unchanged: int = 0
    errors: list[LineError] = field(default_factory=list)
    more_errors: int = 0
    ignored_fields: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.errors


def submit_lines(lines: Iterable[bytes], *, version: Version, name: str, by: User | None) -> Submission:
    """Stores every record of a JSON Lines stream in the batch ``name`` of ``version`` and queues a run for each.

    All or nothing on errors: every line is checked first. Ids that the batch has already, with the same document, change
    nothing. Memory does not grow with the stream; records are stored in chunks, so work starts while a long one is stored.
    """
    if version.status != Status.APPROVED:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}: records run under approved versions only")
    reading = submission.check(lines)
    if not reading.errors and not reading.total:
        reading.refuse(LineError(1, "", "there is no record: each line is one object with id and document"))
    existing = Batch.objects.filter(version=version, name=name).first()
    if not reading.errors and existing is not None:
        _refuse_changed(existing, reading)
    result = Submission(errors=reading.errors, more_errors=reading.more_errors, ignored_fields=sorted(reading.ignored_fields))
    if reading.errors:
        return result
    result.batch = existing or open_batch(version, name, by=by)
    if result.batch.status == BatchStatus.CLOSED:
        raise NotAllowed(f"the batch {name} is closed")
    for rows in _chunks(reading.rows()):
        added = _store(result.batch, rows)
        result.added += added
        result.unchanged += len(rows) - added
    if result.added:
        append(
            "records submitted", "batch", result.batch.pk, by=by, after={"added": result.added, "unchanged": result.unchanged}
        )
    return result


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _refuse_changed(batch: Batch, reading: Reading) -> None:
    for rows in _chunks(reading.rows()):
        known = _known(batch, rows)
        for row in rows:
            if known.get(row.key, row.sha256) != row.sha256:
                reading.refuse(
                    LineError(row.line, "document", f"record {row.key!r} is in the batch with another document; use another id")
                )


def _known(batch: Batch, rows: list[Row]) -> dict[str, str]:
    keys = [row.key for row in rows]
    return dict(Record.objects.filter(batch=batch, key__in=keys).values_list("key", "document_sha256"))


@transaction.atomic
def _store(batch: Batch, rows: list[Row]) -> int:
    known = _known(batch, rows)
    new = [row for row in rows if row.key not in known]
    records = Record.objects.bulk_create(
        [
            Record(batch=batch, key=row.key, document_sha256=row.sha256, document_bytes=len(row.document.encode("utf-8")))
            for row in new
        ]
    )
    RecordPayload.objects.bulk_create(
        [RecordPayload(record=r, document=row.document, reference=row.reference) for r, row in zip(records, new, strict=True)]
    )
    state = dump(machine.start(batch.version.content))
    Run.objects.bulk_create([Run(record=r, batch=batch, version_id=batch.version_id, state=state) for r in records])
    return len(new)


@transaction.atomic
def open_batch(version: Version, name: str, *, by: User | None) -> Batch:
    """A new batch; the one that has the name already where another submission was quicker."""
    try:
        with transaction.atomic():
            batch = Batch.objects.create(version=version, name=name, created_by=by)
    except IntegrityError:
        return Batch.objects.select_related("version").get(version=version, name=name)
    after = {"name": name, "version": str(version), "digest": version.digest, **open_draw(batch, timezone.now())}
    append("batch opened", "batch", batch.pk, by=by, after=after)
    return batch
