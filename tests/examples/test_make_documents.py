"""The command that writes the shipped files and checks them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.make_documents import DEMO_RECEIPTS, DOCUMENTS, contents, main

PROJECT = Path(__file__).resolve().parents[2]


def test_shipped_files_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_written_files_pass_check(tmp_path: Path) -> None:
    assert main(["--directory", str(tmp_path / "new")]) == 0
    assert main(["--check", "--directory", str(tmp_path / "new")]) == 0


def test_changed_file_fails_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--directory", str(tmp_path)])
    changed = tmp_path / "orders.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b"EUR", b"USD", 1))
    assert main(["--check", "--directory", str(tmp_path)]) == 1
    assert "orders.jsonl" in capsys.readouterr().err


def test_missing_files_fail_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--directory", str(tmp_path)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == len(contents())
    assert list(tmp_path.iterdir()) == []


def test_hash_seed_changes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.make_documents", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, env={**os.environ, "PYTHONHASHSEED": "12345"}, check=True, capture_output=True)
    assert {name: (tmp_path / name).read_bytes() for name in contents()} == contents()


@pytest.mark.parametrize(("name", "count"), [("receipts.jsonl", 120), ("orders.jsonl", 30), ("answers.jsonl", 20)])
def test_lines_have_the_declared_keys(name: str, count: int) -> None:
    lines = [json.loads(line) for line in (DOCUMENTS / name).read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len({line["id"] for line in lines}) == count
    assert {tuple(line) for line in lines} == {("id", "document", "reference", "layout", "convention", "troubles")}


def test_demo_fits_the_receipts() -> None:
    assert 48 <= DEMO_RECEIPTS <= len(contents()["receipts.jsonl"].splitlines())
