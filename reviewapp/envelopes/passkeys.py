"""Approvals by passkey: a WebAuthn assertion whose challenge is the SHA-256 of the statement that the server then signs.

People's credentials are those that they registered for signing in (allauth keeps them). The assertion is verified with the
``fido2`` package's types, which allauth brings along and in whose form it keeps the credentials; a second WebAuthn library
would have to read them again. What is stored beside an approval is enough to verify it elsewhere (docs/approvals.md).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key
from django.conf import settings
from django.utils import timezone
from fido2.cose import CoseKey
from fido2.webauthn import AttestedCredentialData, AuthenticatorData, CollectedClientData

from controller import signature
from controller.signature import Statement
from reviewapp.accounts.models import User
from reviewapp.envelopes import rules
from reviewapp.envelopes.models import Version

FRESH = timedelta(minutes=10)
"""How long a person may take between being asked for the passkey and sending its answer."""
FORMAT = "countersign.passkey/1"


class Refused(Exception):
    """Why an assertion is not accepted, in words."""


@dataclass(frozen=True, slots=True)
class PasskeyAnswer:
    """What the browser sent: the statement that was shown, the credential's JSON, and the address that the page has."""

    statement: str
    credential: str
    host: str


def statement_of(version: Version, by: User, key: Ed25519PrivateKey, at: datetime | None = None) -> Statement:
    """What ``by`` would say about the version now."""
    return signature.state(
        key,
        task=version.envelope.slug,
        version=version.number,
        digest=version.digest,
        approver=by.username,
        at=at or timezone.now(),
        rules=rules.holding(version),
    )


def credentials_of(user: User) -> list[AttestedCredentialData]:
    """The passkeys that the person has registered."""
    rows = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.WEBAUTHN)
    found = [row.wrap().authenticator_data.credential_data for row in rows]
    return [credential for credential in found if credential is not None]


def has_passkey(user: User) -> bool:
    return Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.WEBAUTHN).exists()


def options(statement: Statement, credentials: Sequence[AttestedCredentialData], host: str) -> dict[str, Any]:
    """What ``navigator.credentials.get`` is asked: binary values in URL-safe base64 without padding."""
    return {
        "challenge": _text(challenge(statement.canonical())),
        "rpId": host,
        "timeout": int(FRESH.total_seconds() * 1000),
        "userVerification": "required",
        "allowCredentials": [{"type": "public-key", "id": _text(credential.credential_id)} for credential in credentials],
    }


def challenge(statement: bytes) -> bytes:
    return hashlib.sha256(statement).digest()


def checked(version: Version, by: User, key: Ed25519PrivateKey, answer: PasskeyAnswer) -> tuple[Statement, str]:
    """The statement that the passkey answered to, and the assertion as stored JSON. Raises ``Refused``."""
    statement = signature.read_statement(answer.statement)
    if statement is None:
        raise Refused("the statement is not readable")
    at = _instant(statement.approved_at)
    if at is None or statement != statement_of(version, by, key, at):
        raise Refused("the statement is not the one for this version, person and key")
    if not timedelta(0) <= timezone.now() - at + timedelta(seconds=1) <= FRESH:
        raise Refused("it took longer than ten minutes: start again")
    assertion = _assertion(answer, credentials_of(by))
    why = problem(assertion, answer.statement)
    if why is not None:
        raise Refused(why)
    return statement, assertion


def _instant(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def _assertion(answer: PasskeyAnswer, known: Sequence[AttestedCredentialData]) -> str:
    try:
        sent = json.loads(answer.credential)
        identifier, response = _bytes(sent["rawId"]), sent["response"]
        parts = {name: response[name] for name in ("authenticatorData", "clientDataJSON", "signature")}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused("the browser's answer is not readable") from None
    credential = next((c for c in known if c.credential_id == identifier), None)
    if credential is None:
        raise Refused("the passkey is not one of yours")
    return json.dumps(
        {
            "format": FORMAT,
            "rp_id": answer.host,
            "credential_id": _text(identifier),
            "public_key": _text(_public_key(credential.public_key)),
            **parts,
        },
        sort_keys=True,
    )


def problem(assertion: str, statement: str) -> str | None:
    """``None`` when the stored assertion is a valid answer to exactly this statement; else why not."""
    try:
        stored = json.loads(assertion)
        client = CollectedClientData(_bytes(stored["clientDataJSON"]))
        authenticator = AuthenticatorData(_bytes(stored["authenticatorData"]))
        public_key = load_der_public_key(_bytes(stored["public_key"]))
        signed, host = _bytes(stored["signature"]), stored["rp_id"]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error, IndexError, UnsupportedAlgorithm):
        return "the assertion is not readable"
    if client.type != CollectedClientData.TYPE.GET:
        return "the assertion was made for something else"
    if client.challenge != challenge(statement.encode("utf-8", "surrogatepass")):
        return "the assertion answers to another statement"
    if not _is_of(client.origin, host) or authenticator.rp_id_hash != hashlib.sha256(host.encode()).digest():
        return "the assertion was made for another address"
    if not authenticator.is_user_present() or not authenticator.is_user_verified():
        return "the passkey did not check that it was its person"
    return None if _holds(public_key, authenticator + client.hash, signed) else "the assertion's signature does not match"


def _holds(key: object, data: bytes, signed: bytes) -> bool:
    try:
        if isinstance(key, Ed25519PublicKey):
            key.verify(signed, data)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signed, data, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signed, data, padding.PKCS1v15(), hashes.SHA256())
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _public_key(cose: CoseKey) -> bytes:
    """The key in the form that every library reads (X.509 SubjectPublicKeyInfo, DER). ``Refused`` for other algorithms."""
    key: Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey
    if cose.get(3) == -7:
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(cose[-2], "big"), int.from_bytes(cose[-3], "big"), ec.SECP256R1()
        )
        key = numbers.public_key()
    elif cose.get(3) == -8:
        key = Ed25519PublicKey.from_public_bytes(cose[-2])
    elif cose.get(3) == -257:
        key = rsa.RSAPublicNumbers(int.from_bytes(cose[-2], "big"), int.from_bytes(cose[-1], "big")).public_key()
    else:
        raise Refused("its kind of key is not supported: ES256, EdDSA and RS256 are")
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _is_of(origin: str, host: str) -> bool:
    """Whether the page that asked was the product's own. Plain http counts outside production only, as for signing in."""
    parts = urlsplit(origin)
    schemes = {"https"} if settings.PRODUCTION else {"https", "http"}
    return parts.scheme in schemes and parts.hostname == host


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes(text: object) -> bytes:
    if not isinstance(text, str):
        raise TypeError("text is expected")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
