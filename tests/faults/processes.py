"""Real processes of the installation under test: they open the test's own database, keys and folder by their environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent.parent


def environment(**more: str) -> dict[str, str]:
    """The environment that makes another process see this test's database and keys."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")},
        "DATABASE_URL": database_url(),
        "COUNTERSIGN_VAR": str(settings.VAR_DIR),
        "COUNTERSIGN_KEYS": str(settings.COUNTERSIGN_KEYS),
        "COUNTERSIGN_SECRET_KEY": settings.SECRET_KEY,
        "PYTHONPATH": str(ROOT),
        **more,
    }


def database_url() -> str:
    """The test database as other processes name it."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    user, password = quote(database["USER"]), quote(database["PASSWORD"])
    place = f"{database['HOST'] or '127.0.0.1'}:{database['PORT'] or 5432}"
    return f"postgres://{user}{':' + password if password else ''}@{place}/{database['NAME']}"


@contextmanager
def running(*arguments: str, env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that is gone at the end, whatever became of it. What it prints goes to ``log``."""
    with log.open("ab") as out:
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=env, stdout=out, stderr=out)
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL: no handler runs, nothing is put in order."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def until(happened: Callable[[], bool], *, seconds: float = 300, log: Path | None = None) -> None:
    """Waits for something that must come. The limit only keeps a broken test from waiting for ever."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen; the log says: " + (log.read_text()[-2000:] if log else "nothing"))
        time.sleep(0.02)
