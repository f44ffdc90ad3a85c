"""What a grader sees: the document with the evidence lit, the output field by field, the rubric. And nothing else.

Blind: no arm, attempts, stratum, judge, version, record id, other grader, and not whether the item is a sample or gold. All of
it is made from document, output and the version's checks and rubric alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from reviewapp.batches.rules import rules_of
from reviewapp.runs import evidence, values
from reviewapp.runs.evidence import Mark as Place
from reviewapp.runs.evidence import Segment
from reviewapp.samples import judging
from reviewapp.samples import marks as marking
from reviewapp.samples.grading import value_of
from reviewapp.samples.marks import KIND_WORDS, LEFT_OUT, Mark
from reviewapp.samples.models import Grade, GradeStatus, Task, TaskKind, Verdict

MOST_CHARS = 200_000
NONE = Mark(mark="", type="", value="")


@dataclass(frozen=True, slots=True)
class Field:
    """One value to be marked. ``keys`` tie it to its places in the document; ``others`` are the two marks that differ."""

    number: int
    pointer: str
    text: str
    is_null: bool
    keys: str
    mark: Mark
    others: tuple[Mark, ...] = ()

    @property
    def differs(self) -> bool:
        return len({other["mark"] for other in self.others}) > 1


@dataclass(frozen=True, slots=True)
class Sheet:
    """One output to grade."""

    token: str
    is_adjudication: bool
    segments: list[Segment]
    fields: list[Field]
    left_out: Mark
    left_out_others: tuple[Mark, ...]
    comment: str
    comments: tuple[str, ...]
    rubric: str
    saved_at: datetime | None
    unmarked: int

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(kind.value, words) for kind, words in KIND_WORDS.items()]


def sheet(task: Task, grade: Grade) -> Sheet:
    """The page of one seat. ``task`` comes with its run's record payload, outcome and version."""
    document = values.printable(task.run.record.payload.document)[:MOST_CHARS]
    value = value_of(task)
    rows = values.rows(value) or []
    keys = _evidence(task, value)
    marks = marking.load(grade.marks)
    earlier = [marking.load(other.marks) for other in others(task)]
    fields = [
        Field(
            number,
            row.pointer,
            row.text,
            row.is_null,
            f"f{number}" if row.pointer in keys else "",
            marks.get(row.pointer, NONE),
            tuple(other.get(row.pointer, NONE) for other in earlier),
        )
        for number, row in enumerate(rows)
    ]
    places = [
        Place(start, end, f"f{number}", row.pointer, True)
        for number, row in enumerate(rows)
        for start, end in keys.get(row.pointer, ())
    ]
    return Sheet(
        token=task.token,
        is_adjudication=task.kind == TaskKind.ADJUDICATE,
        segments=evidence.segments(document, places),
        fields=fields,
        left_out=marks.get(LEFT_OUT, NONE),
        left_out_others=tuple(other.get(LEFT_OUT, NONE) for other in earlier),
        comment=grade.comment,
        comments=tuple(other.comment for other in others(task) if other.comment),
        rubric=rules_of(task.run.version).rubric,
        saved_at=grade.touched_at if marks or grade.comment else None,
        unmarked=sum(1 for found in fields if not found.mark["mark"]),
    )


def others(task: Task) -> list[Grade]:
    """The two grades that differ, in the order of their seats and without names; nothing at all before adjudication."""
    if task.kind != TaskKind.ADJUDICATE:
        return []
    done = Grade.objects.filter(task__sample=task.sample_id, task__kind=TaskKind.GRADE, status=GradeStatus.DONE)
    return list(done.order_by("task__seat"))


def _evidence(task: Task, value: str) -> dict[str, list[tuple[int, int]]]:
    """Pointer → places in the document where the version's checks found its value."""
    found: dict[str, list[tuple[int, int]]] = {}
    for finding in judging.report(task.run.version, task.run.record.payload.document, value).findings:
        if finding.passed and finding.spans:
            found.setdefault(finding.pointer, []).extend((span.start, span.end) for span in finding.spans)
    return found


VERDICT_WORDS = {Verdict.RIGHT: "right", Verdict.WRONG: "wrong", Verdict.CANNOT_JUDGE: "not to be judged"}
