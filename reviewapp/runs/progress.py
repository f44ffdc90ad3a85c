"""Working batches to their end with a progress bar, and their table, for commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from controller.fuse import Fuse
from reviewapp.batches.models import Batch
from reviewapp.batches.queries import OutcomeTable, counts_by_batch
from reviewapp.runs.executor import LocalExecutor


def watch(batches: Sequence[Batch], *, threads: int | None = None) -> None:
    """Works every open batch to its end in this process; Ctrl+C stops after the calls in flight."""
    left = sum(table.live for table in counts_by_batch(batches).values())
    executor = LocalExecutor(threads)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("records", total=left)
        try:
            executor.run(until_idle=True, on_progress=lambda ended: progress.advance(bar, ended))
        except KeyboardInterrupt:
            executor.stop()
            raise


def print_table(batches: Sequence[Batch]) -> None:
    """What became of each batch: accepted by way, dead letters by fuse, calls, tokens, seconds."""
    tables = counts_by_batch(batches)
    table = Table("", *(str(batch.name) for batch in batches), title="What became of the records")
    for label, value in _rows(tables):
        table.add_row(label, *(value(tables[batch.pk]) for batch in batches))
    Console().print(table)


def _rows(tables: dict[int, OutcomeTable]) -> list[tuple[str, Callable[[OutcomeTable], str]]]:
    fuses = sorted({fuse for table in tables.values() for fuse in table.dead_by_fuse})
    rows: list[tuple[str, Callable[[OutcomeTable], str]]] = [
        ("records", lambda t: f"{t.total:,}"),
        ("accepted on attempt 1", lambda t: f"{t.first:,}"),
        ("accepted on a later attempt", lambda t: f"{t.later:,}"),
        ("accepted by fallback", lambda t: f"{t.fallback:,}"),
    ]
    rows += [_dead_row(fuse) for fuse in fuses]
    rows += [
        ("not ended", lambda t: f"{t.live:,}"),
        ("calls", lambda t: f"{t.calls:,}"),
        ("tokens, upper bound", lambda t: f"{t.tokens:,}"),
        ("seconds", lambda t: f"{t.seconds:.1f}"),
    ]
    return rows


def _dead_row(fuse: str) -> tuple[str, Callable[[OutcomeTable], str]]:
    known = fuse in {f.value for f in Fuse}
    return f"dead letter: {fuse if known else fuse + ' (fallback)'}", lambda t: f"{t.dead_by_fuse.get(fuse, 0):,}"
