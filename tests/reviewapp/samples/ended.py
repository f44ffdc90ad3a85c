"""Runs brought to their end without a model, through the store that ends them in life."""

from __future__ import annotations

from dataclasses import replace

from controller.machine import Finish, Result, RunStatus
from controller.report import FailureClass
from controller.runner import Change
from reviewapp.batches.models import Batch
from reviewapp.runs.models import Run
from reviewapp.runs.state import load
from reviewapp.runs.store import DatabaseStore

VALUE = '{"total":"12.00","qty":1}'


def ready(batch: Batch) -> list[Run]:
    """The batch's runs as a worker has them, oldest first."""
    rows = Run.objects.filter(batch=batch, ended_at=None)
    return list(rows.select_related("record__payload", "version__envelope", "batch__version__envelope").order_by("pk"))


def end(
    run: Run,
    *,
    accepted: bool = True,
    value: str = VALUE,
    attempts: int = 1,
    fallback: str = "",
    votes: tuple[str, ...] = (),
    final_class: str = "business",
) -> None:
    """Ends one run in one transaction."""
    state = load(run.state)
    status = RunStatus.ACCEPTED if accepted else RunStatus.DEAD_LETTERED
    result = Result(
        status=status.value,
        reason="" if accepted else "attempts",
        attempts=attempts,
        retryable=False,
        fallback=fallback,
        final_class="" if accepted else final_class,
        duration_ms=10,
        requests=attempts,
        usage={},
        healed=False,
        accepted_on=attempts if accepted and not fallback else None,
        early_stop=False,
    )
    ended = replace(
        state,
        status=status,
        attempts=attempts,
        calls=attempts,
        tokens=100 * attempts,
        elapsed_ms=10,
        votes=votes,
        final_class=None if accepted else FailureClass(final_class),
        result=result,
    )
    change = Change("Replied", state.status, status, finish=Finish(result, value if accepted else None, 0))
    DatabaseStore(run).save(ended, [change])
