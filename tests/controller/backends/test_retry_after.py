from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.backends.retry_after import retry_after_ms

NOW = datetime(2026, 7, 1, 10, 0, 0, 400_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [
        ({}, None),
        ({"retry-after": "1"}, 1_000),
        ({"retry-after": "0"}, 0),
        ({"retry-after": " 2 "}, 2_000),
        ({"retry-after": "0.0001"}, 1),
        ({"retry-after": "1.5"}, 1_500),
        ({"retry-after": "600"}, 600_000),
        ({"retry-after-ms": "250"}, 250),
        ({"retry-after-ms": "250.2", "retry-after": "9"}, 251),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9_000),
        ({"retry-after": "Wed, 01 Jul 2026 10:00:02 GMT"}, 2_000),
        ({"retry-after": "Wednesday, 01-Jul-26 10:00:02 GMT"}, 2_000),
        ({"retry-after": "Wed, 01 Jul 2026 10:00:02 -0000"}, 2_000),
        ({"retry-after": "Wed, 01 Jul 2026 12:00:02 +0200"}, 2_000),
        ({"retry-after": "Wed, 01 Jul 2026 09:00:00 GMT"}, 0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 40}, None),
        ({"retry-after": "Wed, 99 Jul 2026 10:00:02 GMT"}, None),
        ({"retry-after": ""}, None),
        ({"x-ratelimit-reset-requests": "1s"}, None),
    ],
)
def test_reads_every_form(headers: dict[str, str], wait_ms: int | None) -> None:
    assert retry_after_ms(headers, NOW) == wait_ms


@given(st.text(max_size=40))
def test_any_text_is_harmless(text: str) -> None:
    wait = retry_after_ms({"retry-after": text, "retry-after-ms": text}, NOW)
    assert wait is None or wait >= 0
