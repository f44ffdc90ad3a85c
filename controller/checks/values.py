"""Equality of JSON values: 1 is 1.0, and true is neither 1 nor "true"."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal

from controller.report import JSON


def identity(value: JSON) -> Hashable:
    """A hashable that is equal exactly where two JSON values are."""
    if value is None or isinstance(value, bool | str):
        return (type(value).__name__, value)
    if isinstance(value, int | Decimal):
        return ("number", Decimal(value))
    if isinstance(value, list):
        return ("array", tuple(identity(child) for child in value))
    return ("object", frozenset((key, identity(child)) for key, child in value.items()))
