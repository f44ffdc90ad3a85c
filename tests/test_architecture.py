"""What the documents say about the tree is true of the tree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from controller.fuse import WORDS, Fuse
from controller.machine import TABLE, RunStatus, diagram

ROOT = Path(__file__).resolve().parent.parent


def test_controller_runs_without_django() -> None:
    """In a fresh process: every module of the controller is imported, and Django is nowhere among what that loaded."""
    modules = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "controller").rglob("*.py")
    )
    program = f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n" + (
        "found = [name for name in sys.modules if name.split('.')[0] in {'django', 'reviewapp', 'celery', 'psycopg'}]\n"
        "sys.exit(f'loaded: {found[:5]}' if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_diagram_is_the_table() -> None:
    shown = re.search(r"```mermaid\n(.*?)\n```", (ROOT / "ARCHITECTURE.md").read_text(), re.S)
    assert shown is not None
    assert shown[1] == diagram()


def test_every_status_has_its_row() -> None:
    assert set(TABLE) == set(RunStatus)
    assert [status for status, row in TABLE.items() if not row] == [RunStatus.ACCEPTED, RunStatus.DEAD_LETTERED]


def test_every_fuse_has_a_sentence() -> None:
    assert set(WORDS) == set(Fuse)


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs"])
def test_links_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for page in sorted(path.glob("*.md")) if path.is_dir() else [path]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_settings_are_documented() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "reviewapp").rglob("*.py"))
    named = set(re.findall(r'"(COUNTERSIGN_[A-Z_]+[A-Z])"', sources))
    documented = (ROOT / "docs" / "settings.md").read_text()
    assert {name for name in named if name not in documented} == set()


def test_make_targets_are_told() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z-]+)", (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()):
        assert f"\n{target}:" in makefile
