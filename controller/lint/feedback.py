"""Whether a failing attempt can be told anything, and anything new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from controller.checks import facts_of
from controller.contract import FACTS as SCHEMA_FACTS
from controller.envelope import IMPLICIT_CHECKS, Envelope, Template
from controller.ledger import template_for
from controller.lint.base import Context, Found, Lint, Weight
from controller.prompt import contract_block
from controller.report import FailureClass, SlotType
from controller.tokens import CounterUnavailable, counter_for

LINTS = (
    Lint(
        "check-without-template",
        Weight.LIKELY,
        "A check has no template",
        "When only this check fails, the next attempt is told nothing that the failed one did not know.",
        "Write a template for the check or for its group, or put its class under classes.stop.",
    ),
    Lint(
        "directive-repeats-prompt",
        Weight.LIKELY,
        "A directive repeats the prompt",
        "The model has read the same words already and failed all the same. Saying it again rarely helps.",
        "Say what the prompt does not say: the place, what was expected there, or how to find it in the document.",
    ),
    Lint(
        "slot-never-filled",
        Weight.BROKEN,
        "A slot can never be filled",
        "The checks that the template is for do not tell this value, or not as this type, so the directive is never made.",
        "Use a value that the check tells (path always is), with the type that it has.",
    ),
    Lint(
        "slot-not-used",
        Weight.BROKEN,
        "Slots and holes do not match",
        "A hole without a slot is sent as it is written, braces and all; a slot without a hole says nothing.",
        "Declare a slot for each {hole} of the text, and no others.",
    ),
    Lint(
        "slot-carries-model-text",
        Weight.THINK,
        "A slot carries the model's own text",
        "What the model made up comes back to it as part of an instruction. It is capped and marked as data, but it is there.",
        "Point at the place with a json_pointer slot instead, unless the text itself is needed.",
    ),
    Lint(
        "template-never-used",
        Weight.THINK,
        "A template is never used",
        "Every check that it is for has a template of its own, or stops the run at once.",
        "Remove the template, or the check's own one.",
    ),
    Lint(
        "ledger-over-cap",
        Weight.LIKELY,
        "All directives together exceed their cap",
        "When every group has failed once, the prompt is over its cap and the run stops with prompt_over_cap.",
        "Raise limits.caps.ledger, or shorten the texts.",
    ),
)

_HOLE = re.compile(r"\{([a-z_]+)\}")
_SENTENCE = re.compile(r"[.!?;:\n]+")
_WORD = re.compile(r"\w+")
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can do for from has have if in into is it its may must no not of on one only or "
        "please shall should so than that the their them then there these they this those to use was were when which "
        "will with you your",
    )
)
SHARE = 0.8
"""From this share of a directive's words in one stretch of the prompt on, it repeats it."""


def look(envelope: Envelope, context: Context) -> Iterator[Found]:
    yield from _missing(envelope)
    said = prompt_words(envelope)
    for number, template in enumerate(envelope.templates):
        where = f"templates[{number}]"
        repeated = repeats(template.text, said)
        if repeated is not None:
            yield Found("directive-repeats-prompt", f"{where}.text", f"The prompt says already: “{repeated}”.")
        yield from _slots(envelope, template, where)
        if not any(template_for(check, group, envelope) is template for check, group in _told(envelope)):
            yield Found(
                "template-never-used", f"{where}.for", f"No failure that is retried uses the template for {template.for_}."
            )
    yield from _ledger(envelope)


def _told(envelope: Envelope) -> Iterator[tuple[str, str]]:
    """The checks after whose failure another attempt may follow, with their groups."""
    classes = {"json": FailureClass.SYNTAX, "schema": FailureClass.SCHEMA, "finish": FailureClass.TRUNCATED}
    for check, group in IMPLICIT_CHECKS.items():
        if envelope.classes.is_retried(classes[check]):
            yield check, group
    for spec in envelope.checks:
        if envelope.classes.is_retried(spec.failure_class):
            yield spec.id, spec.group


def _missing(envelope: Envelope) -> Iterator[Found]:
    if envelope.limits.attempts < 2:
        return
    numbers = {spec.id: number for number, spec in enumerate(envelope.checks)}
    for check, group in _told(envelope):
        if check == "finish" or template_for(check, group, envelope) is not None:
            continue
        where = f"checks[{numbers[check]}]" if check in numbers else "templates"
        yield Found("check-without-template", where, f"Nothing is said after {check} ({group}) failed.")


