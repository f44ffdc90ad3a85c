"""Counting tokens: the proven upper bound, or exactly, from a tokenizer file whose hash is in the envelope."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from controller.envelope import Tokens

Counter = Callable[[str], int]

MESSAGE_OVERHEAD = 8
"""Tokens allowed per message for an endpoint's own role marks, on top of what the blocks count."""


class CounterUnavailable(Exception):
    """The declared counter cannot be used here: a budget that cannot be counted is not enforced, so nothing may start."""


def utf8_bytes(text: str) -> int:
    """UTF-8 bytes: every byte-level BPE token covers at least one byte, so no tokenizer of that kind counts more."""
    return len(text.encode("utf-8"))


def counter_for(tokens: Tokens) -> Counter:
    """The counter that an envelope declares. Raises ``CounterUnavailable`` with what to do."""
    if tokens.counter == "utf8_bytes":
        return utf8_bytes
    assert tokens.path is not None
    assert tokens.sha256 is not None
    return _exact(tokens.path, tokens.sha256)


@lru_cache(maxsize=8)
def _exact(path: str, sha256: str) -> Counter:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CounterUnavailable(f"the tokenizer file cannot be read ({error.strerror}); the envelope names {path}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise CounterUnavailable(f"the tokenizer file {path} is not the one that was signed: its SHA-256 differs")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise CounterUnavailable("exact counting needs the extra: pip install 'countersign[tokenizer]'") from error
    tokenizer = Tokenizer.from_buffer(data)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
