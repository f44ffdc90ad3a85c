"""How real models' replies are classed: ``python -m benchmarks.reply_classes`` prints the table of docs/controller.md.

The replies lie beside the project and are not shipped. They came without a finish reason, so each is taken as one that ended by
itself; the last column counts those that plainly did not: what is open at their end is an object, an array or a text.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from controller.authoring import read
from controller.document import Document
from controller.evaluate import Judge, compile_checks
from controller.reply import Reply
from controller.report import FailureClass

ROOT = Path(__file__).resolve().parent.parent
REPLIES = ROOT.parent / "shared" / "data" / "replies"
ENVELOPE = ROOT / "examples" / "envelopes" / "sroie-loose.yaml"
PASSED = "passed"
CUT = "cut off"


def judge() -> Judge:
    envelope = read(ENVELOPE.read_text(encoding="utf-8"))
    return compile_checks(envelope.contract, envelope.checks, tolerant_fence=envelope.tolerant_fence)


def class_of(judged: Judge, reply: str) -> str:
    report = judged.evaluate(Document(""), Reply(reply))
    return PASSED if report.final_class is None else report.final_class.value


def is_cut(reply: str) -> bool:
    """Whether a bracket or a text is still open at the end: nothing but more text could have made it JSON."""
    open_brackets, in_text, escaped = 0, False, False
    for character in reply:
        if in_text:
            in_text = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_text = True
        else:
            open_brackets += (character in "{[") - (character in "}]")
    return reply.lstrip()[:1] in ("{", "[") and (in_text or open_brackets > 0)


def count(path: Path, judged: Judge) -> Counter[str]:
    """Replies by class; ``cut off`` counts again those among the syntax failures that end in the middle."""
    found: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        reply = json.loads(line)["reply"]
        named = class_of(judged, reply)
        found[named] += 1
        found[CUT] += named == FailureClass.SYNTAX and is_cut(reply)
    return found


def table(folder: Path) -> list[str]:
    """The Markdown lines: one row per file, one column per class that occurs, and the sums."""
    judged = judge()
    counts = {path.stem: count(path, judged) for path in sorted(folder.glob("*.jsonl"))}
    total: Counter[str] = sum(counts.values(), Counter())
    classes = [PASSED, *(c.value for c in FailureClass if total[c.value]), CUT]
    rows = [
        f"| {name} | {sum(found.values()) - found[CUT]} | " + " | ".join(str(found[c]) for c in classes) + " |"
        for name, found in [*counts.items(), ("all", total)]
    ]
    return ["| replies of | replies | " + " | ".join(classes) + " |", "| --- |" + " ---: |" * (len(classes) + 1), *rows]


def main() -> int:
    if not REPLIES.is_dir():
        print("the replies are not here: they are expected in ../shared/data/replies", file=sys.stderr)
        return 1
    print("\n".join(table(REPLIES)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
