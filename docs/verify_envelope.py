#!/usr/bin/env python3
"""Verifies an exported envelope version with Python and the ``cryptography`` package alone; nothing of Countersign is needed.

    python verify_envelope.py FOLDER [KEYS_FILE]

FOLDER is what ``manage.py export_envelope SLUG NUMBER FOLDER`` wrote. KEYS_FILE is a list of public keys that you got by
another way and trust; without it the exported keys.json is used, which only shows that the export fits together. Exit status 0
means valid.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

TYPE = b"application/vnd.countersign.approval+json"
FORMATS = ("countersign.approval/1", "countersign.approval/2")
"""The second form says the approval rules too: how many different people, and whether each by passkey."""


def url_bytes(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def check_signature(approval, keys):
    """The statement, when a trusted key that is not revoked signed it (DSSE pre-authentication encoding, Ed25519)."""
    key = keys.get(approval["key_id"])
    if key is None:
        raise ValueError(f"unknown key {approval['key_id']}")
    if key.get("revoked"):
        raise ValueError(f"revoked key {approval['key_id']}")
    public = base64.b64decode(key["public_key"])
    if hashlib.sha256(public).hexdigest()[:16] != approval["key_id"]:
        raise ValueError("a key whose id is not its hash")
    body = approval["statement"].encode()
    message = b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE, len(body), body)
    Ed25519PublicKey.from_public_bytes(public).verify(base64.b64decode(approval["signature"]), message)
    said = json.loads(body)
    if said["format"] not in FORMATS or said["key_id"] != approval["key_id"]:
        raise ValueError("a statement of an unknown form, or naming another key")
    return said


def strictest(about, statements):
    """(approvals needed, passkey asked for): what the export says, or what a statement says where that is stricter."""
    needed = [max(1, about["approvals_needed"]), *(said.get("approvals_needed", 1) for said in statements)]
    return max(needed), any([about["require_passkey"], *(said.get("require_passkey", False) for said in statements)])


def check_passkey(text, statement):
    """The WebAuthn assertion over the statement: its challenge is the statement's SHA-256."""
    stored = json.loads(text)
    client, data = url_bytes(stored["clientDataJSON"]), url_bytes(stored["authenticatorData"])
    said = json.loads(client)
    if said["type"] != "webauthn.get" or url_bytes(said["challenge"]) != hashlib.sha256(statement.encode()).digest():
        raise ValueError("the passkey answered to another statement")
    if data[:32] != hashlib.sha256(stored["rp_id"].encode()).digest() or data[32] & 5 != 5:
        raise ValueError("the passkey answered elsewhere, or did not check its person")
    key, signed = load_der_public_key(url_bytes(stored["public_key"])), url_bytes(stored["signature"])
    message = data + hashlib.sha256(client).digest()
    if isinstance(key, Ed25519PublicKey):
        key.verify(signed, message)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signed, message, ec.ECDSA(hashes.SHA256()))
    else:
        key.verify(signed, message, padding.PKCS1v15(), hashes.SHA256())


def main(folder, keys_file=None):
    folder = Path(folder)
    about = json.loads((folder / "approvals.json").read_text("utf-8"))
    digest = hashlib.sha256((folder / "envelope.json").read_bytes()).hexdigest()
    listed = json.loads(Path(keys_file or folder / "keys.json").read_text("utf-8"))["keys"]
    keys = {key["key_id"]: key for key in listed}
    content, approvers = json.loads((folder / "envelope.json").read_text("utf-8")), set()
    try:
        if digest != about["digest"] or content["task"] != about["task"]:
            raise ValueError("envelope.json is not what approvals.json is about")
        statements = [check_signature(approval, keys) for approval in about["approvals"]]
        needed, by_passkey = strictest(about, statements)
        for approval, said in zip(about["approvals"], statements, strict=True):
            if (said["task"], said["version"], said["digest"]) != (about["task"], about["version"], digest):
                raise ValueError("a statement about another task, version or content")
            if said["approver"] == about["author"]:
                raise ValueError("an approval by the author")
            if by_passkey and not approval["passkey"]:
                raise ValueError("an approval without the passkey that was asked for")
            if approval["passkey"]:
                check_passkey(approval["passkey"], approval["statement"])
            approvers.add(said["approver"])
            print(f"approved by {said['approver']} at {said['approved_at']}, key {said['key_id']}")
        if len(approvers) < needed:
            raise ValueError(f"{len(approvers)} of {needed} approvals")
    except InvalidSignature:
        print("NOT VALID: a signature does not match")
        return 1
    except (ValueError, KeyError, TypeError) as error:
        print(f"NOT VALID: {error}")
        return 1
    print(f"valid: {about['task']} v{about['version']}, SHA-256 {digest}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
