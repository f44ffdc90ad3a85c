"""The full-text index: a tsvector column with GIN on PostgreSQL, an FTS5 table that follows the rows on SQLite."""

from typing import Any

from django.db import migrations

POSTGRES = (
    "ALTER TABLE deadletters_searchentry ADD COLUMN words tsvector",
    "CREATE INDEX deadletters_words ON deadletters_searchentry USING gin (words)",
)
SQLITE = (
    "CREATE VIRTUAL TABLE deadletters_words USING fts5(words)",
    "CREATE TRIGGER search_entry_gone AFTER DELETE ON deadletters_searchentry FOR EACH ROW "
    "BEGIN DELETE FROM deadletters_words WHERE rowid = OLD.letter_id; END",
)


def make(apps: Any, editor: Any) -> None:
    for statement in POSTGRES if editor.connection.vendor == "postgresql" else SQLITE:
        editor.execute(statement)


def drop(apps: Any, editor: Any) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute("ALTER TABLE deadletters_searchentry DROP COLUMN words")
    else:
        editor.execute("DROP TRIGGER search_entry_gone")
        editor.execute("DROP TABLE deadletters_words")


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0002_exception_queue")]

    operations = [migrations.RunPython(make, drop)]
