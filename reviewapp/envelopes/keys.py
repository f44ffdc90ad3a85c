"""Signing keys in files, never in the database: ``COUNTERSIGN_KEYS`` holds private keys and the list of trusted public ones.

Who can only write to the database can neither sign nor make a key trusted.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from django.conf import settings
from django.utils import timezone

from controller.signature import PublicKey, key_id_of


class NoSigningKey(Exception):
    """Nothing can be approved here until an operator makes a key."""


@dataclass(frozen=True)
class TrustedKey:
    key_id: str
    public_key: str
    created: str
    revoked: str = ""


def _folder() -> Path:
    return Path(settings.COUNTERSIGN_KEYS)


def _list_path() -> Path:
    return _folder() / "trusted.json"


def make_key() -> TrustedKey:
    """A new signing key; from now on it signs. Earlier keys stay trusted for what they signed until they are revoked."""
    key = Ed25519PrivateKey.generate()
    key_id = key_id_of(key.public_key())
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with open(os.open(folder / f"{key_id}.pem", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        out.write(pem)
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    made = TrustedKey(key_id, base64.b64encode(raw).decode(), timezone.now().isoformat(timespec="seconds"))
    _write([*listed(), made])
    return made


def revoke_key(key_id: str) -> TrustedKey:
    """From now on nothing that this key signed may run. Its private part is deleted. ``KeyError`` where it is unknown."""
    keys = {key.key_id: key for key in listed()}
    old = keys[key_id]
    keys[key_id] = TrustedKey(
        old.key_id, old.public_key, old.created, old.revoked or timezone.now().isoformat(timespec="seconds")
    )
    _write(list(keys.values()))
    (_folder() / f"{key_id}.pem").unlink(missing_ok=True)
    return keys[key_id]


def listed() -> list[TrustedKey]:
    """All keys, oldest first, revoked ones included."""
    try:
        return [TrustedKey(**item) for item in json.loads(_list_path().read_text())["keys"]]
    except FileNotFoundError:
        return []


def _write(keys: list[TrustedKey]) -> None:
    path = _list_path()
    text = json.dumps({"keys": [key.__dict__ for key in keys]}, indent=1) + "\n"
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def signing_key() -> Ed25519PrivateKey:
    """The newest key that is not revoked. ``NoSigningKey`` where there is none."""
    for key in reversed(listed()):
        path = _folder() / f"{key.key_id}.pem"
        if not key.revoked and path.exists():
            loaded = load_pem_private_key(path.read_bytes(), password=None)
            assert isinstance(loaded, Ed25519PrivateKey)
            return loaded
    raise NoSigningKey("there is no signing key: run manage.py signing_keys make")


def stamp() -> tuple[str, int, int]:
    """Changes whenever the list of keys does: what cached verifications are tied to."""
    path = _list_path()
    try:
        found = path.stat()
    except FileNotFoundError:
        return (str(path), 0, 0)
    return (str(path), found.st_mtime_ns, found.st_ino)


def trusted() -> dict[str, PublicKey]:
    """Public keys by id, as ``controller.signature.verify`` takes them."""
    return _trusted(stamp())


@lru_cache(maxsize=4)
def _trusted(stamped: tuple[str, int, int]) -> dict[str, PublicKey]:
    return {key.key_id: PublicKey(base64.b64decode(key.public_key), bool(key.revoked)) for key in listed()}
