"""Full-text search over record ids, failing checks and documents of dead letters.

Both databases hold the same thing, a set of words per letter, made here: PostgreSQL as a tsvector with a GIN index, SQLite in
an FTS5 table. So the same query finds the same letters on both. A query finds letters that have all of its words; the last word
may be the beginning of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

MOST_CHARS = 400_000
"""Characters of a document that are read for words: what a tsvector can hold has an end, and so has the time for it."""
MOST_WORDS = 20_000
LONGEST_WORD = 60
MOST_ASKED = 12

_WORD = re.compile(r"[^\W_]+")


def words(*texts: str) -> list[str]:
    """The different words of the texts in order, case folded; numbers are words, every other sign parts two."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _WORD.finditer(text[:MOST_CHARS]):
            found[match.group().casefold()[:LONGEST_WORD]] = None
            if len(found) >= MOST_WORDS:
                return list(found)
    return list(found)


def index(letter_id: int, *texts: str) -> None:
    """Puts the letter's words into the index, in the caller's transaction."""
    index_many([(letter_id, texts)])


def index_many(letters: Iterable[tuple[int, tuple[str, ...]]]) -> None:
    """The same for many letters."""
    found = [(pk, words(*texts)) for pk, texts in letters]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.executemany(
                "INSERT INTO deadletters_searchentry (letter_id, words) VALUES (%s, array_to_tsvector(%s::text[])) "
                "ON CONFLICT (letter_id) DO UPDATE SET words = EXCLUDED.words",
                found,
            )
        else:
            cursor.executemany(
                "INSERT OR IGNORE INTO deadletters_searchentry (letter_id) VALUES (%s)", [(pk,) for pk, _ in found]
            )
            cursor.executemany(
                "INSERT OR REPLACE INTO deadletters_words (rowid, words) VALUES (%s, %s)",
                [(pk, " ".join(those)) for pk, those in found],
            )


def matching(letters: QuerySet[Any], query: str) -> QuerySet[Any]:
    """The letters that have every word of the query; all of them where it has no word."""
    asked = words(query)[:MOST_ASKED]
    if not asked:
        return letters
    if connection.vendor == "postgresql":
        terms = [f"'{word}'" for word in asked[:-1]] + [f"'{asked[-1]}':*"]
        found = RawSQL("SELECT letter_id FROM deadletters_searchentry WHERE words @@ %s::tsquery", [" & ".join(terms)])  # noqa: S611
    else:
        terms = [f'"{word}"' for word in asked[:-1]] + [f'"{asked[-1]}"*']
        found = RawSQL("SELECT rowid FROM deadletters_words WHERE deadletters_words MATCH %s", [" AND ".join(terms)])  # noqa: S611
    return letters.filter(pk__in=found)


def forget_deleted() -> None:
    """Takes the words of deleted entries out of the index itself: FTS5 otherwise keeps them in old segments."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO deadletters_words(deadletters_words) VALUES('rebuild')")
