"""Reading submitted JSON Lines: one pass that checks every line, in constant memory, before anything is stored.

A line is ``{"id": text, "document": text, "reference": object?}``. Other fields are left out, and named in the result.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

from django.conf import settings

KNOWN_FIELDS = {"id", "document", "reference"}
MAX_ID = 200
MAX_LISTED = 200
"""Errors listed one by one; the rest is counted."""


@dataclass(frozen=True)
class LineError:
    """What is wrong with one line (from 1): which field, and what was expected."""

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.field or 'line'}: {self.message}"


@dataclass(frozen=True)
class Row:
    """One record as submitted. ``reference`` is a JSON text or empty."""

    line: int
    key: str
    document: str
    reference: str
    sha256: str


@dataclass
class Reading:
    """What the first pass found; ``rows()`` reads the checked lines again."""

    spool: IO[bytes]
    total: int = 0
    errors: list[LineError] = field(default_factory=list)
    more_errors: int = 0
    ignored_fields: set[str] = field(default_factory=set)

    def rows(self) -> Iterator[Row]:
        self.spool.seek(0)
        for number, line in enumerate(self.spool, start=1):
            if line.strip():
                row = _read(number, line, self)
                assert isinstance(row, Row)
                yield row

    def refuse(self, error: LineError) -> None:
        if len(self.errors) < MAX_LISTED:
            self.errors.append(error)
        else:
            self.more_errors += 1


def check(lines: Iterable[bytes]) -> Reading:
    """Checks every line and keeps the bytes in a temporary file. Duplicate ids are found by a temporary on-disk index."""
    reading = Reading(tempfile.SpooledTemporaryFile(max_size=4_000_000))  # noqa: SIM115 - lives as long as the reading
    with sqlite3.connect("", isolation_level=None) as index:
        index.execute("CREATE TABLE seen (id BLOB PRIMARY KEY, line INTEGER) WITHOUT ROWID")
        index.execute("BEGIN")
        for number, line in enumerate(_lines(lines), start=1):
            reading.spool.write(line)
            if not line.strip():
                continue
            row = _read(number, line, reading)
            if isinstance(row, LineError):
                reading.refuse(row)
                continue
            reading.total += 1
            key = hashlib.blake2b(row.key.encode("utf-8"), digest_size=16).digest()
            try:
                index.execute("INSERT INTO seen VALUES (?, ?)", (key, number))
            except sqlite3.IntegrityError:
                (first,) = index.execute("SELECT line FROM seen WHERE id = ?", (key,)).fetchone()
                reading.refuse(LineError(number, "id", f"the same id as in line {first}; each id once"))
    index.close()
    return reading


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, each with its line end, from lines or from chunks that cut lines anywhere."""
    rest = b""
    for chunk in chunks:
        rest += chunk
        *whole, rest = rest.split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest + b"\n"


def _read(number: int, line: bytes, reading: Reading) -> Row | LineError:
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        return LineError(number, "", f"not UTF-8 at byte {error.start + 1}")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        return LineError(number, "", f"not a JSON object{where}: each line is one object with id and document")
    if not isinstance(data, dict):
        return LineError(number, "", "not a JSON object: each line is one object with id and document")
    reading.ignored_fields.update(str(name)[:60] for name in data.keys() - KNOWN_FIELDS if len(reading.ignored_fields) < 20)
    return _row(number, data)


def _row(number: int, data: dict[str, object]) -> Row | LineError:
    key, document = data.get("id"), data.get("document")
    if not isinstance(key, str) or not key.strip():
        return LineError(number, "id", "text is expected" if "id" in data else "is missing")
    if len(key) > MAX_ID or not key.isprintable():
        return LineError(number, "id", f"at most {MAX_ID} printable characters are expected")
    if not isinstance(document, str) or not document.strip():
        return LineError(number, "document", "text that is not empty is expected" if "document" in data else "is missing")
    try:
        encoded = document.encode("utf-8")
    except UnicodeEncodeError:
        return LineError(number, "document", "holds half of a surrogate pair, which is no text")
    if "\x00" in document:
        return LineError(number, "document", "holds a NUL character, which cannot be stored")
    if len(encoded) > settings.COUNTERSIGN_DOCUMENT_BYTES:
        return LineError(number, "document", f"is {len(encoded):,} bytes; at most {settings.COUNTERSIGN_DOCUMENT_BYTES:,}")
    reference = data.get("reference")
    if reference is not None and not isinstance(reference, dict):
        return LineError(number, "reference", "an object is expected, or nothing")
    text = "" if reference is None else json.dumps(reference, ensure_ascii=True)
    return Row(number, key, document, text, hashlib.sha256(encoded).hexdigest())
