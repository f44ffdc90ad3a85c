"""A person's value under the checks of the version that the run had: the same judge as for a reply."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from controller import envelope as content
from controller.document import Document
from controller.envelope import Envelope
from controller.evaluate import Judge, compile_checks
from controller.report import JSON, CheckReport
from reviewapp.envelopes.models import Version


@lru_cache(maxsize=64)
def _compiled(digest: str, canonical: str) -> tuple[Envelope, Judge]:
    read = content.from_canonical(canonical.encode("utf-8"))
    return read, compile_checks(read.contract, read.checks, tolerant_fence=read.tolerant_fence)


@lru_cache(maxsize=64)
def _ordered(digest: str, canonical: str, source: str) -> Mapping[str, Any]:
    signed: Mapping[str, Any] = _compiled(digest, canonical)[0].contract
    try:
        written = yaml.safe_load(source)["contract"]
    except (yaml.YAMLError, KeyError, TypeError):
        return signed
    return written if written == signed else signed


def contract_of(version: Version) -> Mapping[str, Any]:
    """The signed contract, its fields in the order that its author wrote them: canonical bytes sort them by name."""
    return _ordered(version.digest, version.canonical, version.source)


def judgement(version: Version, document: str, value: JSON) -> CheckReport:
    """What contract and checks of ``version`` say about the value."""
    return _compiled(version.digest, version.canonical)[1].evaluate_value(Document(document), value)
