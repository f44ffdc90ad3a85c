"""Rows for tests, made through the actions that make them in life."""

from __future__ import annotations

import json
from typing import Any

import yaml

from reviewapp.accounts.models import Membership, Role, User
from reviewapp.batches.actions import submit_lines
from reviewapp.batches.models import Batch
from reviewapp.envelopes import keys
from reviewapp.envelopes.actions import approve_version, create_envelope, draft_version, submit_for_review
from reviewapp.envelopes.models import Envelope, Version
from tests.envelopes import data


def person(name: str, *roles: Role, envelope: Envelope | None = None) -> User:
    """A signed-up person; ``roles`` on one envelope, or on all."""
    user, _ = User.objects.get_or_create(username=name, defaults={"first_name": name.capitalize()})
    for role in roles:
        Membership.objects.get_or_create(user=user, role=role, envelope=envelope)
    return user


def approved(*, slug: str = "totals", author: User | None = None, approver: User | None = None, **changes: Any) -> Version:
    """An approved version of the small envelope, signed by a key that is made when there is none."""
    author, approver = author or person("author", Role.OWNER), approver or person("owner", Role.OWNER)
    if not any(not key.revoked for key in keys.listed()):
        keys.make_key()
    envelope = Envelope.objects.filter(slug=slug).first() or create_envelope(slug, "Totals", by=author)
    version = draft_version(envelope, yaml.safe_dump(data(task=slug, **changes), sort_keys=False), by=author)
    version = submit_for_review(version, by=author)
    return approve_version(version, by=approver, digest=version.digest)


def batch(version: Version, documents: dict[str, str], *, name: str = "batch", by: User | None = None) -> Batch:
    """A batch with one queued run per document."""
    lines = [json.dumps({"id": key, "document": text}).encode() + b"\n" for key, text in documents.items()]
    result = submit_lines(lines, version=version, name=name, by=by)
    assert result.batch is not None, result.errors
    return result.batch
