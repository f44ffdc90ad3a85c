"""Key, document and reply text occur in no error, no chain of causes, no log line and no representation."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest

from controller.backends import OpenAICompatible
from controller.reply import InfrastructureError
from tests.controller.backends.calls import DOCUMENT, SECRET, a_request
from tests.stub_endpoint import Disconnect, Drip, Fail, Raw, Say, StubEndpoint

REPLY = "reply-text-5d1f"
PASSWORD = "hunter2-in-url"

FAULTS: list[Any] = [
    Fail(401, {"error": {"message": f"wrong key {SECRET}: {REPLY}"}}),
    Fail(400, {"error": {"message": REPLY, "code": REPLY}}),
    Fail(400, f"{REPLY} {SECRET}".encode()),
    Fail(503, REPLY.encode()),
    Fail(307, b"", headers={"Location": f"http://127.0.0.1:1/?{REPLY}"}),
    Raw(f'{{"choices": "{REPLY}'.encode()),
    Raw(f"{REPLY}".encode() + b"\xff"),
    Raw(f'{{"choices": "{REPLY}"}}'.encode()),
    Say(7, message={"reasoning_content": REPLY}),
    Drip(Say(REPLY * 200)),
    Disconnect("body", answer=Say(REPLY * 20)),
    Raw(REPLY.encode(), headers={"Content-Length": REPLY}),
]


def _everything(error: BaseException) -> str:
    """The error, its chain and every attribute that an error report would print."""
    texts, todo = ["".join(traceback.format_exception(error))], [error]
    while todo:
        link = todo.pop()
        texts += [repr(link), str(link.args), repr(vars(link))]
        todo += [e for e in (link.__cause__, link.__context__) if e is not None]
    return "\n".join(texts)


@pytest.mark.parametrize("behaviour", FAULTS)
def test_error_and_logs_hold_no_secret(
    behaviour: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with StubEndpoint([behaviour]) as stub, pytest.raises(InfrastructureError) as caught:
        OpenAICompatible(stub.url, "stub", SECRET).complete(a_request(), 300)
    seen = _everything(caught.value) + caplog.text + "".join(capfd.readouterr())
    assert not [secret for secret in (SECRET, REPLY, DOCUMENT) if secret in seen]


def test_url_password_stays_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with StubEndpoint([Fail(503), Disconnect("before")]) as stub:
        backend = OpenAICompatible(stub.url.replace("//", f"//ann:{PASSWORD}@"), "stub")
        errors = []
        for _ in range(2):
            with pytest.raises(InfrastructureError) as caught:
                backend.complete(a_request(), 5_000)
            errors.append(_everything(caught.value))
    assert PASSWORD not in "".join(errors) + caplog.text + repr(backend)


def test_good_reply_logs_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with StubEndpoint([Say(REPLY, message={"reasoning_content": "thought-91"})]) as stub:
        reply = OpenAICompatible(stub.url, "stub", SECRET).complete(a_request(), 5_000)
    assert "thought-91" not in repr(reply)
    assert not [secret for secret in (SECRET, REPLY, DOCUMENT, "thought-91") if secret in caplog.text]
