from __future__ import annotations

import re
from pathlib import Path

from controller.lint import LINTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lint.md"


def test_page_names_every_lint_with_its_weight() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (broken|likely|think) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == {name: lint.weight.value for name, lint in LINTS.items()}
