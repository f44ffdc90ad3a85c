"""Model endpoints: the only I/O in this package. One line each in ``BACKENDS``; each turns foreign errors into ours."""

from __future__ import annotations

from controller.backends.openai_compatible import OpenAICompatible
from controller.backends.recorded import Recorded
from controller.backends.scripted import Scripted
from controller.reply import Backend

BACKENDS: dict[str, type[Backend]] = {
    "openai_compatible": OpenAICompatible,
    "recorded": Recorded,
    "scripted": Scripted,
}
"""Every kind of backend by the name that settings use."""
