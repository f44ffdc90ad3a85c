"""An authenticator in Python answers as a browser would: every field that it signs over is tried with something else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.utils import timezone
from fido2.cose import ES256
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

from controller.signature import Invalid
from reviewapp.accounts.models import Role, User
from reviewapp.envelopes import actions, export, keys, passkeys
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.models import Approval, Status, Version
from reviewapp.envelopes.passkeys import PasskeyAnswer
from reviewapp.envelopes.requirements import requirements
from reviewapp.envelopes.verification import verified
from tests.reviewapp.envelopes.test_life import reviewed
from tests.reviewapp.envelopes.test_tampering import _third_party, edit
from tests.reviewapp.factories import person

pytestmark = pytest.mark.django_db

HOST = "testserver"


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Passkey:
    """A key of one person on one address, registered the way the sign-in pages store it."""

    def __init__(self, user: User) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = hashlib.sha256(user.username.encode()).digest()[:16]
        public = ES256.from_cryptography_key(self.key.public_key())
        credential = AttestedCredentialData.create(b"\x00" * 16, self.id, public)
        flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV | AuthenticatorData.FLAG.AT
        made = AuthenticatorData.create(hashlib.sha256(HOST.encode()).digest(), flags, 0, credential)
        client = json.dumps({"type": "webauthn.create", "challenge": text(b"x" * 32), "origin": f"http://{HOST}"}).encode()
        attestation = AttestationObject.create("none", made, {})
        stored = {
            "id": text(self.id),
            "rawId": text(self.id),
            "type": "public-key",
            "response": {"attestationObject": text(bytes(attestation)), "clientDataJSON": text(client)},
            "clientExtensionResults": {},
        }
        Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "key", "credential": stored})

    def answer(self, statement: str, **other: Any) -> str:
        """The browser's JSON; ``other`` puts something else in the place of one part."""
        challenge = other.get("challenge", hashlib.sha256(statement.encode()).digest())
        said = {
            "type": other.get("type", "webauthn.get"),
            "challenge": text(challenge),
            "origin": other.get("origin", f"http://{HOST}"),
        }
        client = json.dumps(said).encode()
        flags = other.get("flags", 0x05)
        data = hashlib.sha256(other.get("rp", HOST).encode()).digest() + bytes([flags]) + b"\x00\x00\x00\x01"
        key = other.get("key", self.key)
        signature = key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return json.dumps(
            {
                "id": text(self.id),
                "rawId": text(other.get("id", self.id)),
                "type": "public-key",
                "response": {"authenticatorData": text(data), "clientDataJSON": text(client), "signature": text(signature)},
            }
        )


@pytest.fixture
def owner() -> User:
    keys.make_key()
    return person("olga", Role.OWNER)


@pytest.fixture
def version(owner: User) -> Version:
    return reviewed(person("author", Role.OWNER), require_passkey=True)


def asked(version: Version, user: User, **at: Any) -> str:
    return passkeys.statement_of(version, user, keys.signing_key(), **at).canonical().decode()


def approve(version: Version, user: User, statement: str, credential: str) -> Version:
    answer = PasskeyAnswer(statement, credential, HOST)
    return actions.approve_version(version, by=user, digest=version.digest, passkey=answer)


def test_passkey_approves_and_verifies(owner: User, version: Version) -> None:
    statement = asked(version, owner)
    assert approve(version, owner, statement, Passkey(owner).answer(statement)).status == Status.APPROVED
    stored = Approval.objects.get()
    assert stored.statement == statement
    assert passkeys.problem(stored.passkey, stored.statement) is None
    assert verified(Version.objects.select_related("envelope", "author").get()) is None
    assert any("by passkey" in row.words for row in requirements(Version.objects.get()) if row.met)


def test_required_passkey_cannot_be_left_out(owner: User, version: Version) -> None:
    with pytest.raises(NotAllowed, match="asks for a passkey"):
        actions.approve_version(version, by=owner, digest=version.digest)


WRONG: dict[str, dict[str, Any]] = {
    "another challenge": {"challenge": b"y" * 32},
    "made at registration": {"type": "webauthn.create"},
    "another origin": {"origin": "http://evil.test"},
    "a subdomain": {"origin": f"http://x.{HOST}"},
    "another relying party": {"rp": "evil.test"},
    "nobody present": {"flags": 0x04},
    "person not verified": {"flags": 0x01},
    "another key": {"key": ec.generate_private_key(ec.SECP256R1())},
    "an unknown credential": {"id": b"z" * 16},
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_assertion_is_refused(owner: User, version: Version, name: str) -> None:
    statement = asked(version, owner)
    with pytest.raises(NotAllowed, match="passkey was not accepted"):
        approve(version, owner, statement, Passkey(owner).answer(statement, **WRONG[name]))
    assert not Approval.objects.exists()


@pytest.mark.parametrize("credential", ["", "null", "{}", "[]", '{"rawId": 1, "response": {}}', "not json"])
def test_broken_answer_is_refused(owner: User, version: Version, credential: str) -> None:
    with pytest.raises(NotAllowed, match="not readable"):
        approve(version, owner, asked(version, owner), credential or " ")


CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "digest": lambda s: s | {"digest": "0" * 64},
    "version": lambda s: s | {"version": 9},
    "task": lambda s: s | {"task": "other"},
    "approver": lambda s: s | {"approver": "mallory"},
    "key": lambda s: s | {"key_id": "0" * 16},
    "time": lambda s: s | {"approved_at": "2020-01-01T00:00:00+00:00"},
    "time without zone": lambda s: s | {"approved_at": "2026-01-01T00:00:00"},
    "approvals needed": lambda s: s | {"approvals_needed": 9},
    "passkey rule": lambda s: s | {"require_passkey": False},
    "form": lambda s: s | {"format": "countersign.approval/1"},
    "one more field": lambda s: s | {"more": 1},
}


