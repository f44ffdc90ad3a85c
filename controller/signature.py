"""Signed approvals: an Ed25519 signature over a statement about one version's digest. Verification fails closed.

The statement is RFC 8785 JSON; what is signed is its DSSE pre-authentication encoding (secure-systems-lab/dsse, protocol.md):
``"DSSEv1" SP len(type) SP type SP len(body) SP body``, lengths in bytes as decimal digits. So a signature for one kind of
statement can never be read as one for another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

STATEMENT_TYPE = "application/vnd.countersign.approval+json"
STATEMENT_FORMAT = "countersign.approval/2"
FORMAT_WITHOUT_RULES = "countersign.approval/1"
"""The first form of the statement, which did not say by which rules it was given. What it signed stays valid."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How many different people must approve a version, and whether each by passkey."""

    approvals_needed: int = 1
    require_passkey: bool = False

    def stricter(self, other: Rules) -> Rules:
        """What satisfies both."""
        return Rules(
            max(self.approvals_needed, other.approvals_needed),
            self.require_passkey or other.require_passkey,
        )


@dataclass(frozen=True, slots=True)
class Statement:
    """What an approver says: this person approved exactly these bytes, as this version of this task, at this time (UTC).

    ``rules`` are the envelope's approval rules at that time, so that lowering them afterwards frees nothing that was signed;
    ``None`` in a statement of the first form.
    """

    task: str
    version: int
    digest: str
    approver: str
    approved_at: str
    key_id: str
    rules: Rules | None

    def canonical(self) -> bytes:
        rules = {} if self.rules is None else asdict(self.rules)
        return rfc8785.dumps(
            {
                "format": FORMAT_WITHOUT_RULES if self.rules is None else STATEMENT_FORMAT,
                "task": self.task,
                "version": self.version,
                "digest": self.digest,
                "approver": self.approver,
                "approved_at": self.approved_at,
                "key_id": self.key_id,
                **rules,
            }
        )


@dataclass(frozen=True, slots=True)
class Signed:
    """One stored approval: the statement's bytes as text, the signature in base64, and the key that made it."""

    statement: str
    signature: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why a version may not run, in words for its operator."""

    why: str


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that may have signed: revoked keys are kept, so that what they signed is refused by name."""

    raw: bytes
    revoked: bool = False


def pre_authentication_encoding(body: bytes, payload_type: str = STATEMENT_TYPE) -> bytes:
    """DSSE v1 PAE of a statement."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)


def key_id_of(public: Ed25519PublicKey) -> str:
    """The first 16 hex digits of the SHA-256 of the raw public key."""
    return hashlib.sha256(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def state(
    key: Ed25519PrivateKey, *, task: str, version: int, digest: str, approver: str, at: datetime, rules: Rules
) -> Statement:
    """The statement that ``key`` would sign; ``at`` must be aware. A passkey can answer to it before it is signed."""
    if at.tzinfo is None:
        raise ValueError("the time of an approval needs a time zone")
    return Statement(task, version, digest, approver, at.isoformat(timespec="seconds"), key_id_of(key.public_key()), rules)


def sign_statement(key: Ed25519PrivateKey, statement: Statement) -> Signed:
    """The statement signed. ``ValueError`` where it names another key."""
    if statement.key_id != key_id_of(key.public_key()):
        raise ValueError("the statement names another key")
    body = statement.canonical()
    signature = key.sign(pre_authentication_encoding(body))
    return Signed(body.decode("utf-8"), base64.b64encode(signature).decode("ascii"), statement.key_id)


def read_statement(text: str) -> Statement | None:
    """The statement in a text; ``None`` where it is not exactly one, in canonical form."""
    body = text.encode("utf-8", "surrogatepass")
    statement = _read(body)
    return statement if isinstance(statement, Statement) and statement.canonical() == body else None


def strictest(rules: Rules, statements: Iterable[str]) -> Rules:
    """The rules that hold: the envelope's, or any stricter one under which one of these approvals was given.

    Texts that are no statements say nothing here: ``verify`` is what refuses them.
    """
    for text in statements:
        statement = read_statement(text)
        if statement is not None and statement.rules is not None:
            rules = rules.stricter(statement.rules)
    return rules


def verify(
    canonical: bytes,
    *,
    task: str,
    version: int,
    digest: str,
    author: str,
    approvals: Iterable[Signed],
    needed: int,
    keys: Mapping[str, PublicKey],
) -> Invalid | None:
    """``None`` when ``needed`` different people other than the author validly signed exactly these bytes; else why not.

    ``needed`` is the envelope's number now; a higher one in any of the statements counts in its place. Every stored approval
    must verify, not just enough of them: an altered row is a reason to stop, whatever else there is.
    """
    if needed < 1:
        return Invalid("no number of approvals is asked for")
    if hashlib.sha256(canonical).hexdigest() != digest:
        return Invalid("the stored content is not what its digest says")
    approvers = set()
    for approval in approvals:
        statement = _verified(approval, keys)
        if isinstance(statement, Invalid):
            return statement
        if (statement.task, statement.version, statement.digest) != (task, version, digest):
            return Invalid("an approval is for another task, version or content")
        if statement.approver == author:
            return Invalid("an approval is the author's own")
        approvers.add(statement.approver)
        needed = max(needed, statement.rules.approvals_needed) if statement.rules else needed
    if len(approvers) < needed:
        return Invalid(f"{len(approvers)} of {needed} needed approvals are there")
    return None


_FIELDS = {"format": str, "task": str, "version": int, "digest": str, "approver": str, "approved_at": str, "key_id": str}
_RULES = {"approvals_needed": int, "require_passkey": bool}
_FORMS = {FORMAT_WITHOUT_RULES: _FIELDS, STATEMENT_FORMAT: _FIELDS | _RULES}


def _verified(approval: Signed, keys: Mapping[str, PublicKey]) -> Invalid | Statement:
    key = keys.get(approval.key_id)
    if key is None:
        return Invalid(f"an approval names the unknown key {approval.key_id[:16]}")
    if key.revoked:
        return Invalid(f"an approval was made with the revoked key {approval.key_id[:16]}")
    body = approval.statement.encode("utf-8", "surrogatepass")
    try:
        signature = base64.b64decode(approval.signature, validate=True)
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, pre_authentication_encoding(body))
    except (InvalidSignature, binascii.Error, ValueError):
        return Invalid("an approval's signature does not match its statement")
    statement = _read(body)
    if isinstance(statement, Statement) and statement.key_id != approval.key_id:
        return Invalid("an approval's statement names another key")
    return statement


def _read(body: bytes) -> Invalid | Statement:
    from controller import strict_json

    try:
        found: Any = strict_json.parse_bytes(body)
    except strict_json.Malformed:
        return Invalid("an approval's statement is not JSON")
    form = _FORMS.get(str(found.get("format"))) if isinstance(found, dict) else None
    if form is None or {name: type(value) for name, value in found.items()} != form:
        return Invalid("an approval's statement has an unknown form")
    rules = Rules(**{name: found[name] for name in _RULES}) if _RULES.keys() <= form.keys() else None
    if rules is not None and rules.approvals_needed < 1:
        return Invalid("an approval's statement asks for no approval")
    return Statement(**{name: found[name] for name in _FIELDS if name != "format"}, rules=rules)
