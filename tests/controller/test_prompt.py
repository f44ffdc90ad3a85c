"""Blocks, caps, marks: the same envelope and state give the same bytes, and nothing is ever cut."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import prompt
from controller.envelope import Envelope
from controller.ledger import Directive
from controller.prompt import Carried, OverCap, Prompt
from controller.reply import Request
from controller.tokens import MESSAGE_OVERHEAD, utf8_bytes
from tests.envelopes import small

LEDGER = (Directive("g", "c", "c", "Copy it."), Directive("h", "c", "c", "And that."))
PLANS = [{"id": "copy", "text": "Copy."}, {"id": "again", "text": "Repair.", "carries": ["previous_output", "errors"]}]
CARRIED = Carried('{"total":1}', (("/total", "type string"), ("", "one value")), ("/qty",))


def built(envelope: Envelope, plan: int = 0, **fields: Any) -> Prompt | OverCap:
    return prompt.build(
        envelope, envelope.plans[plan], fields.pop("ledger", ()), fields.pop("document", "Total 1"), utf8_bytes, **fields
    )


def whole(made: Prompt | OverCap) -> Prompt:
    assert isinstance(made, Prompt)
    return made


def request(envelope: Envelope, made: Prompt, plan: int = 0, attempt: int = 1) -> Request:
    return prompt.request(envelope, envelope.plans[plan], made, alias="default", attempt=attempt, record="r")


def test_unchanging_parts_come_first() -> None:
    made = whole(built(small(plans=PLANS), 1, ledger=LEDGER, carried=CARRIED))
    assert [block.name for block in made.blocks] == [
        "invariants", "document", "contract", "plan", "ledger", "previous_output", "errors", "task", "reminder",
    ]  # fmt: skip
    assert [m.role for m in made.messages] == ["system", "user"]
    assert made.messages[0].content == small().invariants


def test_later_attempt_shares_the_prefix() -> None:
    first, second = (whole(built(small(), plan, ledger=ledger)).messages[1].content for plan, ledger in ((0, ()), (1, LEDGER)))
    contract = prompt.contract_block(small())
    assert first[: first.index(contract) + len(contract)] == second[: second.index(contract) + len(contract)]


def test_parts_read_as_documented() -> None:
    blocks = {b.name: b.text for b in whole(built(small(plans=PLANS), 1, ledger=LEDGER, carried=CARRIED)).blocks}
    assert blocks["ledger"] == "\nTake care this time:\n- Copy it.\n- And that.\n"
    assert (
        blocks["errors"] == "\nWrong in the previous output:\n- /total: type string\n- /: one value\nKeep as they are: /qty\n"
    )
    assert blocks["task"] == "\nReturn one JSON object."
    kept = whole(built(small(plans=PLANS), 1, carried=Carried("{}", (("/a", "x"),), ("/b", "/c"))))
    nothing = whole(built(small(plans=PLANS), 1, carried=Carried("{}", (("/a", "x"),))))
    texts = [next(b.text for b in made.blocks if b.name == "errors") for made in (kept, nothing)]
    assert texts[0].endswith("- /a: x\nKeep as they are: /b, /c\n")
    assert texts[1].endswith("- /a: x\n")
    assert blocks["reminder"] == "\n\nCopy as printed."
    assert blocks["contract"] == "\nJSON Schema of the reply:\n" + json.dumps(small().contract, separators=(",", ":")) + "\n"


def test_owners_words_replace_the_schema() -> None:
    assert prompt.contract_block(small(contract_text="An object.")) == "An object."


def test_contract_text_keeps_its_letters() -> None:
    envelope = small(contract={"properties": {"größe": {}}}, checks=[], templates=[])
    assert "größe" in prompt.contract_block(envelope)


def test_nothing_carried_unless_declared() -> None:
    names = [block.name for block in whole(built(small(), carried=CARRIED)).blocks]
    assert not {"previous_output", "errors"} & set(names)


def test_no_errors_block_without_errors() -> None:
    names = [block.name for block in whole(built(small(plans=PLANS), 1, carried=Carried("{}"))).blocks]
    assert "previous_output" in names
    assert "errors" not in names


def test_no_reminder_block_without_words() -> None:
    assert [b.name for b in whole(built(small(reminder=""))).blocks][-1] == "task"


CAPPED = ["invariants", "document", "contract", "plan", "ledger", "previous_output", "errors", "task", "reminder"]


@pytest.mark.parametrize("name", CAPPED)
def test_block_over_its_cap_is_not_sent(name: str) -> None:
    fields: dict[str, Any] = {"ledger": LEDGER, "carried": CARRIED}
    size = next(b.tokens for b in whole(built(small(plans=PLANS), 1, **fields)).blocks if b.name == name)
    full = {f"limits__caps__{name}": size}
    assert isinstance(built(small(plans=PLANS, **full), 1, **fields), Prompt)
    over = built(small(plans=PLANS, **{f"limits__caps__{name}": size - 1}), 1, **fields)
    assert over == OverCap(name, size, size - 1)


def test_size_counts_the_message_marks() -> None:
    made = whole(built(small()))
    assert made.tokens == sum(len(b.text.encode()) for b in made.blocks) + 2 * MESSAGE_OVERHEAD


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_document_stands_between_its_own_marks(document: str) -> None:
    marked = prompt.marked("document", document)
    first, rest = marked.split("\n", 1)
    mark = first.removeprefix("[document ").removesuffix("]")
    assert rest == f"{document}\n[end of document {mark}]\n"
    assert mark not in document
    assert hashlib.sha256(document.encode()).hexdigest().startswith(mark)
    assert len(mark) >= 12


def test_longer_mark_where_the_short_one_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Digest:
        def hexdigest(self) -> str:
            return "0123456789abcdef" * 4

    monkeypatch.setattr(hashlib, "sha256", lambda data: Digest())
    assert prompt.marked("document", "x 0123456789ab y").startswith("[document 0123456789abcdef]")
    assert prompt.marked("document", "0123456789abcdef").startswith("[document 0123456789abcdef0123]")
    assert prompt.marked("document", "0123456789ab" + "cdef").count("0123456789abcdef0123") == 2


def test_same_state_same_digest() -> None:
    envelope = small()
    assert request(envelope, whole(built(envelope))).digest == request(envelope, whole(built(envelope))).digest


def test_seed_moves_with_the_attempt() -> None:
    envelope = small()
    made = whole(built(envelope))
    assert [request(envelope, made, attempt=n).seed for n in (1, 2, 3)] == [1, 2, 3]
    assert request(small(model__seed=None), made).seed is None


def test_plan_overrides_the_models_settings() -> None:
    plans = [{"id": "copy", "text": "Copy."}, {"id": "again", "text": "Again.", "temperature": 0.57, "max_output_tokens": 999}]
    envelope = small(plans=plans)
    made = whole(built(envelope))
    assert (request(envelope, made, 0).temperature_hundredths, request(envelope, made, 0).max_output_tokens) == (0, 200)
    assert (request(envelope, made, 1).temperature_hundredths, request(envelope, made, 1).max_output_tokens) == (57, 999)


def test_schema_is_sent_only_when_asked_for() -> None:
    for kind, schema in (("none", None), ("json_object", None), ("json_schema", small().contract)):
        envelope = small(model__response_format=kind)
        sent = request(envelope, whole(built(envelope)))
        assert (sent.response_format, sent.schema) == (kind, schema)


def test_place_of_a_request_is_named() -> None:
    sent = request(small(), whole(built(small())), attempt=2)
    assert (sent.alias, sent.record, sent.attempt) == ("default", "r", 2)


@pytest.mark.parametrize(("text", "sendable"), [("", True), ("ä\x00😀", True), ("\ud800", False)])
def test_half_a_pair_cannot_be_sent(text: str, sendable: bool) -> None:
    assert prompt.is_sendable(text) is sendable
