"""The model endpoints behind the aliases that envelopes name, from the settings.

``COUNTERSIGN_ENDPOINT`` serves every alias that has no endpoint of its own; ``COUNTERSIGN_ENDPOINT_<ALIAS>`` (upper case, ``-``
as ``_``) one alias; ``…_MODEL`` and ``…_API_KEY`` the same way. ``cassette:FILE`` replays recorded replies.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from controller.backends.cassette import Cassette
from controller.backends.openai_compatible import OpenAICompatible
from controller.backends.recorded import Recorded
from controller.reply import Backend, Fault, InfrastructureError, Reply, Request

CASSETTE = "cassette:"


@dataclass(frozen=True)
class Endpoint:
    """Where an alias leads, as the settings say. ``key_name`` is the environment variable that holds the key."""

    alias: str
    address: str
    model: str
    key_name: str


def endpoint(alias: str) -> Endpoint | None:
    """The endpoint behind an alias, or ``None`` where the settings name none."""
    suffix = "_" + alias.upper().replace("-", "_")
    for end in (suffix, ""):
        address = os.environ.get("COUNTERSIGN_ENDPOINT" + end) or (settings.COUNTERSIGN_ENDPOINT if not end else "")
        if address:
            return Endpoint(alias, address, os.environ.get("COUNTERSIGN_MODEL" + end, ""), "COUNTERSIGN_API_KEY" + end)
    return None


class Endpoints(dict[str, Backend]):
    """Alias → backend, made when first asked for and shared by every thread of the process."""

    def get(self, key: str, default: object = None) -> Backend | None:  # type: ignore[override]
        found = endpoint(key)
        return default if found is None else _backend(found)  # type: ignore[return-value]


@lru_cache(maxsize=64)
def _backend(found: Endpoint) -> Backend:
    if found.address.startswith(CASSETTE):
        return Recorded(_cassette(found.address))
    key, pool = os.environ.get(found.key_name) or None, max(64, settings.COUNTERSIGN_THREADS)
    try:
        return OpenAICompatible(found.address, found.model, key, pool=pool)
    except ValueError as error:
        return Unusable(found.alias, str(error))


@dataclass(frozen=True)
class Unusable:
    """Stands in for an endpoint whose settings cannot be right: each call says so, and nothing is sent."""

    alias: str
    why: str

    def complete(self, request: Request, timeout_ms: int) -> Reply:
        raise InfrastructureError(Fault.CONFIGURATION, f"the alias {self.alias}: {self.why}", retryable=False)


@lru_cache(maxsize=8)
def _cassette(address: str) -> Cassette:
    path = Path(address.removeprefix(CASSETTE))
    return Cassette.load(path if path.is_absolute() else settings.BASE_DIR / path)


def recorded_note() -> str | None:
    """A sentence for pages when replies are recorded, else ``None``."""
    found = endpoint("default")
    if found is None or not found.address.startswith(CASSETTE):
        return None
    header = _cassette(found.address).header
    return f"Replies here are recorded: {header.model}, {header.recorded}, {header.endpoint}."
