"""The secret seeds of batches, sealed in the database by a key that lies beside the signing keys.

What this protects: who can read the database (a copy, a backup, a console) learns no seed, so nobody can tell before its
acceptance whether an output will be graded; and the commitment in the audit log holds everyone to the seed. What it does not
protect against: whoever has the key folder and the database can open a seed, and the process that accepts outputs must have
both. Model, prompt and fallback code never see it: it is opened after the acceptance was decided.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from controller import draw
from controller.draw import Seed

KEY_FILE = "sampling.key"


class SeedUnreadable(Exception):
    """The sealed seed cannot be opened here: the key file is another one, or the row was altered."""


def seal(seed: Seed) -> str:
    """The seed as it may lie in the database."""
    return Fernet(_key()).encrypt(bytes(seed)).decode("ascii")


def unseal(sealed: str) -> Seed:
    """``SeedUnreadable`` where the key does not fit."""
    return _unseal(sealed, _key())


@lru_cache(maxsize=256)
def _unseal(sealed: str, key: bytes) -> Seed:
    try:
        return draw.seed(Fernet(key).decrypt(sealed.encode("ascii")))
    except (InvalidToken, ValueError) as error:
        raise SeedUnreadable(f"the seed cannot be opened with {KEY_FILE}: restore the key that it was sealed with") from error


def _key() -> bytes:
    """The sealing key, made on first use. Losing it loses the seeds of batches that are still open."""
    path = Path(settings.COUNTERSIGN_KEYS) / KEY_FILE
    try:
        return _read(str(path), path.stat().st_mtime_ns)
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{KEY_FILE}.{os.getpid()}.new")
    with open(os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as out:
        out.write(Fernet.generate_key())
    try:
        os.link(fresh, path)  # whole or not at all, and the first one stays
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> bytes:
    return Path(path).read_bytes()
