"""The queue in the database: which runs may be worked now, found by the partial index over live runs.

The statuses stand in the statement as constants. As parameters SQLite could not know that the partial index holds these rows,
and would look through every run that ever ended, at each claim.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection
from django.utils import timezone

from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.runs.models import LIVE, Run


def free_runs(limit: int, *, lock: bool = False) -> list[tuple[int, int]]:
    """(id, fence) of up to ``limit`` live runs of open batches that nobody holds and whose time has come, oldest first.

    ``lock`` holds the rows until the transaction ends and leaves out those that another transaction holds.
    """
    now = _time(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(_select(connection.vendor, lock), [now, now, BatchStatus.OPEN.value, limit])
        return list(cursor.fetchall())


def lease(ids: list[int], worker: str, until: datetime) -> None:
    """Gives the runs to the worker and raises their fences. In the transaction that found them free."""
    marks = ", ".join(["%s"] * len(ids))
    sql = f"UPDATE {_run()} SET lease_owner = %s, lease_until = %s, fence = fence + 1 WHERE id IN ({marks})"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [worker, _time(until), *ids])


def _time(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)


def _run() -> str:
    return connection.ops.quote_name(Run._meta.db_table)


@lru_cache(maxsize=4)
def _select(vendor: str, lock: bool) -> str:
    live = ", ".join(f"'{status}'" for status in LIVE)
    batches = connection.ops.quote_name(Batch._meta.db_table)
    sql = (
        f"SELECT id, fence FROM {_run()} WHERE status IN ({live})"  # noqa: S608
        " AND (lease_until IS NULL OR lease_until < %s) AND (not_before IS NULL OR not_before <= %s)"
        # The plus keeps the index over batches out of it: the oldest few are wanted, not all live runs of every batch, sorted.
        f" AND +batch_id IN (SELECT id FROM {batches} WHERE status = %s) ORDER BY id LIMIT %s"
    )
    if lock and connection.features.has_select_for_update_skip_locked:
        sql += f" {connection.ops.for_update_sql(skip_locked=True, of=(_run(),))}"
    return sql
