"""The ledger: at most one directive per check group, each an instance of a signed template with typed slots."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from controller import pointer
from controller.envelope import Envelope, Slot, Template
from controller.report import CheckReport, Fact, Finding, SlotType


@dataclass(frozen=True, slots=True)
class Directive:
    """The one piece of feedback that a group may carry into the next attempt."""

    group: str
    check: str
    template: str
    text: str


Ledger = tuple[Directive, ...]

_SLOT = re.compile(r"\{([a-z_]+)\}")
_POINTER = re.compile(r"(?:/[^/\x00-\x1f\x7f]{0,200}){0,32}\Z")
_TOKEN = re.compile(r"[^\x00-\x1f\x7f]{1,500}\Z")


def update(ledger: Ledger, report: CheckReport, envelope: Envelope) -> Ledger:
    """The ledger after a failed attempt.

    Each failing group gets one directive, for its first failing check that has a usable template; it replaces the group's
    earlier one. Groups that did not fail this time keep theirs: what was put right once should stay right. A group without any
    template says nothing. Order is by group name, so equal ledgers have equal bytes.
    """
    entries = {directive.group: directive for directive in ledger}
    for group, findings in _by_group(report.failures).items():
        directive = next(filter(None, (_instance(f, report, envelope) for f in findings)), None)
        if directive is not None:
            entries[group] = directive
    return tuple(entries[group] for group in sorted(entries))


def _by_group(failures: Iterable[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in failures:
        groups.setdefault(finding.group, []).append(finding)
    return groups


def template_for(finding_check: str, finding_group: str, envelope: Envelope) -> Template | None:
    """The check's own template before its group's. A check that splits off ``<id>.ambiguous`` is served by ``<id>`` too."""
    for name in (finding_check, finding_check.split(".")[0], finding_group):
        for template in envelope.templates:
            if template.for_ == name:
                return template
    return None


def _instance(finding: Finding, report: CheckReport, envelope: Envelope) -> Directive | None:
    template = template_for(finding.check, finding.group, envelope)
    if template is None:
        return None
    filled: dict[str, str] = {}
    for name, slot in template.slots.items():
        text = _model_text(finding, report, slot) if slot.type is SlotType.MODEL_TEXT else render(_fact(finding, name), slot)
        if text is None:
            return None
        filled[name] = text
    return Directive(finding.group, finding.check, template.for_, _SLOT.sub(lambda m: filled.get(m[1], m[0]), template.text))


def _fact(finding: Finding, name: str) -> Fact | None:
    return finding.pointer if name == "path" else finding.facts.get(name)


def render(fact: Fact | None, slot: Slot) -> str | None:
    """The slot's text, or ``None`` where the fact is absent or not of the slot's type: then the directive is not made."""
    if fact is None or isinstance(fact, bool):
        return None
    if slot.type is SlotType.INTEGER:
        return str(fact) if isinstance(fact, int) else None
    if slot.type is SlotType.NUMBER:
        return format(Decimal(fact), "f") if isinstance(fact, int | Decimal) else None
    if slot.type is SlotType.ENUM:
        words = fact if isinstance(fact, tuple) else (fact,)
        text = ", ".join(str(word) for word in words)
        return text if _TOKEN.match(text) and len(text) <= slot.max_chars else None
    if not isinstance(fact, str):
        return None
    if slot.type is SlotType.JSON_POINTER:
        return (fact or "/") if _POINTER.match(fact) and len(fact) <= max(slot.max_chars, 200) else None
    if slot.type is SlotType.DATE:
        try:
            return datetime.date.fromisoformat(fact).isoformat()
        except ValueError:
            return None
    return f'"{fact}"' if _TOKEN.match(fact) and len(fact) <= slot.max_chars and '"' not in fact else None


def _model_text(finding: Finding, report: CheckReport, slot: Slot) -> str | None:
    """The reply's own text at the failing place: only for a declared slot, cut to its cap, in marks that it cannot contain."""
    found = pointer.resolve(report.value, finding.pointer) if report.parsed else []
    if len(found) != 1 or not isinstance(found[0][1], str | int | Decimal):
        return None
    text = re.sub(r"[\x00-\x1f\x7f⟦⟧]", " ", str(found[0][1]))[: slot.max_chars]
    return f"⟦data: {text}⟧"
