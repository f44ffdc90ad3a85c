"""What ``manage.py demo`` loads: people, shipped envelopes with their approvals, shipped documents. Safe to run again."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.conf import settings

from reviewapp.accounts.models import Membership, Role, User
from reviewapp.batches.actions import submit_lines
from reviewapp.batches.models import Batch
from reviewapp.envelopes import keys
from reviewapp.envelopes.actions import approve_version, create_envelope, draft_version, submit_for_review
from reviewapp.envelopes.models import Envelope, Status, Version

EXAMPLES = Path(settings.BASE_DIR) / "examples"
RECEIPTS = EXAMPLES / "documents" / "receipts.jsonl"
CASSETTE = "cassette:examples/cassettes/receipt-fields.jsonl"
COUNT = 48

PEOPLE = {
    "reviewer": (Role.REVIEWER,),
    "owner": (Role.OWNER,),
    "author": (Role.OWNER,),
    "manager": (Role.MANAGER, Role.OPERATOR),
}
"""Sign-in name → roles on every envelope. Author and owner hold the same role: who drafts a version never approves it."""


@dataclass(frozen=True)
class Person:
    user: User
    password: str
    roles: tuple[Role, ...]


def people() -> list[Person]:
    """The four people of the demo. Passwords are made once and kept beside the database: a second run prints the same."""
    path = settings.VAR_DIR / "demo_people.json"
    known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    found = [_person(name, roles, known) for name, roles in PEOPLE.items()]
    with open(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as out:
        json.dump({person.user.username: person.password for person in found}, out)
    return found


def _person(name: str, roles: tuple[Role, ...], known: dict[str, str]) -> Person:
    password = known.get(name) or f"{name}-{secrets.token_hex(4)}"
    user, _ = User.objects.get_or_create(username=name, defaults={"first_name": name.capitalize()})
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    for role in roles:
        Membership.objects.get_or_create(user=user, role=role, envelope=None)
    return Person(user, password, roles)


def versions(author: User, owner: User) -> list[Version]:
    """The shipped versions of ``receipt-fields``, drafted by the author, approved by the owner."""
    if not any(not key.revoked for key in keys.listed()):
        keys.make_key()
    envelope = Envelope.objects.filter(slug="receipt-fields").first()
    if envelope is None:
        envelope = create_envelope("receipt-fields", "Shop, date, items and amounts from a receipt", by=author)
    found: list[Version] = []
    for number, path in enumerate(sorted((EXAMPLES / "envelopes").glob("receipt-fields.v*.yaml")), start=1):
        version = Version.objects.filter(envelope=envelope, number=number).first()
        if version is None:
            source = path.read_text(encoding="utf-8")
            version = draft_version(envelope, source, by=author, based_on=found[-1] if found else None)
            version = submit_for_review(version, by=author)
            version = approve_version(version, by=owner, digest=version.digest)
        if version.status == Status.APPROVED:
            found.append(version)
    return found


def batches(of: list[Version], *, by: User, count: int = COUNT) -> list[Batch]:
    """One batch of the first ``count`` shipped receipts under each version."""
    made = []
    for version in of:
        with RECEIPTS.open("rb") as lines:
            result = submit_lines(islice(lines, count), version=version, name=f"receipts v{version.number}", by=by)
        assert result.batch is not None, result.errors
        made.append(result.batch)
    return made
