from __future__ import annotations

import contextlib

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from reviewapp.audit.actions import append, verify_chain
from reviewapp.audit.models import Entry
from tests.conftest import _guards_lifted
from tests.reviewapp.factories import person

pytestmark = pytest.mark.django_db


def filled() -> list[Entry]:
    by = person("owner")
    return [append("batch paused", "batch", n, by=by, before={"status": "open"}, after={"n": n}, reason="ü") for n in range(4)]


def test_whole_chain_verifies() -> None:
    filled()
    append("key made", "key", "abc", by=None)
    assert list(verify_chain()) == []
    call_command("verify_audit", verbosity=0)


@pytest.mark.parametrize("column", ["actor_name", "action", "subject", "subject_id", "before", "after", "reason"])
def test_changed_column_is_found(column: str) -> None:
    entry = filled()[1]
    with _guards_lifted():  # type: ignore[attr-defined]
        Entry.objects.filter(pk=entry.pk).update(**{column: "changed"})
    assert [found.entry_id for found in verify_chain()] == [entry.pk]
    with pytest.raises(CommandError, match="tampered"):
        call_command("verify_audit")


def test_removed_entry_is_found() -> None:
    entries = filled()
    with _guards_lifted():  # type: ignore[attr-defined]
        Entry.objects.filter(pk=entries[2].pk).delete()
    assert [found.entry_id for found in verify_chain()] == [entries[3].pk]


def test_consistently_rewritten_tail_is_found_by_its_last_hash() -> None:
    """A chain rewritten from one entry to the end verifies in itself: only a last hash kept elsewhere shows it."""
    entries = filled()
    assert Entry.objects.order_by("-id").first().hash == entries[-1].hash  # type: ignore[union-attr]


@pytest.mark.parametrize("statement", ["UPDATE audit_entry SET reason = 'x'", "DELETE FROM audit_entry"])
def test_database_refuses_changes(statement: str) -> None:
    filled()
    with pytest.raises(DatabaseError, match="audit entries are never"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert Entry.objects.count() >= 4


def test_fork_of_the_chain_is_refused() -> None:
    entries = filled()
    with pytest.raises(DatabaseError), transaction.atomic():
        Entry.objects.create(
            at=entries[0].at,
            actor_name="x",
            action="x",
            subject="x",
            subject_id="x",
            previous_hash=entries[1].previous_hash,
            hash="f" * 64,
        )


def test_act_and_entry_fall_together() -> None:
    with contextlib.suppress(RuntimeError), transaction.atomic():
        append("batch paused", "batch", 1, by=None)
        raise RuntimeError
    assert not Entry.objects.exists()
