"""A whole installation for one measurement: its own folder, SQLite database, signing key and people, gone afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewapp.envelopes.models import Version


@contextmanager
def installation() -> Iterator[Path]:
    """Sets Django up over an empty migrated database in a new folder. Once per process, before anything imports models."""
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
        os.environ["COUNTERSIGN_VAR"] = folder
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewapp.settings")
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield Path(folder)
        from django.db import connections

        connections.close_all()


def signed(source: str) -> Version:
    """An approved version of the envelope in a YAML text: drafted by one person, approved by another."""
    from controller.authoring import read
    from reviewapp.accounts.models import Membership, Role, User
    from reviewapp.envelopes import keys
    from reviewapp.envelopes.actions import approve_version, create_envelope, draft_version, submit_for_review
    from reviewapp.envelopes.models import Envelope

    author, owner = (User.objects.get_or_create(username=name)[0] for name in ("bench-author", "bench-owner"))
    for user in (author, owner):
        Membership.objects.get_or_create(user=user, role=Role.OWNER, envelope=None)
    if not any(not key.revoked for key in keys.listed()):
        keys.make_key()
    content = read(source)
    envelope = Envelope.objects.filter(slug=content.task).first() or create_envelope(content.task, content.task, by=author)
    version = submit_for_review(draft_version(envelope, source, by=author), by=author)
    return approve_version(version, by=owner, digest=version.digest)
