"""Records the demo's replies from a real model: ``python -m examples.record --endpoint URL --model NAME`` (or ``make record``).

Every shipped receipt runs under each shipped version of ``receipt-fields`` exactly as the demo runs it, and each reply is stored
under the hash of its exact request. What the cassette holds already is not asked again, so an interrupted recording goes on;
``--fresh`` starts a new one. Nothing in the cassette is written by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from controller.authoring import read
from controller.backends.cassette import Header
from controller.backends.openai_compatible import OpenAICompatible
from controller.backends.recorder import Recorder
from controller.testing import FakeClock, run_record

HERE = Path(__file__).parent
CASSETTE = HERE / "cassettes" / "receipt-fields.jsonl"
ENVELOPES = [HERE / "envelopes" / "receipt-fields.v1.yaml", HERE / "envelopes" / "receipt-fields.v2.yaml"]
DEMO_RECEIPTS = 48


def documents(count: int = DEMO_RECEIPTS) -> Iterator[tuple[str, str]]:
    """(id, document) of the first ``count`` shipped receipts."""
    with (HERE / "documents" / "receipts.jsonl").open(encoding="utf-8") as lines:
        for _, line in zip(range(count), lines, strict=False):
            row = json.loads(line)
            yield row["id"], row["document"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--endpoint", required=True, help="base URL, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", required=True, help="the model's name at the endpoint, kept in the cassette")
    parser.add_argument("--cassette", type=Path, default=CASSETTE)
    parser.add_argument("--count", type=int, default=DEMO_RECEIPTS)
    parser.add_argument("--fresh", action="store_true", help="start a new cassette instead of going on")
    parser.add_argument("--envelope", type=Path, action="append", help="instead of the shipped versions; may be repeated")
    options = parser.parse_args(argv)
    if options.fresh:
        options.cassette.unlink(missing_ok=True)
    options.cassette.parent.mkdir(parents=True, exist_ok=True)
    header = Header(
        model=options.model,
        settings={"sent": "temperature, seed, max_tokens and response_format as the envelope says"},
        endpoint="a llama.cpp server on one machine's CPU" if options.model.startswith("qwen") else "recorded by its owner",
    )
    backend = Recorder(OpenAICompatible(options.endpoint, options.model), options.cassette, header=header)
    try:
        for path in options.envelope or [p for p in ENVELOPES if p.exists()]:
            _record(path, backend, options.count)
    finally:
        backend.close()
    return 0


def _record(path: Path, backend: Recorder, count: int) -> None:
    envelope, tally = read(path.read_text(encoding="utf-8")), {}
    for number, (key, document) in enumerate(documents(count), start=1):
        began = time.monotonic()
        story = run_record(envelope, document, backend, key=key, clock=FakeClock())
        outcome = story.result.status if not story.result.reason else f"{story.result.status} ({story.result.reason})"
        tally[outcome] = tally.get(outcome, 0) + 1
        if story.result.reason == "infrastructure":
            sys.exit(f"{path.name} {key}: the endpoint did not answer; what was recorded is kept")
        print(
            f"{path.name} {number}/{count} {key}: {outcome}, {story.run.calls} calls, {time.monotonic() - began:.1f} s",
            flush=True,
        )
    print(f"{path.name}: {tally}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