@pytest.mark.parametrize("name", CHANGES)
def test_statement_must_be_the_shown_one(owner: User, version: Version, name: str) -> None:
    statement = json.dumps(CHANGES[name](json.loads(asked(version, owner))), sort_keys=True, separators=(",", ":"))
    with pytest.raises(NotAllowed, match="passkey was not accepted"):
        approve(version, owner, statement, Passkey(owner).answer(statement))


@pytest.mark.parametrize(("minutes", "fresh"), [(9, True), (11, False), (-5, False)])
def test_answer_must_be_fresh(owner: User, version: Version, minutes: int, fresh: bool) -> None:
    statement = asked(version, owner, at=timezone.now() - timedelta(minutes=minutes))
    passkey = Passkey(owner)
    if fresh:
        assert approve(version, owner, statement, passkey.answer(statement)).status == Status.APPROVED
    else:
        with pytest.raises(NotAllowed, match="longer than ten minutes"):
            approve(version, owner, statement, passkey.answer(statement))


def test_passkey_of_another_person_is_refused(owner: User, version: Version) -> None:
    statement, other = asked(version, owner), Passkey(person("omar", Role.OWNER))
    with pytest.raises(NotAllowed, match="not one of yours"):
        approve(version, owner, statement, other.answer(statement))


def test_page_asks_and_takes_answer(owner: User, version: Version) -> None:
    client, passkey = Client(), Passkey(owner)
    client.force_login(owner)
    given = client.post("/envelopes/totals/v1/passkey").json()
    assert given["options"]["challenge"] == text(hashlib.sha256(given["statement"].encode()).digest())
    assert given["options"]["allowCredentials"] == [{"type": "public-key", "id": text(passkey.id)}]
    sent = {"digest": version.digest, "statement": given["statement"], "credential": passkey.answer(given["statement"])}
    client.post("/envelopes/totals/v1/approve", sent)
    assert Version.objects.get().status == Status.APPROVED


def test_page_says_when_there_is_no_passkey(owner: User, version: Version) -> None:
    client = Client()
    client.force_login(owner)
    response = client.post("/envelopes/totals/v1/passkey")
    assert (response.status_code, "no passkey" in response.json()["why"]) == (409, True)


def test_third_party_verifies_passkey(owner: User, version: Version, tmp_path: Path) -> None:
    statement = asked(version, owner)
    approve(version, owner, statement, Passkey(owner).answer(statement))
    export.write(Version.objects.select_related("envelope", "author").get(), tmp_path)
    assert _third_party(tmp_path).returncode == 0
    about = json.loads((tmp_path / "approvals.json").read_text())
    other = json.loads(about["approvals"][0]["passkey"])
    other["signature"] = Passkey(person("omar")).answer(statement)[:10]
    about["approvals"][0]["passkey"] = json.dumps(other)
    (tmp_path / "approvals.json").write_text(json.dumps(about))
    assert _third_party(tmp_path).returncode == 1


def lower_rules() -> None:
    """Someone with write access to the database makes the envelope's rules less strict."""
    edit("envelopes_envelope", "approvals_needed", 1)
    edit("envelopes_envelope", "require_passkey", False)


def test_removed_passkey_is_missed(owner: User, version: Version, tmp_path: Path) -> None:
    statement = asked(version, owner)
    approve(version, owner, statement, Passkey(owner).answer(statement))
    lower_rules()
    stored = Version.objects.select_related("envelope", "author")
    assert verified(stored.get()) is None
    edit("envelopes_approval", "passkey", "")
    assert verified(stored.get()) == Invalid("an approval without the passkey that this envelope asks for")
    export.write(stored.get(), tmp_path)
    assert "without the passkey" in _third_party(tmp_path).stdout


def test_rules_change_keeps_what_was_signed(owner: User) -> None:
    version = reviewed(person("author", Role.OWNER), approvals_needed=2, require_passkey=True)
    statement = asked(version, owner)
    approve(version, owner, statement, Passkey(owner).answer(statement))
    rules = {"approvals_needed": 1, "require_passkey": False}
    actions.change_rules(version.envelope, **rules, by=owner, why="we are few")  # type: ignore[arg-type]
    version, second = Version.objects.select_related("envelope", "author").get(), person("omar", Role.OWNER)
    assert [row.words for row in requirements(version) if row.id == "missing-2"] == [
        "Approval 2 of 2 by passkey, by somebody other than Author"
    ]
    with pytest.raises(NotAllowed, match="asks for a passkey"):
        actions.approve_version(version, by=second, digest=version.digest)
    statement = asked(version, second)
    assert approve(version, second, statement, Passkey(second).answer(statement)).status == Status.APPROVED
    assert verified(version) is None
