"""Database triggers for what must never happen, written once per rule for SQLite and PostgreSQL.

A guard refuses an UPDATE or DELETE when its condition over ``OLD`` and ``NEW`` holds. Migrations install guards with
``install(...)``; they are part of the schema, so they hold against the ORM, the admin, scripts and SQL consoles alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import migrations


@dataclass(frozen=True)
class Guard:
    """``event`` is UPDATE or DELETE; ``when`` a condition in SQL of both databases (``IS DISTINCT FROM`` included)."""

    name: str
    table: str
    event: str
    when: str
    message: str


def install(*guards: Guard) -> migrations.RunPython:
    """A reversible migration operation."""
    return migrations.RunPython(lambda apps, editor: _create(editor, guards), lambda apps, editor: _drop(editor, guards))


def reinstate(*guards: Guard, forwards: bool = True) -> migrations.RunPython:
    """Puts guards back where a change of their table lost them: SQLite changes a table by copying it, and triggers stay behind.

    A migration that alters a guarded table ends with ``reinstate(...)`` and begins with ``reinstate(..., forwards=False)``, so
    that undoing it leaves the guards that were there before.
    """

    def act(apps: Any, editor: Any) -> None:
        _drop(editor, guards)
        _create(editor, guards)

    return migrations.RunPython(*((act, migrations.RunPython.noop) if forwards else (migrations.RunPython.noop, act)))


def _create(editor: Any, guards: Iterable[Guard]) -> None:
    for guard in guards:
        for statement in _POSTGRES(guard) if editor.connection.vendor == "postgresql" else _SQLITE(guard):
            editor.execute(statement)


def _drop(editor: Any, guards: Iterable[Guard]) -> None:
    for guard in guards:
        if editor.connection.vendor == "postgresql":
            editor.execute(f'DROP TRIGGER IF EXISTS {guard.name} ON "{guard.table}"')
            editor.execute(f"DROP FUNCTION IF EXISTS {guard.name}()")
        else:
            editor.execute(f"DROP TRIGGER IF EXISTS {guard.name}")


def _SQLITE(guard: Guard) -> list[str]:
    # SQLite knows IS NOT as its null-safe comparison; IS DISTINCT FROM only from 3.39 on.
    when = guard.when.replace("IS DISTINCT FROM", "IS NOT")
    return [
        f'CREATE TRIGGER {guard.name} BEFORE {guard.event} ON "{guard.table}" FOR EACH ROW WHEN {when} '
        f"BEGIN SELECT RAISE(ABORT, '{guard.message}'); END"
    ]


def _POSTGRES(guard: Guard) -> list[str]:
    return [
        f"CREATE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"BEGIN RAISE EXCEPTION '{guard.message}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f'CREATE TRIGGER {guard.name} BEFORE {guard.event} ON "{guard.table}" FOR EACH ROW WHEN ({guard.when}) '
        f"EXECUTE FUNCTION {guard.name}()",
    ]
