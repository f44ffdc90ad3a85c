"""Recording: every reply goes to a cassette file in the moment it arrives."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import replace
from datetime import date
from pathlib import Path

from controller.backends.cassette import Cassette, CassetteError, Header, Key, encode_entry, encode_header, is_half
from controller.reply import Backend, Reply, Request


class Recorder:
    """A backend around a backend. Thread-safe; one process per file.

    With ``reuse`` a request that the cassette holds is served from it without a call, so that a recording that was
    interrupted goes on where it stopped; without, it is asked again and the new reply replaces the old one. Infrastructure
    errors pass through and are never recorded. The header of a new file gets today's date unless it has one; an existing
    file must be of the same model, for a cassette speaks for one.
    """

    def __init__(self, backend: Backend, path: Path | str, *, header: Header | None = None, reuse: bool = True) -> None:
        self._backend = backend
        self._path = Path(path)
        self._reuse = reuse
        self._lock = threading.Lock()
        self._replies: dict[Key, Reply] = {}
        header = header or Header()
        if self._path.suffix == ".gz" or header.key != "digest":
            raise CassetteError("a recording goes to plain JSON Lines under digests; save the cassette as .gz afterwards")
        cut_half_line(self._path)
        if self._path.exists() and self._path.stat().st_size:
            self._continue(header)
        else:
            self._path.write_bytes(encode_header(replace(header, recorded=header.recorded or date.today().isoformat())))
        # Unbuffered: a line is one write, and what was written is the system's when this process dies.
        self._file = self._path.open("ab", buffering=0)

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        """The cassette's reply, or that of the backend, stored before it is returned."""
        digest = request.digest
        if self._reuse and (held := self._replies.get(digest)):
            return held
        return self._store(digest, self._backend.complete(request, timeout_ms))

    def close(self) -> None:
        self._file.close()

    def _store(self, digest: str, reply: Reply) -> Reply:
        with self._lock:
            if self._reuse and (held := self._replies.get(digest)):
                return held  # another thread asked the same at the same time: both must say what a replay will say
            self._append(encode_entry(digest, reply))
            self._replies[digest] = reply
        return reply

    def _append(self, line: bytes) -> None:
        """The whole line or nothing: a disk that is full must not leave half a line for the next one to run on from."""
        before = os.fstat(self._file.fileno()).st_size
        if self._file.write(line) != len(line):
            os.ftruncate(self._file.fileno(), before)
            raise OSError(errno.ENOSPC, "the recording could not be written", self._path.name)

    def _continue(self, header: Header) -> None:
        cassette = Cassette.load(self._path)
        if cassette.header.key != "digest":
            raise CassetteError(f"{self._path.name} is keyed by {cassette.header.key}: it cannot be recorded to")
        if header.model and header.model != cassette.header.model:
            raise CassetteError(f"{self._path.name} was recorded from {cassette.header.model!r}, not {header.model!r}")
        self._replies.update(cassette.replies)


def cut_half_line(path: Path) -> None:
    """Take off a last line that was not written to its end, or give a whole last line the end that it lacks."""
    if not path.exists():
        return
    data = path.read_bytes()
    last = data[data.rfind(b"\n") + 1 :]
    if last and is_half(last):
        os.truncate(path, len(data) - len(last))
    elif last:
        with path.open("ab") as file:
            file.write(b"\n")
