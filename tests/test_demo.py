"""The README's first command, run as a process on a database of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def demo(var: Path) -> str:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("COUNTERSIGN_", "DATABASE_URL", "DJANGO"))
    }
    environment["COUNTERSIGN_VAR"] = str(var)
    command = [sys.executable, "manage.py", "demo", "--no-serve"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def row(output: str, label: str) -> list[int]:
    found = re.search(rf"^\W*{re.escape(label)}\W+(.*)$", output, re.M)
    assert found is not None, f"no row {label!r} in\n{output}"
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", found[1])]


def test_ends_every_record_and_runs_again(tmp_path: Path) -> None:
    first = demo(tmp_path)
    records, unfinished = row(first, "records"), row(first, "not ended")
    assert records == [48, 48]
    assert unfinished == [0, 0]
    labels = ["accepted on attempt 1", "accepted on a later attempt", "accepted by fallback"]
    dead = re.findall(r"dead letter: [a-z_]+", first)
    sums = [sum(column) for column in zip(*(row(first, label) for label in [*labels, *dict.fromkeys(dead)]), strict=True)]
    assert sums == records
    # A cassette that lacks a reply ends its run as infrastructure: the shipped one lacks none.
    assert "infrastructure" not in first
    assert "Replies here are recorded" in first
    again = demo(tmp_path)
    assert row(again, "calls") == row(first, "calls")
    assert re.findall(r"^  \w+ +\w+-\w+", again, re.M) == re.findall(r"^  \w+ +\w+-\w+", first, re.M)
    assert len(re.findall(r"^  \w+ +\w+-\w+", first, re.M)) == 4
