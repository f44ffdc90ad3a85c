"""Writes the shipped documents, or checks that they are what this code writes.

python -m examples.make_documents            writes documents/*.jsonl beside this file
python -m examples.make_documents --check    exit 1, naming the files, where the disk has something else
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from examples import answers, orders, receipts

SEED = 7
RECEIPTS = 120
DEMO_RECEIPTS = 48
"""How many of the receipts, from the first on, the demo runs unless told otherwise."""
ORDERS = 30
DOCUMENTS = Path(__file__).parent / "documents"


def contents() -> dict[str, bytes]:
    """What each shipped file holds, by file name: JSON lines in UTF-8, one document each."""
    return {
        "receipts.jsonl": _lines(receipt.line() for receipt in receipts.generate(SEED, RECEIPTS)),
        "orders.jsonl": _lines(order.line() for order in orders.generate(SEED, ORDERS)),
        "answers.jsonl": _lines(passage.line(number) for number, passage in enumerate(answers.PASSAGES, start=1)),
    }


def differing(directory: Path) -> list[str]:
    """The names of the files that are missing in ``directory`` or hold other bytes."""
    return [name for name, wanted in contents().items() if _held(directory / name) != wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m examples.make_documents", description="Writes the shipped documents.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 where a file differs")
    parser.add_argument("--directory", type=Path, default=DOCUMENTS, help="default: documents/ beside this file")
    options = parser.parse_args(arguments)
    if options.check:
        names = differing(options.directory)
        for name in names:
            print(f"{name} differs: run python -m examples.make_documents", file=sys.stderr)
        return 1 if names else 0
    options.directory.mkdir(parents=True, exist_ok=True)
    for name, wanted in contents().items():
        (options.directory / name).write_bytes(wanted)
        print(f"{name}: {len(wanted.splitlines())} documents")
    return 0


def _lines(documents: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents).encode()


def _held(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
