"""Cassettes: replies that were recorded once, as a file that anybody can read and replay.

JSON Lines, or the same through gzip. The first line is the header: what was asked, when, where; every other line one reply
under its key. ``digest`` is the SHA-256 of the exact request; ``place`` is (record, attempt), for replies that were made
without this product's prompts.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from controller.reply import Finish, Reply, Usage

FORMAT = "countersign.cassette/1"

Place: TypeAlias = tuple[str, int]
Key: TypeAlias = "str | Place"
"""A request digest, or (record, attempt)."""

T = TypeVar("T")

log = logging.getLogger(__name__)

_DIGEST = re.compile(r"[0-9a-f]{64}")


class CassetteError(ValueError):
    """The file is not a cassette. The message names file and line, never what stands there."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line. ``recorded`` is the date as ``YYYY-MM-DD``; ``endpoint`` and ``settings`` are for people to read."""

    key: str = "digest"
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    recorded: str = ""
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class Cassette:
    """A header and one reply per key."""

    header: Header
    replies: Mapping[Key, Reply]

    @classmethod
    def load(cls, path: Path | str) -> Cassette:
        """The cassette in a file. Raises ``CassetteError`` with file and line, ``OSError`` where it cannot be read.

        A last line without its end, as a recording that was killed leaves it, is left out with a logged warning. A digest
        that occurs again was recorded again, and the later reply holds; a place that occurs twice is a mistake.
        """
        path = Path(path)
        lines = read_lines(path)
        header = located(path, 1, lines[0] if lines else b"", decode_header)
        replies: dict[Key, Reply] = {}
        for number, line in enumerate(lines[1:], start=2):
            if number == len(lines) and is_half(line):
                log.warning("%s:%d: the last line is cut off and was left out", path.name, number)
                continue
            key, reply = located(path, number, line, lambda text: decode_entry(text, header.key))
            if header.key == "place" and key in replies:
                raise CassetteError(f"{path.name}:{number}: this record and attempt occurs twice")
            replies[key] = reply
        return cls(header, replies)

    @classmethod
    def from_replies(cls, replies: Mapping[Key, Reply] | Iterable[tuple[Key, Reply]], header: Header | None = None) -> Cassette:
        """A cassette from memory. The kind of key is the header's, or that of the replies where no header is given."""
        held = dict(replies)
        kinds = {"digest" if isinstance(key, str) else "place" for key in held} or {(header or Header()).key}
        header = header or Header(key=min(kinds))
        if kinds != {header.key}:
            raise CassetteError(f"the keys of the replies are not all of the kind {header.key}")
        return cls(header, held)

    def save(self, path: Path | str) -> None:
        """Write the file, through gzip when its name ends in ``.gz``. Equal cassettes give equal bytes."""
        path = Path(path)
        data = encode_header(self.header) + b"".join(encode_entry(key, reply) for key, reply in self.replies.items())
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def encode_header(header: Header) -> bytes:
    """One line, its end included."""
    return _line(
        {
            "format": FORMAT,
            "key": header.key,
            "model": header.model,
            "settings": dict(header.settings),
            "recorded": header.recorded,
            "endpoint": header.endpoint,
        }
    )


def encode_entry(key: Key, reply: Reply) -> bytes:
    """One line, its end included. ASCII, so that a cut line never cuts a character."""
    place = {"digest": key} if isinstance(key, str) else {"record": key[0], "attempt": key[1]}
    usage = {"prompt_tokens": reply.usage.prompt_tokens, "completion_tokens": reply.usage.completion_tokens}
    return _line(
        {
            **place,
            "text": reply.text,
            "finish": reply.finish.value,
            "raw_finish": reply.raw_finish,
            "refused": reply.refused,
            "usage": usage,
            "model": reply.model,
            "duration_ms": reply.duration_ms,
        }
    )


def decode_header(line: bytes) -> Header:
    """Raises ``CassetteError`` without a place; the caller knows file and line."""
    row = decode_object(line)
    if row.get("format") != FORMAT:
        raise CassetteError(f"the first line must say that its format is {FORMAT}")
    if row.get("key") not in ("digest", "place"):
        raise CassetteError("key must be digest or place")
    settings = take(row, "settings", (dict,), {})
    words = {name: take(row, name, (str,), "") for name in ("key", "model", "recorded", "endpoint")}
    return Header(settings=settings, **words)


def decode_entry(line: bytes, key: str) -> tuple[Key, Reply]:
    """(key, reply) of one line. Raises ``CassetteError`` without a place."""
    row = decode_object(line)
    usage = take(row, "usage", (dict,), {})
    reply = Reply(
        text=take(row, "text", (str, type(None))),
        finish=_finish(take(row, "finish", (str,))),
        raw_finish=take(row, "raw_finish", (str, type(None)), None),
        refused=take(row, "refused", (bool,), False),
        usage=Usage(_count(usage, "prompt_tokens", None), _count(usage, "completion_tokens", None)),
        model=take(row, "model", (str,), ""),
        duration_ms=_count(row, "duration_ms", 0) or 0,
    )
    return _key(row, key), reply


def decode_object(line: bytes) -> dict[str, Any]:
    """The JSON object of one line; ``CassetteError`` for anything else."""
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise CassetteError("the line is not a JSON object")
    return row


def take(row: Mapping[str, Any], name: str, kinds: tuple[type, ...], *default: Any) -> Any:
    """The field, which must be of one of the kinds; the default where it is absent and there is one."""
    if name not in row and default:
        return default[0]
    if name not in row:
        raise CassetteError(f"{name} is missing")
    value = row[name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise CassetteError(f"{name} is of the wrong type")
    return value


def is_half(line: bytes) -> bool:
    """Whether a last line is what a killed recording left: no line end and no JSON. No part of an object is an object."""
    if line.endswith(b"\n"):
        return False
    try:
        json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return True
    return False


def _key(row: Mapping[str, Any], kind: str) -> Key:
    if kind == "place":
        return take(row, "record", (str,)), take(row, "attempt", (int,))
    digest: str = take(row, "digest", (str,))
    if not _DIGEST.fullmatch(digest):
        raise CassetteError("digest is not 64 hexadecimal digits")
    return digest


def _finish(word: str) -> Finish:
    if word not in {finish.value for finish in Finish}:
        raise CassetteError("finish is none of the known ones")
    return Finish(word)


def _count(row: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = take(row, name, (int, type(None)), default)
    if value is not None and value < 0:
        raise CassetteError(f"{name} is negative")
    return default if value is None else int(value)


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=True).encode("ascii") + b"\n"


def read_lines(path: Path) -> list[bytes]:
    """The lines of a file, their ends included, through gzip when its name ends in ``.gz``."""
    data = path.read_bytes()
    try:
        return (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines(keepends=True)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise CassetteError(f"{path.name}: the file is not whole gzip data") from None


def located(path: Path, number: int, line: bytes, decode: Callable[[bytes], T]) -> T:
    """What ``decode`` makes of a line; its errors say which line of which file it was."""
    try:
        return decode(line)
    except CassetteError as error:
        raise CassetteError(f"{path.name}:{number}: {error}") from None
