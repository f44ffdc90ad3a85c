"""What becomes of real replies to real receipts: ``python -m benchmarks.real_input [--data FOLDER] [REPLIES.jsonl …]``.

Each file of replies is replayed as the model of two envelopes, through submission, queue, executor and database, in an
installation of its own. The recorded model says the same thing on every attempt, so what a retry could put right is not shown.

The files keep texts without finish reasons. A text that ends before its JSON does was cut by the output limit, and an endpoint
says so (``length``): the replay does too, unless ``--as-kept`` takes every text as finished.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.scratch import installation, signed
from controller import strict_json
from controller.authoring import read
from controller.backends.cassette import Cassette, Header, Key
from controller.backends.replies_file import read_replies
from controller.reply import Finish, Reply

if TYPE_CHECKING:
    from reviewapp.batches.models import Batch

ROOT = Path(__file__).resolve().parent.parent
ENVELOPES = ROOT / "examples" / "envelopes"
DATA = ROOT.parent / "shared" / "data"
NAMES = ("sroie-loose", "sroie-strict")
REPLIES = ("base.jsonl", "tuned_v2.jsonl")
FIELDS = ("company", "date", "total")


@dataclass(frozen=True)
class Story:
    """What became of one record: ``fuse`` and ``final_class`` are empty for an accepted one, ``value`` for the others."""

    key: str
    status: str
    fuse: str
    final_class: str
    calls: int
    value: dict[str, Any]


@dataclass(frozen=True)
class Tally:
    """A batch in numbers. ``wrong[field]`` counts accepted values that are not the reference's."""

    stories: tuple[Story, ...]
    wrong: Mapping[str, int]

    @property
    def accepted(self) -> int:
        return sum(story.status == "accepted" for story in self.stories)

    @property
    def dead_by_class(self) -> Counter[str]:
        return Counter(story.final_class for story in self.stories if story.status == "dead_lettered")

    @property
    def live(self) -> int:
        return sum(story.status not in ("accepted", "dead_lettered") for story in self.stories)

    @property
    def calls(self) -> int:
        return sum(story.calls for story in self.stories)


def submission(documents: Path, keys: frozenset[str]) -> Iterator[bytes]:
    """The records that have a reply, as lines to submit."""
    for line in documents.read_text(encoding="utf-8").splitlines():
        row = strict_json.parse(line)
        if row["id"] in keys:
            record = {"id": row["id"], "document": row["text"], "reference": row["reference"]}
            yield strict_json.dumps(record).encode("utf-8", "surrogatepass") + b"\n"


def replies_of(path: Path, *, as_kept: bool = False) -> dict[Key, Reply]:
    """The replies of a file by (record, attempt); those that were cut say so, unless ``as_kept``."""
    found = read_replies(path)
    if as_kept:
        return found
    return {key: _as_reported(reply) for key, reply in found.items()}


def _as_reported(reply: Reply) -> Reply:
    return replace(reply, finish=Finish.LENGTH, raw_finish="length") if is_cut(reply.text or "") else reply


