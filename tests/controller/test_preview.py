from __future__ import annotations

from controller.backends.scripted import Scripted
from controller.fuse import Fuse
from controller.preview import NotSent, Sent, first_attempt, second_attempts
from controller.reply import Request
from controller.testing import run_record
from controller.tokens import utf8_bytes
from tests.envelopes import SMALL, small

DOCUMENT = "2 teas\nTotal 15.00"
REPAIR = [{"id": "copy", "text": "Copy."}, {"id": "again", "text": "Mend.", "carries": ["previous_output", "errors"]}]


def asked(replies: list[str], envelope: object = None) -> list[Request]:
    seen: list[Request] = []

    def answer(request: Request) -> str:
        seen.append(request)
        return replies[len(seen) - 1]

    run_record(envelope or small(), DOCUMENT, Scripted(answer))  # type: ignore[arg-type]
    return seen


def test_first_attempt_is_what_runs_send() -> None:
    shown = first_attempt(small(), DOCUMENT, utf8_bytes)
    assert isinstance(shown, Sent)
    (request,) = asked(['{"total":"15.00","qty":2}'])
    assert shown.digest == request.digest
    assert shown.prompt.messages == request.messages


def test_second_attempt_is_what_runs_send() -> None:
    shown = {second.check: second.following for second in second_attempts(small(), DOCUMENT, utf8_bytes)}
    following = shown["total-printed"]
    assert isinstance(following, Sent)
    assert following.directives == ("/total: copy the number as printed.",)
    _, request = asked(['{"total":"9.99","qty":2}', '{"total":"15.00","qty":2}'])
    assert following.digest == request.digest


def test_schema_failure_names_first_field() -> None:
    shown = {second.check: second.following for second in second_attempts(small(), DOCUMENT, utf8_bytes)}
    assert isinstance(shown["schema"], Sent)
    assert shown["schema"].directives == ("/total: follow the schema.",)
    assert isinstance(shown["json"], Sent)


def test_no_second_attempt_says_why() -> None:
    alone = second_attempts(small(graph={"start": "copy", "edges": []}), DOCUMENT, utf8_bytes)
    assert {second.following.fuse for second in alone if isinstance(second.following, NotSent)} == {Fuse.EDGE_MISSING}


def test_repair_carries_example_reply() -> None:
    shown = {second.check: second.following for second in second_attempts(small(plans=REPAIR), DOCUMENT, utf8_bytes)}
    sent = shown["total-printed"]
    assert isinstance(sent, Sent)
    assert [block.name for block in sent.prompt.blocks][4:6] == ["ledger", "previous_output"]


def test_too_long_document_names_its_block() -> None:
    shown = first_attempt(small(), "x" * 5000, utf8_bytes)
    assert isinstance(shown, NotSent)
    assert shown.over is not None
    assert (shown.over.block, shown.over.cap) == ("document", SMALL["limits"]["caps"]["document"])
    assert second_attempts(small(), "x" * 5000, utf8_bytes) == ()
