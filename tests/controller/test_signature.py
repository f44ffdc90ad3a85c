"""Statements, their two forms, and what counts when the envelope's own rules say less than what was signed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from controller import signature
from controller.signature import Invalid, PublicKey, Rules, Signed, Statement

KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
KEYS = {signature.key_id_of(KEY.public_key()): PublicKey(KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))}
CONTENT = b'{"task":"totals"}'
DIGEST = hashlib.sha256(CONTENT).hexdigest()
AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

rules = st.builds(Rules, st.integers(1, 9), st.booleans())


def statement(approver: str = "olga", rules: Rules | None = Rules()) -> Statement:  # noqa: B008  a frozen value
    made = signature.state(KEY, task="totals", version=1, digest=DIGEST, approver=approver, at=AT, rules=rules or Rules())
    return replace(made, rules=rules)


def verified(*approvals: Signed, needed: int = 1) -> Invalid | None:
    return signature.verify(
        CONTENT, task="totals", version=1, digest=DIGEST, author="arne", approvals=approvals, needed=needed, keys=KEYS
    )


def signed(approver: str = "olga", rules: Rules | None = Rules()) -> Signed:  # noqa: B008  a frozen value
    return signature.sign_statement(KEY, statement(approver, rules))


@pytest.mark.parametrize(
    ("rules", "form", "fields"),
    [(None, "countersign.approval/1", 7), (Rules(2, True), "countersign.approval/2", 9)],
)
def test_both_forms_are_read_back(rules: Rules | None, form: str, fields: int) -> None:
    text = statement(rules=rules).canonical().decode()
    assert (json.loads(text)["format"], len(json.loads(text))) == (form, fields)
    assert signature.read_statement(text) == statement(rules=rules)


def test_first_form_still_verifies() -> None:
    assert verified(signed(rules=None)) is None
    assert isinstance(verified(signed(rules=None), needed=2), Invalid)


def test_lowered_number_frees_nothing() -> None:
    rules = Rules(approvals_needed=2)
    assert verified(signed("olga", rules), needed=1) == Invalid("1 of 2 needed approvals are there")
    assert verified(signed("olga", rules), signed("omar", rules), needed=1) is None


def test_raised_number_counts_at_once() -> None:
    assert verified(signed(), needed=2) == Invalid("1 of 2 needed approvals are there")


@given(rules, st.lists(st.one_of(st.none(), rules), max_size=4))
def test_strictest_rule_of_all_holds(own: Rules, given: list[Rules | None]) -> None:
    found = signature.strictest(own, [statement(rules=one).canonical().decode() for one in given])
    said = [own, *(one for one in given if one is not None)]
    assert found.approvals_needed == max(one.approvals_needed for one in said)
    assert found.require_passkey == any(one.require_passkey for one in said)


FORMS = {
    "a rule left out": {"require_passkey": None},
    "no approval needed": {"approvals_needed": 0},
    "a number as text": {"approvals_needed": "2"},
    "true as a number": {"approvals_needed": True},
    "one more field": {"more": 1},
    "an unknown form": {"format": "countersign.approval/3"},
    "rules in the first form": {"format": "countersign.approval/1"},
}


@pytest.mark.parametrize("name", FORMS)
def test_other_forms_are_refused(name: str) -> None:
    """Even when the key signed them: the signature says who wrote a statement, not that it is one."""
    found = json.loads(statement().canonical()) | FORMS[name]
    text = json.dumps({k: v for k, v in found.items() if v is not None}, sort_keys=True, separators=(",", ":"))
    made = KEY.sign(signature.pre_authentication_encoding(text.encode()))
    approval = replace(signed(), statement=text, signature=signature.base64.b64encode(made).decode())
    assert isinstance(verified(approval), Invalid)
    assert signature.read_statement(text) is None


def test_statement_of_another_key_is_refused() -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)
    with pytest.raises(ValueError, match="another key"):
        signature.sign_statement(other, statement())
