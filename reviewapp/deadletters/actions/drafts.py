"""What people type is kept as they type it, whoever holds the letter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.deadletters.models import Draft
from reviewapp.deadletters.rules import NotAllowed

MOST_CHARS = 2_000_000


def save_draft(letter_id: int, user: User, fields: Mapping[str, str]) -> datetime:
    """Stores the person's fields over those they had stored before; nobody else's are touched. Returns when."""
    text = json.dumps(dict(fields), ensure_ascii=True)
    if len(text) > MOST_CHARS:
        raise NotAllowed("the form is larger than a draft may be")
    now = timezone.now()
    Draft.objects.update_or_create(letter_id=letter_id, user=user, defaults={"fields": text, "saved_at": now})
    return now


def drop_draft(letter_id: int, user: User) -> None:
    Draft.objects.filter(letter_id=letter_id, user=user).delete()
