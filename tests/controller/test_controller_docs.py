"""docs/controller.md and docs/envelope.md name what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.envelope import Caps, Envelope, Limits
from controller.fallbacks import FALLBACKS
from controller.fuse import Fuse
from controller.report import FailureClass, SlotType

ROOT = Path(__file__).resolve().parent.parent.parent
CONTROLLER = (ROOT / "docs" / "controller.md").read_text(encoding="utf-8")
ENVELOPE = (ROOT / "docs" / "envelope.md").read_text(encoding="utf-8")


def test_named_tests_exist() -> None:
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*def (test_\w+)", path.read_text("utf-8"), re.M)
    }
    assert set(re.findall(r"`(test_\w+)`", CONTROLLER)) - defined == set()


@pytest.mark.parametrize("name", [*Fuse, *FailureClass])
def test_every_fuse_and_class_is_explained(name: str) -> None:
    assert f"`{name}`" in CONTROLLER


@pytest.mark.parametrize("name", [*Envelope.model_fields, *Limits.model_fields, *Caps.model_fields, *FALLBACKS, *SlotType])
def test_every_field_is_explained(name: str) -> None:
    assert re.search(rf"`(?:\w+\.)?{name}\b", ENVELOPE) or name == "format"
