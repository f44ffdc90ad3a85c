"""The demo's next version, still a draft: its replies are recorded, right values pass it, and the demo does not run it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from controller.authoring import read
from controller.backends.cassette import Cassette
from controller.backends.recorded import Recorded
from controller.backends.scripted import Scripted
from controller.envelope import Envelope
from controller.lint import lint
from controller.testing import FakeClock, Story, run_record
from examples.record import CASSETTE, ENVELOPES, HERE, documents
from tests.examples.test_shipped_envelopes import rows

DRAFT = HERE / "envelopes" / "receipt-fields-v3-draft.yaml"


@pytest.fixture(scope="module")
def draft() -> Envelope:
    return read(DRAFT.read_text(encoding="utf-8"))


def stories(draft: Envelope) -> Iterator[Story]:
    backend = Recorded(Cassette.load(CASSETTE))
    for key, document in documents():
        yield run_record(draft, document, backend, key=key, clock=FakeClock())


def test_every_prompt_was_recorded(draft: Envelope) -> None:
    results = [story.result for story in stories(draft)]
    assert "infrastructure" not in {result.reason for result in results}
    assert {result.status for result in results} == {"accepted", "dead_lettered"}


def test_right_values_are_accepted(draft: Envelope) -> None:
    for row in rows("receipt-fields")[:48]:
        reference = row["reference"]
        reference["items"] = [{name: item[name] for name in ("name", "price")} for item in reference["items"]]
        story = run_record(draft, row["document"], Scripted(lambda _, value=reference: json.dumps(value)), key=row["id"])
        assert story.result.status == "accepted", row["id"]


def test_lint_has_nothing_to_say(draft: Envelope) -> None:
    assert lint(draft) == ()


def test_is_not_a_version_of_the_demo() -> None:
    assert DRAFT.exists()
    assert DRAFT not in [*(HERE / "envelopes").glob("receipt-fields.v*.yaml"), *ENVELOPES]
