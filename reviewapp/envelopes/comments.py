"""What readers say about lines of a version."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.models import Comment, Version

MOST_CHARS = 4_000


@transaction.atomic
def add_comment(version: Version, line: int, text: str, *, by: User) -> Comment:
    """A comment on one line of the source, or on all of it (line 0)."""
    text = text.strip()
    if not text:
        raise NotAllowed("a comment needs words")
    if len(text) > MOST_CHARS:
        raise NotAllowed(f"a comment has at most {MOST_CHARS:,} characters")
    last = len(version.source.splitlines())
    if not 0 <= line <= last:
        raise NotAllowed(f"the text has the lines 1 to {last}")
    comment = Comment.objects.create(version=version, line=line, text=text, author=by)
    append("comment made", "version", version, by=by, after={"line": line, "comment": comment.pk}, reason=text)
    return comment


@transaction.atomic
def resolve_comment(comment: Comment, *, by: User) -> Comment:
    """Who made it, or the author of the version, says that it is done with."""
    comment = Comment.objects.select_for_update(of=("self",)).select_related("version__envelope").get(pk=comment.pk)
    if comment.resolved_at is not None:
        return comment
    if by.pk not in (comment.author_id, comment.version.author_id):
        raise NotAllowed("a comment is resolved by who made it, or by the author of the version")
    comment.resolved_by, comment.resolved_at = by, timezone.now()
    comment.save(update_fields=["resolved_by", "resolved_at"])
    append("comment resolved", "version", comment.version, by=by, after={"line": comment.line, "comment": comment.pk})
    return comment
