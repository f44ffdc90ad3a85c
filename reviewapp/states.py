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
}
LETTER = {
    "open": Look("Open", "person", "person"),
    "resolved": Look("Resolved", "done", "quiet"),
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

KINDS = {"run": RUN, "batch": BATCH, "version": VERSION, "letter": LETTER, "attempt": ATTEMPT, "finding": FINDING}


def look(kind: str, value: str) -> Look:
    """How the state is shown; a word that is not in the table shows itself."""
    return KINDS[kind].get(value) or Look(value.replace("_", " ").capitalize() or UNKNOWN.word, UNKNOWN.shape, UNKNOWN.tone)
