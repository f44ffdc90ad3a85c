"""The named reasons for which a run stops trying. Each check is a value; the machine carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.envelope import Envelope
from controller.report import JSON, CheckReport, FailureClass, signature_hash


class Fuse(StrEnum):
    ATTEMPTS = "attempts"
    REPAIRS = "repairs"
    ELAPSED = "elapsed"
    TOTAL_TOKENS = "total_tokens"
    SAME_SIGNATURE = "same_signature"
    SAME_SHAPE = "same_shape"
    SAME_PLAN = "same_plan"
    PLAN_NOT_APPROVED = "plan_not_approved"
    EDGE_MISSING = "edge_missing"
    PROMPT_OVER_CAP = "prompt_over_cap"
    NO_PROGRESS = "no_progress"
    REGRESSION = "regression"
    NON_RECOVERABLE = "non_recoverable"
    INFRASTRUCTURE = "infrastructure"
    SIGNATURE_INVALID = "signature_invalid"
    VERSION_RETIRED = "version_retired"
    DOCUMENT_ALTERED = "document_altered"


WORDS = {
    Fuse.ATTEMPTS: "The allowed number of attempts was used up.",
    Fuse.REPAIRS: "The allowed number of repairs was used up.",
    Fuse.ELAPSED: "The allowed time was used up.",
    Fuse.TOTAL_TOKENS: "One more call could have cost more tokens than the run may spend.",
    Fuse.SAME_SIGNATURE: "The same checks failed at the same places as before.",
    Fuse.SAME_SHAPE: "The same checks kept failing at the same kind of place.",
    Fuse.SAME_PLAN: "The same plan had been used as often as allowed.",
    Fuse.PLAN_NOT_APPROVED: "The next plan is not in the signed envelope.",
    Fuse.EDGE_MISSING: "The envelope names no plan that may follow after this failure.",
    Fuse.PROMPT_OVER_CAP: "A part of the prompt was larger than its cap, so nothing was sent.",
    Fuse.NO_PROGRESS: "Retries did not lower the number of violations.",
    Fuse.REGRESSION: "A retry lost required data or failed in a worse way.",
    Fuse.NON_RECOVERABLE: "This kind of failure cannot be put right by asking again.",
    Fuse.INFRASTRUCTURE: "The model endpoint did not answer usably, as often as is allowed.",
    Fuse.SIGNATURE_INVALID: "The envelope version is not validly signed, so no model was called.",
    Fuse.VERSION_RETIRED: "The envelope version was retired, so no further call was made.",
    Fuse.DOCUMENT_ALTERED: "The stored document is not the one that was submitted, so no model was called.",
}
"""Why a run stopped, for people."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What earlier attempts failed with, as much as the fuses need. All values are hashes, counts and names from the contract.

    ``signatures``/``shapes``: (hash, times seen). ``severity``: see ``rank``. ``present``: the required places that had a value
    in the last attempt, ``None`` where it gave no value at all. ``stalled``: retries in a row without progress.
    """

    signatures: tuple[tuple[str, int], ...] = ()
    shapes: tuple[tuple[str, int], ...] = ()
    severity: int | None = None
    violations: int = 0
    present: tuple[str, ...] | None = None
    stalled: int = 0


def observe(seen: Seen, report: CheckReport, contract: Mapping[str, Any]) -> Seen:
    """``seen`` with one more failed attempt in it."""
    failure_class = report.final_class
    severity = rank(failure_class)
    violations = len(report.failures)
    improved = seen.severity is None or (severity, violations) < (seen.severity, seen.violations)
    name = failure_class.value if failure_class is not None else ""
    # A verdict whose judged value is not at hand says nothing about which places have one.
    known = report.parsed and not (failure_class is FailureClass.JUDGEMENT and report.value is None)
    return Seen(
        signatures=_counted(seen.signatures, signature_hash(report.signature(), name)),
        shapes=_counted(seen.shapes, signature_hash(report.shape(), name)),
        severity=severity,
        violations=violations,
        present=tuple(sorted(present(contract, report.value))) if known else None,
        stalled=0 if improved else seen.stalled + 1,
    )


def rank(failure_class: FailureClass | None) -> int:
    """How far a failed output is from acceptance: its class's severity, 0 where only the judge said no."""
    return 0 if failure_class is None or failure_class is FailureClass.JUDGEMENT else failure_class.severity


def _counted(counts: tuple[tuple[str, int], ...], key: str) -> tuple[tuple[str, int], ...]:
    table = dict(counts)
    table[key] = table.get(key, 0) + 1
    return tuple(table.items())


def check(envelope: Envelope, before: Seen, after: Seen, failure_class: FailureClass) -> Fuse | None:
    """The first fuse that a failed attempt blows, or ``None``. ``before``/``after``: without and with this attempt.

    Order is the order of evidence: a class that cannot be repaired, then the same failure again, then a step back, then no step
    forward. Limits that the next call would break are the machine's to ask before it makes the call.
    """
    limits = envelope.limits
    # A truncated reply may be followed by a plan with a larger output cap: the step graph decides, unless it is a named stop.
    by_graph = failure_class is FailureClass.TRUNCATED and failure_class not in envelope.classes.stop
    if not by_graph and not envelope.classes.is_retried(failure_class):
        return Fuse.NON_RECOVERABLE
    if max((times for _, times in after.signatures), default=0) >= limits.same_signature:
        return Fuse.SAME_SIGNATURE
    if max((times for _, times in after.shapes), default=0) >= limits.same_shape:
        return Fuse.SAME_SHAPE
    if regressed(before, after):
        return Fuse.REGRESSION
    if after.stalled >= limits.no_progress:
        return Fuse.NO_PROGRESS
    return None


def regressed(before: Seen, after: Seen) -> bool:
    """Whether a retry moved to a worse class or lost the value at a required place that the attempt before it had."""
    if before.severity is None or after.severity is None:
        return False
    # Rules and judgement are one layer of severity here: what the judge asked for may cost a rule without being a step back.
    if after.severity > max(before.severity, 1):
        return True
    if before.present is None or after.present is None:
        return False
    return not set(before.present) <= set(after.present)


def present(contract: Mapping[str, Any], value: JSON, place: str = "") -> set[str]:
    """The required places that have a value, as index-free pointers; only places that the contract names.

    Below an array a place counts when every item there has it, and ``/*`` when there is an item at all: a repair may rightly
    drop an item, but not empty the list or a field of the items that stay.
    """
    if isinstance(value, dict):
        properties = contract.get("properties", {})
        required = [name for name in contract.get("required", ()) if isinstance(name, str)]
        places = {f"{place}/{_escaped(name)}" for name in required if value.get(name) is not None}
        for name, schema in properties.items() if isinstance(properties, Mapping) else ():
            if name in value and isinstance(schema, Mapping):
                places |= present(schema, value[name], f"{place}/{_escaped(name)}")
        return places
    if isinstance(value, list) and value:
        items = contract.get("items")
        below = [present(items, item, f"{place}/*") for item in value] if isinstance(items, Mapping) else []
        return {f"{place}/*"}.union(set.intersection(*below) if below else set())
    return set()


def _escaped(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")
