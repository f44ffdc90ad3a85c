from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from controller.backends import BACKENDS, Scripted
from controller.reply import Fault, Finish, InfrastructureError, Reply
from tests.controller.backends.calls import a_request


def test_answers_in_order() -> None:
    model = Scripted(["{}", Reply("{", Finish.LENGTH), InfrastructureError(Fault.SERVER, "503")])
    assert model.complete(a_request("1"), 1).text == "{}"
    assert model.complete(a_request("2"), 1).finish is Finish.LENGTH
    with pytest.raises(InfrastructureError, match="503"):
        model.complete(a_request("3"), 1)
    assert [r.messages[-1].content for r in model.requests] == ["1", "2", "3"]


def test_unexpected_call_is_an_error() -> None:
    model = Scripted([])
    with pytest.raises(InfrastructureError, match="no answer for call 1") as caught:
        model.complete(a_request(), 1)
    assert (caught.value.fault, caught.value.retryable) == (Fault.CONFIGURATION, False)


def test_function_sees_the_request() -> None:
    model = Scripted(lambda request: request.messages[-1].content)
    assert model.complete(a_request("echo"), 1).text == "echo"


def test_call_without_time_is_unseen() -> None:
    model = Scripted(["{}"])
    with pytest.raises(InfrastructureError) as caught:
        model.complete(a_request(), 0)
    assert (caught.value.fault, model.requests) == (Fault.TIMEOUT, [])


def test_threads_share_one_script() -> None:
    model = Scripted([str(n) for n in range(200)])
    with ThreadPoolExecutor(16) as threads:
        said = list(threads.map(lambda _: model.complete(a_request(), 1).text, range(200)))
    assert sorted(said, key=lambda text: int(text or 0)) == [str(n) for n in range(200)]


def test_every_backend_can_complete() -> None:
    assert sorted(BACKENDS) == ["openai_compatible", "recorded", "scripted"]
    assert all(callable(kind.complete) for kind in BACKENDS.values())
