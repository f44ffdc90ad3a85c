"""How long an endpoint asks to be left alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"\d{1,9}(?:\.\d{0,9})?", re.ASCII)


def retry_after_ms(headers: Mapping[str, str], now: datetime) -> int | None:
    """Milliseconds to wait, rounded up, from headers with lower-case names; ``None`` when nothing readable was asked.

    ``retry-after-ms`` (some hosted APIs) wins over ``retry-after``, which is seconds, with or without a fraction, or an
    HTTP date (RFC 9110, 10.2.3). A date says whole seconds, so the wait to it is rounded up to whole seconds: never early.
    ``now`` is aware wall time; a date in the past asks for 0. Rate limit hints of other headers are not read.
    """
    exact = _scaled(headers.get("retry-after-ms", ""), 1)
    if exact is not None:
        return exact
    asked = headers.get("retry-after", "")
    seconds = _scaled(asked, 1000)
    return seconds if seconds is not None else _until(asked, now)


def _scaled(text: str, factor: int) -> int | None:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return int((Decimal(text) * factor).to_integral_value(rounding=ROUND_CEILING))


def _until(text: str, now: datetime) -> int | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):  # what the parser lets through for odd dates
        return None
    if when.tzinfo is None:  # "-0000" means UTC without a claim about the zone
        when = when.replace(tzinfo=UTC)
    return max(0, math.ceil((when - now).total_seconds())) * 1000
