"""Owners' regular expressions: RE2, so that no expression can take longer than its text is long."""

from __future__ import annotations

from typing import Any

import re2

from controller.checks.base import SpecError

MAX_SOURCE = 1_000


def compile_pattern(source: str, field: str, *, groups: int | None = None) -> Any:
    """The compiled RE2 expression. Raises ``SpecError`` for a bad one, or one without the ``groups`` that it needs."""
    if len(source) > MAX_SOURCE:
        raise SpecError(field, f"a pattern has at most {MAX_SOURCE} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        compiled = re2.compile(source, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise SpecError(field, f"not a pattern that RE2 knows: {words}") from None
    if groups is not None and compiled.groups != groups:
        raise SpecError(field, f"the pattern needs {groups} group in parentheses, around the value that it finds")
    return compiled
