"""What waits to be graded."""

from __future__ import annotations

from datetime import datetime

from reviewapp import statements
from reviewapp.samples.models import Sample, SampleStatus

UNSETTLED = [SampleStatus.WAITING, SampleStatus.DISPUTED]


def waiting_in(batch_id: int) -> int:
    """Sampled outputs of the batch without a settled verdict."""
    return Sample.objects.filter(batch_id=batch_id, status__in=UNSETTLED).count()


def oldest_in(batch_id: int) -> datetime | None:
    """Since when the one that waits longest has waited."""
    unsettled = {"batch_id": batch_id, "status": tuple(UNSETTLED)}
    found = statements.first(Sample, ("drawn_at",), unsettled, order="drawn_at")
    return None if found is None else found[0]
