"""Writing a draft: autosave that never loses a text, new drafts from any version, and texts that come from files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from controller.authoring import MAX_BYTES
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.audit.models import Entry
from reviewapp.envelopes.actions import NotAllowed, draft_version
from reviewapp.envelopes.models import SetAside, Status, Version

ONE_SITTING = timedelta(minutes=10)
"""Autosaves of one person within this time are one entry of the audit log."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a save. ``token`` names the text that is stored now; with ``kept``, another text had been stored
    meanwhile: that one stayed, and the one that was sent is kept beside it under this id."""

    token: str
    changed: bool = False
    kept: int | None = None


def token_of(source: str) -> str:
    """Names a text: who saves says which one they had before them."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def clean(text: str) -> str:
    """Line ends as the database keeps them: browsers send CR LF for every line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@transaction.atomic
def save_draft(version: Version, source: str, seen_token: str, *, by: User, over: bool = False) -> Saved:
    """Stores the text when the one that the writer had before them is still the stored one; else keeps both.

    ``over``: the writer has seen that ``seen_token`` is another text than the one they began with and puts theirs in its place:
    then that one is set aside.
    """
    version = Version.objects.select_for_update(of=("self",)).select_related("envelope").get(pk=version.pk)
    if version.status != Status.DRAFT:
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}: its text is frozen")
    if version.author_id != by.pk:
        raise NotAllowed("only its author writes on a draft")
    source = clean(source)
    if len(source.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise NotAllowed(f"the text is larger than {MAX_BYTES:,} bytes")
    stored = token_of(version.source)
    if source == version.source:
        return Saved(stored)
    if seen_token != stored:
        return Saved(stored, kept=_set_aside(version, source, by).pk)
    if over:
        SetAside.objects.create(version=version, source=version.source, by=by)
    version.source = source
    version.save(update_fields=["source"])
    _note(version, by, before=stored, after=token_of(source))
    return Saved(token_of(source), changed=True)


def _set_aside(version: Version, source: str, by: User) -> SetAside:
    """One row per sitting: an autosave that keeps failing renews the text that it kept."""
    last = SetAside.objects.filter(version=version, by=by, created_at__gte=timezone.now() - ONE_SITTING).first()
    if last is None:
        return SetAside.objects.create(version=version, source=source, by=by)
    last.source = source
    last.save(update_fields=["source"])
    return last


def _note(version: Version, by: User, *, before: str, after: str) -> None:
    last = Entry.objects.filter(subject="version", subject_id=str(version)).order_by("-id").first()
    if last is None or (last.action, last.actor_id) != ("draft edited", by.pk) or timezone.now() - last.at > ONE_SITTING:
        append("draft edited", "version", version, by=by, before={"text": before}, after={"text": after})


def draft_from(version: Version, *, by: User) -> Version:
    """The next draft of the envelope with the text of ``version``, whatever became of that one."""
    return draft_version(version.envelope, version.source, by=by, based_on=version)


@transaction.atomic
def discard_draft(version: Version, *, by: User) -> None:
    """Deletes a draft that nobody ever submitted or tried."""
    version = Version.objects.select_for_update(of=("self",)).select_related("envelope").get(pk=version.pk)
    if version.status != Status.DRAFT or version.author_id != by.pk:
        raise NotAllowed("only its author discards a draft")
    if version.shadow_runs.exists() or Version.objects.filter(based_on=version).exists():
        raise NotAllowed("something was made from this draft already: it stays")
    append("draft discarded", "version", version, by=by, before={"text": token_of(version.source)})
    version.comments.all().delete()
    version.delete()
