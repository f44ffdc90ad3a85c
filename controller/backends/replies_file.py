"""Replies that were made elsewhere, one JSON object a line, for replay by place."""

from __future__ import annotations

from pathlib import Path

from controller.backends.cassette import CassetteError, Key, decode_object, located, read_lines, take
from controller.backends.chat_reply import finish_of
from controller.reply import Finish, Reply


def read_replies(path: Path | str) -> dict[Key, Reply]:
    """Replies by (record, attempt) from rows ``{"id", "reply", "finish_reason"?, "attempt"?}``; other fields are not read.

    A row without ``finish_reason`` is one that stopped by itself (such files keep the text only); ``null`` is an endpoint
    that gave no reason. The attempt is 1 unless it is given. Raises ``CassetteError`` with file and line.
    """
    path = Path(path)
    replies: dict[Key, Reply] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        place, reply = located(path, number, line, _decode)
        if place in replies:
            raise CassetteError(f"{path.name}:{number}: this id and attempt occurs twice")
        replies[place] = reply
    return replies


def _decode(line: bytes) -> tuple[Key, Reply]:
    row = decode_object(line)
    place = (take(row, "id", (str,)), take(row, "attempt", (int,), 1))
    finish, raw = finish_of(take(row, "finish_reason", (str, type(None)), "stop"))
    text = take(row, "reply", (str, type(None)))
    return place, Reply(text=text, finish=finish, raw_finish=raw, refused=finish is Finish.REFUSAL)
