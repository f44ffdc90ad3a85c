"""The model-graded layer: a judge's request, its vote under a strict schema, and the majority over several votes.

A vote is ``pass``, ``fail`` or ``eval_error`` and carries its criteria's results, as one string that is stored with the run:
``"pass:+right-currency,+complete"``. A reply that does not parse, misses, doubles or invents a criterion, or says anything but
true or false, is an ``eval_error``: it never scores. The judge's reasoning is never asked for, so it can reach no prompt.
"""

from __future__ import annotations

import json

from controller import strict_json
from controller.envelope import JUDGEMENT_GROUP, Envelope, Judge
from controller.prompt import marked
from controller.reply import Finish, Message, Reply, Request
from controller.report import CheckReport, FailureClass, Finding
from controller.tokens import MESSAGE_OVERHEAD, Counter

EVAL_ERROR = "eval_error"


def request(
    envelope: Envelope, document: str, value_text: str, count: Counter, *, vote: int, record: str
) -> tuple[Request | None, int]:
    """The judge's call and its size in tokens; ``None`` where it would be over the judge's cap: that is an eval_error."""
    judge = envelope.judge
    assert judge is not None
    criteria = "\n".join(f"- {c.id}: {c.text}" for c in judge.criteria)
    form = json.dumps({c.id: "true or false" for c in judge.criteria})
    user = (
        marked("document", document)
        + "\n"
        + marked("output", value_text)
        + f"\nCriteria:\n{criteria}\n\nReply with one JSON object and nothing else, each criterion true or false: {form}"
    )
    size = count(judge.instructions) + count(user) + 2 * MESSAGE_OVERHEAD
    if size > judge.cap:
        return None, size
    schema = {
        "type": "object",
        "properties": {c.id: {"type": "boolean"} for c in judge.criteria},
        "required": [c.id for c in judge.criteria],
        "additionalProperties": False,
    }
    structured = envelope.model.response_format
    seed = envelope.model.seed
    call = Request(
        alias=judge.alias,
        messages=(Message("system", judge.instructions), Message("user", user)),
        max_output_tokens=judge.max_output_tokens,
        temperature_hundredths=round(judge.temperature * 100),
        seed=None if seed is None else seed + vote - 1,
        response_format=structured,
        schema=schema if structured == "json_schema" else None,
        record=record,
        attempt=vote,
    )
    return call, size


def vote(judge: Judge, reply: Reply) -> str:
    """One judge's answer as ``pass:…``, ``fail:…`` or ``eval_error``."""
    if reply.finish is not Finish.STOP or reply.refused or reply.text is None:
        return EVAL_ERROR
    try:
        value = strict_json.parse(strict_json.strip_think(reply.text))
    except strict_json.Malformed:
        return EVAL_ERROR
    ids = [criterion.id for criterion in judge.criteria]
    if not isinstance(value, dict) or set(value) != set(ids) or not all(isinstance(value[i], bool) for i in ids):
        return EVAL_ERROR
    results = {i: value[i] is True for i in ids}
    marks = ",".join(("+" if results[i] else "-") + i for i in ids)
    return f"{'pass' if _passes(judge, results) else 'fail'}:{marks}"


def _passes(judge: Judge, results: dict[str, bool]) -> bool:
    score = sum(c.weight for c in judge.criteria if results[c.id])
    return score >= judge.threshold and all(results[c.id] for c in judge.criteria if c.required)


def verdict(judge: Judge, votes: tuple[str, ...]) -> tuple[str | None, CheckReport | None]:
    """The verdict once every vote is in, else ``(None, None)``.

    Votes that are eval_errors are left out; the rest must be more than half of all votes, else the verdict is eval_error. Each
    criterion holds when more than half of the usable votes say so (a tie is a no); the failing criteria, their results and the
    score all come from that one majority.
    """
    if len(votes) < judge.votes:
        return None, None
    usable = [frozenset(v.split(":", 1)[1].split(",")) for v in votes if v != EVAL_ERROR]
    if 2 * len(usable) <= judge.votes:
        return EVAL_ERROR, None
    results = {c.id: 2 * sum(f"+{c.id}" in v for v in usable) > len(usable) for c in judge.criteria}
    findings = tuple(
        Finding(c.id, JUDGEMENT_GROUP, FailureClass.JUDGEMENT, "", results[c.id], expected=c.text) for c in judge.criteria
    )
    if _passes(judge, results):
        return "pass", CheckReport(findings, parsed=True)
    return "fail", CheckReport(tuple(f for f in findings if not f.passed), parsed=True)