def _slots(envelope: Envelope, template: Template, where: str) -> Iterator[Found]:
    holes = set(_HOLE.findall(template.text))
    for name in sorted(holes - set(template.slots)):
        yield Found("slot-not-used", f"{where}.text", f"{{{name}}} has no slot.")
    facts = facts_for(envelope, template)
    for name, slot in template.slots.items():
        if name not in holes:
            yield Found("slot-not-used", f"{where}.slots.{name}", f"The text has no {{{name}}}.")
        if slot.type is SlotType.MODEL_TEXT:
            yield Found(
                "slot-carries-model-text",
                f"{where}.slots.{name}",
                f"{{{name}}} holds up to {slot.max_chars} characters of the reply.",
            )
        elif name not in facts:
            known = ", ".join(sorted(facts)) or "nothing"
            yield Found("slot-never-filled", f"{where}.slots.{name}", f"No check here tells {name}. Told: {known}.")
        elif not _fits(facts[name], slot.type):
            yield Found("slot-never-filled", f"{where}.slots.{name}", f"{name} is {facts[name].value}, not {slot.type.value}.")


def facts_for(envelope: Envelope, template: Template) -> Mapping[str, SlotType]:
    """Everything that a check which the template is for can tell."""
    facts: dict[str, SlotType] = {}
    if template.for_ in ("schema",):
        facts |= SCHEMA_FACTS
    if template.for_ in ("json", "syntax", "finish"):
        facts["path"] = SlotType.JSON_POINTER
    for spec in envelope.checks:
        if template.for_ in (spec.id, spec.group):
            facts |= facts_of(spec.kind)
    return facts


def _fits(told: SlotType, wanted: SlotType) -> bool:
    """Whether a fact of one type can fill a slot of another: short texts also fit the looser text types."""
    if told is wanted:
        return True
    texts = {SlotType.ENUM, SlotType.QUOTED_TOKEN}
    loose = texts | ({SlotType.JSON_POINTER} if told is SlotType.JSON_POINTER else set())
    numbers = {SlotType.INTEGER: {SlotType.NUMBER, SlotType.ENUM}, SlotType.NUMBER: {SlotType.ENUM}}
    if told in numbers:
        return wanted in numbers[told]
    return told is not SlotType.MODEL_TEXT and wanted in loose


def prompt_words(envelope: Envelope) -> tuple[tuple[str, frozenset[str]], ...]:
    """Every sentence of the fixed prompt, as it stands and as its bare words."""
    texts = [envelope.invariants, contract_block(envelope) if envelope.contract_text else "", envelope.task_text]
    texts += [envelope.reminder, *(plan.text for plan in envelope.plans)]
    sentences = (part.strip() for text in texts for part in _SENTENCE.split(text.replace("\n", " ")))
    return tuple((sentence, bare(sentence)) for sentence in dict.fromkeys(sentences) if sentence)


def repeats(directive: str, said: tuple[tuple[str, frozenset[str]], ...]) -> str | None:
    """The sentence of the prompt that says what the directive says, or ``None``. Slots are not compared: a place is news,
    but only together with words that are."""
    for part in _SENTENCE.split(_HOLE.sub(" ", directive)):
        words = bare(part)
        if len(words) < 2:
            continue
        hit = next((sentence for sentence, known in said if len(words & known) >= SHARE * len(words)), None)
        if hit is None:
            return None
        last = hit
    return last if any(len(bare(part)) >= 2 for part in _SENTENCE.split(_HOLE.sub(" ", directive))) else None


@lru_cache(maxsize=4096)
def bare(text: str) -> frozenset[str]:
    """The words that carry the meaning, without endings: “copied as printed” and “copy the print” share both."""
    return frozenset(_stem(word) for word in _WORD.findall(text.casefold()) if word not in _SMALL)


def _stem(word: str) -> str:
    for ending in ("ing", "ied", "ies", "ed", "es", "ly", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _ledger(envelope: Envelope) -> Iterator[Found]:
    try:
        count = counter_for(envelope.tokens)
    except CounterUnavailable:
        return
    longest: dict[str, str] = {}
    for check, group in _told(envelope):
        template = template_for(check, group, envelope)
        if template is not None:
            text = f"- {filled(template)}"
            longest[group] = max(longest.get(group, ""), text, key=len)
    total = count("\nTake care this time:\n" + "\n".join(longest.values()) + "\n") if longest else 0
    if total > envelope.limits.caps.ledger and envelope.limits.attempts > 1:
        cap = envelope.limits.caps.ledger
        message = f"One directive for each of {len(longest)} groups can have {total} tokens; the cap is {cap}."
        yield Found("ledger-over-cap", "limits.caps.ledger", message)


def filled(template: Template) -> str:
    """The template with its slots at a usual length: 40 characters, or the slot's own limit where that is less."""

    def typical(hole: re.Match[str]) -> str:
        slot = template.slots.get(hole[1])
        return hole[0] if slot is None else "x" * min(40, slot.max_chars)

    return _HOLE.sub(typical, template.text)
