"""What waits to be graded."""

from __future__ import annotations

from datetime import datetime

from reviewapp import statements
from reviewapp.samples.models import Sample, SampleStatus

UNSETTLED = [SampleStatus.WAITING, SampleStatus.DISPUTED]


def waiting_in(batch_id: int) -> int:
    """Sampled outputs of the batch without a settled verdict."""
    return statements.count(Sample, _unsettled(batch_id))


def oldest_in(batch_id: int) -> datetime | None:
    """Since when the one that waits longest has waited."""
    found = statements.first(Sample, ("drawn_at",), _unsettled(batch_id), order="drawn_at")
    return None if found is None else found[0]


def _unsettled(batch_id: int) -> dict[str, object]:
    return {"batch_id": batch_id, "status": tuple(status.value for status in UNSETTLED)}
