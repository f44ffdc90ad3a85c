"""What operators must be told about a version, once until one of them has seen to it."""

from __future__ import annotations

import logging
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from reviewapp.access import limit
from reviewapp.accounts.models import Role, User
from reviewapp.audit.actions import append
from reviewapp.envelopes.models import Notice, Version

log = logging.getLogger(__name__)


def tell_operators(version: Version, why: str) -> None:
    """Puts a notice into the operators' inbox and into the log and the audit log; a repeated one is only counted."""
    text = why[:500]
    log.error("%s: %s", version, text)
    open_ones = Notice.objects.filter(version=version, text=text, seen_at=None)
    if open_ones.update(times=F("times") + 1):
        return
    try:
        with transaction.atomic():
            Notice.objects.create(version=version, text=text)
            append("version refused", "version", version, by=None, reason=text)
    except IntegrityError:  # another worker was quicker
        open_ones.update(times=F("times") + 1)


@transaction.atomic
def acknowledge(notice: Notice, *, by: User) -> Notice:
    """An operator has seen to it. Should it happen again, a new notice comes."""
    notice = Notice.objects.select_for_update(of=("self",)).select_related("version__envelope").get(pk=notice.pk)
    if notice.seen_at is None:
        notice.seen_by, notice.seen_at = by, timezone.now()
        notice.save(update_fields=["seen_by", "seen_at"])
        append("notice seen", "version", notice.version, by=by, after={"notice": notice.text, "times": notice.times})
    return notice


def open_notices(user: Any) -> QuerySet[Notice]:
    """Notices that wait for the person as an operator, the longest waiting first."""
    rows = limit(Notice.objects.filter(seen_at=None), user, "version__envelope", Role.OPERATOR)
    return rows.select_related("version__envelope").defer("version__source", "version__canonical").order_by("id")
