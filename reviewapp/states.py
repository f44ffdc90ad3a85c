"""Every state that a page shows: its word, its shape and its tone. State is never told by colour alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """``shape`` is a symbol of static/shapes.svg; ``tone`` is ok, person, bad, live or quiet."""

    word: str
    shape: str
    tone: str


UNKNOWN = Look("Unknown", "none", "quiet")

RUN = {
    "ready": Look("Queued", "wait", "quiet"),
    "waiting": Look("Waiting", "wait", "quiet"),
    "calling": Look("Calling the model", "live", "live"),
    "judging": Look("Being judged", "live", "live"),
    "falling_back": Look("Falling back", "live", "live"),
    "accepted": Look("Accepted", "ok", "ok"),
    "dead_lettered": Look("Dead letter", "person", "person"),
}
BATCH = {
    "open": Look("Open", "live", "live"),
    "paused": Look("Paused", "pause", "person"),
    "closed": Look("Closed", "done", "quiet"),
    "ended": Look("Ended", "done", "quiet"),
}
VERSION = {
    "draft": Look("Draft", "draft", "quiet"),
    "in_review": Look("In review", "person", "person"),
    "approved": Look("Approved", "ok", "ok"),
    "retired": Look("Retired", "done", "quiet"),
    "rejected": Look("Rejected", "bad", "bad"),
    "withdrawn": Look("Withdrawn", "none", "quiet"),
    "changes_wanted": Look("Changes wanted", "person", "person"),
}
LETTER = {
    "open": Look("Open", "person", "person"),
    "deferred": Look("Deferred", "pause", "quiet"),
    "asked": Look("Submitter asked", "wait", "quiet"),
    "escalated": Look("Escalated", "person", "person"),
    "quarantined": Look("Quarantined", "bad", "bad"),
    "resolved": Look("Resolved", "done", "quiet"),
}
JOB = {
    "running": Look("Running", "live", "live"),
    "paused": Look("Paused", "pause", "person"),
    "cancelled": Look("Cancelled", "none", "quiet"),
    "done": Look("Done", "done", "quiet"),
    "undoing": Look("Being undone", "live", "live"),
    "undone": Look("Undone", "none", "quiet"),
}
ATTEMPT = {
    "started": Look("Started", "live", "live"),
    "replied": Look("Failed its checks", "person", "person"),
    "passed": Look("Passed its checks", "ok", "ok"),
    "failed": Look("No reply", "bad", "bad"),
    "lost": Look("Lost with its worker", "bad", "bad"),
}
FINDING = {
    "passed": Look("Passed", "ok", "ok"),
    "failed": Look("Failed", "person", "person"),
}

MARK = {
    "right": Look("Right", "ok", "ok"),
    "wrong": Look("Wrong", "bad", "bad"),
    "cannot_judge": Look("Cannot judge", "none", "quiet"),
    "waiting": Look("Waits for a grade", "wait", "quiet"),
    "disputed": Look("Graders differ", "person", "person"),
}
LIGHT = {
    "green": Look("Below the limit", "ok", "ok"),
    "red": Look("Above the limit", "bad", "bad"),
    "amber": Look("Not decided", "person", "person"),
    "no_data": Look("No data", "none", "quiet"),
}
DELIVERY = {
    "waiting": Look("Not sent yet", "wait", "quiet"),
    "sent": Look("Sent", "ok", "ok"),
    "failed": Look("Failed", "bad", "bad"),
    "seen": Look("Seen", "done", "quiet"),
}
ENDPOINT = {
    "open": Look("Left alone", "pause", "person"),
    "half_open": Look("Probing", "live", "live"),
    "closed": Look("Answers", "ok", "ok"),
}

KINDS = {
    "run": RUN,
    "batch": BATCH,
    "version": VERSION,
    "letter": LETTER,
    "job": JOB,
    "attempt": ATTEMPT,
    "finding": FINDING,
    "mark": MARK,
    "light": LIGHT,
    "delivery": DELIVERY,
    "endpoint": ENDPOINT,
}


CLASSES = {
    "syntax": "the reply is no valid JSON",
    "duplicate_key": "a key is there twice",
    "extra_text": "there is text around the JSON",
    "ambiguous_json": "there is more than one JSON value",
    "truncated": "the reply was cut off",
    "empty_output": "the reply is empty",
    "schema": "the reply does not keep the contract",
    "business": "a rule does not hold",
    "judgement": "the judge did not pass it",
    "missing_source_data": "the document does not have what is needed",
    "policy_rejection": "the model refused, or a filter stopped it",
    "context_overflow": "the prompt did not fit the model's window",
    "infrastructure": "the endpoint gave no usable reply",
}
"""What each failure class means, for people."""


def look(kind: str, value: str) -> Look:
    """How the state is shown; a word that is not in the table shows itself."""
    return KINDS[kind].get(value) or Look(value.replace("_", " ").capitalize() or UNKNOWN.word, UNKNOWN.shape, UNKNOWN.tone)
