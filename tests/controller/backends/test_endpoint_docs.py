"""docs/endpoints.md says what the tables say."""

from __future__ import annotations

from pathlib import Path

from controller.backends.chat_reply import FINISHES
from controller.backends.openai_compatible import WIRE_FAULTS
from controller.reply import Finish

DOCS = (Path(__file__).resolve().parents[3] / "docs" / "endpoints.md").read_text(encoding="utf-8")


def test_docs_name_every_finish() -> None:
    assert [f.value for f in Finish if f"`{f.value}`" not in DOCS] == []
    assert [word for word in FINISHES if word not in DOCS] == []


def test_docs_name_every_fault_of_wire() -> None:
    assert [fault.value for _, fault, _, _ in WIRE_FAULTS if f"`{fault.value}`" not in DOCS] == []
