"""The stub as a process of its own, as the fault tests use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from controller.backends import OpenAICompatible
from controller.reply import Fault, InfrastructureError
from tests.controller.backends.calls import a_request

ROOT = Path(__file__).resolve().parents[3]


def test_process_serves_and_logs(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    plan = {
        "sequence": [{"status": 429, "retry_after": "1"}, {"drip": {"say": "slow"}, "interval_s": 0}],
        "match": [{"contains": "receipt 7", "then": {"say": "seven", "usage": None}}],
        "default": {"say": "other"},
    }
    script.write_text(json.dumps(plan))
    command = [sys.executable, "-m", "tests.stub_endpoint", "--script", str(script), "--log", str(log)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        backend = OpenAICompatible(process.stdout.readline().strip(), "stub")
        with pytest.raises(InfrastructureError) as caught:
            backend.complete(a_request(), 10_000)
        assert (caught.value.fault, caught.value.retry_after_ms) == (Fault.RATE_LIMIT, 1_000)
        said = [backend.complete(a_request(text), 10_000).text for text in ("receipt 7", "receipt 7", "receipt 8")]
    finally:
        process.terminate()
        process.wait(30)
        process.stdout and process.stdout.close()
    assert said == ["slow", "seven", "other"]
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["number"] for row in rows] == [1, 2, 3, 4]
    assert rows[3]["body"]["messages"][-1]["content"] == "receipt 8"
