"""What the recent runs of a task say to the lints: sizes of valid outputs and documents, volume, and the stated budget."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from controller.lint import Context
from reviewapp.batches.models import Record
from reviewapp.envelopes.models import Envelope
from reviewapp.runs.models import Attempt, Run

MONTH = timedelta(days=30)
MOST = 500
MARKS = 64
"""Bytes of the marks around a document, rounded up."""


def context_for(envelope: Envelope | None) -> Context:
    """What is known about the task of an envelope; without one only the budget and the endpoint's profile are."""
    return Context(
        outputs=() if envelope is None else _outputs(envelope),
        documents=() if envelope is None else _documents(envelope),
        accepted_per_month=None if envelope is None else _accepted(envelope),
        profile=settings.COUNTERSIGN_SCHEMA_PROFILE,
        max_calls=settings.COUNTERSIGN_RECORD_CALLS,
        max_tokens=settings.COUNTERSIGN_RECORD_TOKENS,
        max_ms=settings.COUNTERSIGN_RECORD_MS,
    )


def _outputs(envelope: Envelope) -> tuple[int, ...]:
    """Tokens of recent replies that passed, as the endpoint reported them: output caps are in its tokens."""
    rows = Attempt.objects.filter(run__version__envelope=envelope, passed=True, output_tokens_reported__isnull=False)
    sizes = rows.order_by("-id").values_list("output_tokens_reported", flat=True)[:MOST]
    return tuple(size for size in sizes if size is not None)


def _documents(envelope: Envelope) -> tuple[int, ...]:
    """Sizes as the default counter counts them: UTF-8 bytes and the marks."""
    rows = Record.objects.filter(batch__version__envelope=envelope).order_by("-id")
    return tuple(size + MARKS for size in rows.values_list("document_bytes", flat=True)[:MOST])


def _accepted(envelope: Envelope) -> int | None:
    """Accepted outputs of the last 30 days; ``None`` where nothing ran at all: no volume is not a volume of 0."""
    rows = Run.objects.filter(version__envelope=envelope, ended_at__gte=timezone.now() - MONTH)
    return rows.filter(status="accepted").count() if rows.exists() else None
