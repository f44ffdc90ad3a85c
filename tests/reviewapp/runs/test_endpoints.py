from __future__ import annotations

from typing import Any

import pytest

from controller.reply import Fault, InfrastructureError, Message, Request
from reviewapp.runs.endpoints import Endpoints

REQUEST = Request("default", (Message("user", "text"),), 10)


@pytest.mark.parametrize(
    ("address", "model", "words"),
    [("http://127.0.0.1:1/v1", "", "needs a model name"), ("not an address", "m", "")],
)
def test_wrong_settings_are_a_fault_of_configuration(
    monkeypatch: pytest.MonkeyPatch, settings: Any, address: str, model: str, words: str
) -> None:
    """Not an exception that leaves the run to be taken up for ever."""
    settings.COUNTERSIGN_ENDPOINT = address
    monkeypatch.setenv("COUNTERSIGN_MODEL", model)
    backend = Endpoints().get("default")
    assert backend is not None
    with pytest.raises(InfrastructureError, match=words) as error:
        backend.complete(REQUEST, 1000)
    assert (error.value.fault, error.value.retryable) == (Fault.CONFIGURATION, False)


def test_unknown_alias_has_no_endpoint(settings: Any) -> None:
    settings.COUNTERSIGN_ENDPOINT = ""
    assert Endpoints().get("default") is None