def is_cut(text: str) -> bool:
    """Whether a text is JSON as far as it goes, and ends before the value does."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return bool(text.strip()) and (error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"))
    return False


def as_cassette(replies: Mapping[Key, Reply], attempts: int, target: Path) -> frozenset[str]:
    """Writes a cassette by place that says the recorded reply on each attempt. Returns the ids."""
    found = replies
    places = {(key, number): reply for (key, _), reply in found.items() for number in range(1, attempts + 1)}
    Cassette.from_replies(places, Header(key="place", model=target.stem)).save(target)
    return frozenset(key for key, _ in found)


def replay(source: str, documents: Path, replies: Mapping[Key, Reply], folder: Path, *, name: str) -> Batch:
    """Runs every record that has a reply under the envelope to its end. ``folder`` keeps the cassette."""
    from reviewapp.batches.actions import submit_lines
    from reviewapp.runs.executor import LocalExecutor

    envelope = read(source)
    cassette = folder / f"{envelope.task}-{name}.jsonl"
    keys = as_cassette(replies, envelope.limits.attempts, cassette)
    os.environ["COUNTERSIGN_ENDPOINT"] = f"cassette:{cassette}"
    submitted = submit_lines(submission(documents, keys), version=signed(source), name=name, by=None)
    assert submitted.batch is not None, submitted.errors
    LocalExecutor(2).run(until_idle=True)
    return submitted.batch


def tally(batch: Batch) -> Tally:
    """What became of the batch, and how much of what was accepted is wrong against the references."""
    from reviewapp.runs.models import Run

    stories = []
    wrong: Counter[str] = Counter(dict.fromkeys(FIELDS, 0))
    for run in Run.objects.filter(batch=batch).select_related("record__payload", "outcome").order_by("record__key"):
        outcome = getattr(run, "outcome", None)
        value = strict_json.parse(outcome.value) if outcome and run.status == "accepted" else {}
        stories.append(Story(run.record.key, run.status, run.fuse, run.final_class, run.calls, value))
        if run.status == "accepted":
            reference = strict_json.parse(run.record.payload.reference)
            wrong.update(name for name in FIELDS if not agree(name, value[name], reference[name]))
    return Tally(tuple(stories), dict(wrong))


def agree(field: str, value: str, reference: str) -> bool:
    """Whether a value says what the reference says: an amount by its digits, a date by its parts, a name by its letters."""
    form = {"total": _amount, "date": _date}.get(field, _letters)
    return form(value) == form(reference)


def _amount(text: str) -> str:
    return re.sub(r"[^0-9.\-]", "", text.upper().removeprefix("RM"))


def _date(text: str) -> tuple[str, ...]:
    parts = [part.lstrip("0") for part in re.findall(r"\d+|[A-Za-z]{3,}", text.upper())]
    return tuple(part[-2:] if len(part) == 4 and part.isdecimal() else part for part in parts)


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def rows(tallies: Mapping[str, Tally]) -> list[tuple[str, ...]]:
    """The table, a header first: one column per tally."""
    columns = list(tallies.values())
    classes = sorted({name for column in columns for name in column.dead_by_class})
    lines: list[tuple[str, list[object]]] = [
        ("records", [len(c.stories) for c in columns]),
        ("accepted", [c.accepted for c in columns]),
        *((f"dead-lettered: {name}", [c.dead_by_class[name] for c in columns]) for name in classes),
        ("not ended", [c.live for c in columns]),
        ("calls", [c.calls for c in columns]),
        *((f"accepted with a wrong {name}", [_share(c.wrong[name], c.accepted) for c in columns]) for name in FIELDS[::-1]),
    ]
    return [("", *tallies), *((label, *(str(cell) for cell in cells)) for label, cells in lines)]


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})" if whole else "–"


def markdown(table: list[tuple[str, ...]]) -> str:
    """The rows as a Markdown table, numbers to the right."""
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    rule = tuple("-" * width if place == 0 else "-" * (width - 1) + ":" for place, width in enumerate(widths))
    return "\n".join(_line(row, widths) for row in (table[0], rule, *table[1:]))


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *others = row
    cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="the folder with sroie/ and replies/"
    )
    parser.add_argument("--as-kept", action="store_true", help="take every text as finished, even where its JSON is not")
    parser.add_argument("replies", nargs="*", default=REPLIES, help=f"files of replies/ ({', '.join(REPLIES)})")
    options = parser.parse_args()
    documents = options.data / "sroie" / "test_open.jsonl"
    if not documents.is_file():
        parser.error(f"the receipts are not there: {documents}")
    with installation() as folder:
        found = {}
        for path in (options.data / "replies" / name for name in options.replies):
            replies = replies_of(path, as_kept=options.as_kept)
            for envelope in NAMES:
                source = (ENVELOPES / f"{envelope}.yaml").read_text(encoding="utf-8")
                batch = replay(source, documents, replies, folder, name=path.stem)
                found[f"{path.stem}, {envelope.removeprefix('sroie-')}"] = tally(batch)
        print(markdown(rows(found)))


if __name__ == "__main__":
    main()
