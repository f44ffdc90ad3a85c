"""What a run would send: attempt 1 exactly, and each second attempt that a failing check could lead to.

The machine itself is stepped with a made-up failing report, so the prompts, plans and hashes are those that a run would have.
Attempt 1 is exact for its document. A second attempt names the first place that its check looks at; another place gives other
words in the directive, and another hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from controller import machine
from controller.checks import CheckSpec, facts_of
from controller.contract import FACTS as SCHEMA_FACTS
from controller.envelope import IMPLICIT_CHECKS, Envelope
from controller.fuse import WORDS, Fuse
from controller.lint.minimal import smallest
from controller.machine import Begin, MakeCall, Replied, Run
from controller.pointer import join
from controller.prompt import Carried, OverCap, Prompt, build
from controller.reply import Reply
from controller.report import CheckReport, Fact, FailureClass, Finding, SlotType
from controller.strict_json import Malformed, parse
from controller.tokens import Counter


@dataclass(frozen=True, slots=True)
class Sent:
    """One call that would be made. ``digest`` is what the run would log; ``directives`` are the texts that it carries."""

    prompt: Prompt
    digest: str
    plan: str
    directives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotSent:
    """Why there would be no call. ``over`` is the block that does not fit, where that is the reason."""

    fuse: Fuse
    why: str
    over: OverCap | None = None


@dataclass(frozen=True, slots=True)
class Second:
    """What follows when one check fails on attempt 1 at ``place``."""

    check: str
    group: str
    place: str
    following: Sent | NotSent


def first_attempt(envelope: Envelope, document: str, count: Counter) -> Sent | NotSent:
    """Attempt 1 over this document."""
    return _first(envelope, document, count)[0]


def second_attempts(envelope: Envelope, document: str, count: Counter) -> tuple[Second, ...]:
    """One for each check that can fail, in the order of the envelope; nothing where attempt 1 would not be sent."""
    sent, run = _first(envelope, document, count)
    if isinstance(sent, NotSent):
        return ()
    found = []
    for finding in [*_implicit(envelope), *(_finding(spec) for spec in envelope.checks if not spec.document_only)]:
        following = _second(envelope, document, count, run, finding)
        found.append(Second(finding.check, finding.group, finding.pointer, following))
    return tuple(found)


def _first(envelope: Envelope, document: str, count: Counter) -> tuple[Sent | NotSent, Run]:
    return _begin(envelope, machine.start(envelope), Begin(document, count))


def _begin(envelope: Envelope, run: Run, event: Begin) -> tuple[Sent | NotSent, Run]:
    after, command = machine.step(envelope, run, event, 0)
    if isinstance(command, MakeCall) and command.prompt is not None and after.call is not None:
        directives = tuple(directive.text for directive in run.ledger)
        return Sent(command.prompt, command.request.digest, after.call.plan, directives), after
    fuse = after.fuse or Fuse.EDGE_MISSING
    return NotSent(fuse, WORDS[fuse], _over(envelope, run, event) if fuse is Fuse.PROMPT_OVER_CAP else None), after


def _over(envelope: Envelope, run: Run, event: Begin) -> OverCap | None:
    plan = envelope.plan(run.plan)
    if plan is None:
        return None
    built = build(envelope, plan, run.ledger, event.document, event.count, carried=event.carried)
    return built if isinstance(built, OverCap) else None


def _second(envelope: Envelope, document: str, count: Counter, run: Run, finding: Finding) -> Sent | NotSent:
    text = example_reply(envelope)
    report = _report(finding, text)
    after, _ = machine.step(envelope, run, Replied(Reply(text), report, count), 0)
    if after.status is not machine.RunStatus.READY:
        fuse = after.fuse or Fuse.NON_RECOVERABLE
        return NotSent(fuse, WORDS[fuse])
    plan = envelope.plan(after.plan)
    carried = None
    if plan is not None and plan.carries:
        carried = Carried(text, ((finding.pointer, finding.expected or finding.check),))
    return _begin(envelope, after, Begin(document, count, carried=carried))[0]


def example_reply(envelope: Envelope) -> str:
    """What stands in for the failed reply where a plan carries it: about the smallest reply that the contract accepts."""
    return smallest(envelope.contract)


def _report(finding: Finding, text: str) -> CheckReport:
    try:
        value = parse(text) if finding.check != "json" else None
    except Malformed:
        value = None
    return CheckReport((finding,), parsed=value is not None, value=value, value_text=text if value is not None else "")


def _implicit(envelope: Envelope) -> list[Finding]:
    required = [name for name in envelope.contract.get("required", ()) if isinstance(name, str)]
    place = join(required[:1])
    schema = _facts(SCHEMA_FACTS, place, {})
    return [
        Finding("json", IMPLICIT_CHECKS["json"], FailureClass.SYNTAX, "", False, "one valid JSON value", {"path": ""}),
        Finding("schema", IMPLICIT_CHECKS["schema"], FailureClass.SCHEMA, place, False, "this field", schema),
    ]


def _finding(spec: CheckSpec) -> Finding:
    place = _place(spec)
    facts = _facts(facts_of(spec.kind), place, spec.model_dump())
    return Finding(spec.id, spec.group, spec.failure_class, place, False, spec.hint or spec.id, facts)


def _place(spec: CheckSpec) -> str:
    """The first place that the check looks at: every ``*`` is the first item."""
    each, at = getattr(spec, "each", None) or "", getattr(spec, "at", None) or getattr(spec, "equals", None) or ""
    pattern = each + at if isinstance(at, str) else each
    return "/".join("0" if step == "*" else step for step in pattern.split("/"))


def _facts(told: Mapping[str, SlotType], place: str, spec: Mapping[str, Any]) -> dict[str, Fact]:
    """What the check would tell: its own settings where it has them, else an example of the right type."""
    facts: dict[str, Fact] = {}
    for name, kind in told.items():
        own = spec.get(name)
        facts[name] = own if isinstance(own, str | int | Decimal) and not isinstance(own, bool) else _EXAMPLES[kind]
    return facts | ({"path": place} if "path" in told else {})


_EXAMPLES: Mapping[SlotType, Fact] = {
    SlotType.JSON_POINTER: "/example",
    SlotType.NUMBER: Decimal(1),
    SlotType.INTEGER: 1,
    SlotType.ENUM: "example",
    SlotType.DATE: "2026-01-31",
    SlotType.QUOTED_TOKEN: "example",
    SlotType.MODEL_TEXT: "example",
}
