"""From blocks to messages, under caps. The same envelope and run state give the same bytes, so the same hash.

The unchanging parts come first (invariants, document, contract), so that an endpoint's prefix cache serves every later attempt.
Each block is counted with its framing; a block over its cap makes the prompt unsendable, nothing is ever cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from controller.envelope import Envelope, Plan
from controller.ledger import Ledger
from controller.reply import Message, Request
from controller.tokens import MESSAGE_OVERHEAD, Counter


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a prompt: its text as sent, its size and its cap in tokens of the envelope's counter."""

    name: str
    role: str
    text: str
    tokens: int
    cap: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """``tokens`` is the size that budgets use: the blocks and the allowance for message marks."""

    blocks: tuple[Block, ...]
    tokens: int

    @property
    def messages(self) -> tuple[Message, ...]:
        system = "".join(block.text for block in self.blocks if block.role == "system")
        user = "".join(block.text for block in self.blocks if block.role == "user")
        return (Message("system", system), Message("user", user))


@dataclass(frozen=True, slots=True)
class OverCap:
    """The block that does not fit: the prompt is not sent."""

    block: str
    tokens: int
    cap: int


@dataclass(frozen=True, slots=True)
class Carried:
    """What a repair plan may take along: the previous output, the failing places, the places to keep."""

    output: str
    errors: tuple[tuple[str, str], ...] = ()
    keep: tuple[str, ...] = ()


def is_sendable(text: str) -> bool:
    """Whether UTF-8 can say it: a reply may hold half a surrogate pair, which no request can carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def marked(name: str, content: str) -> str:
    """The content, byte for byte, between marks derived from its own hash.

    The content would have to contain a part of its own SHA-256 to close the marks; should it, a longer part is taken.
    """
    digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
    length = 12
    while digest[:length] in content and length < len(digest):
        length += 4
    mark = digest[:length]
    return f"[{name} {mark}]\n{content}\n[end of {name} {mark}]\n"


def carried_block(output: str) -> str:
    """The previous output as a repair plan sends it: what its cap is measured on before the plan is chosen."""
    return "\n" + marked("previous output", output)


def contract_block(envelope: Envelope) -> str:
    """What the model is told about the form: the owner's own words, or the schema as compact JSON."""
    if envelope.contract_text:
        return envelope.contract_text
    return "JSON Schema of the reply:\n" + json.dumps(envelope.contract, separators=(",", ":"), ensure_ascii=False)


def build(
    envelope: Envelope, plan: Plan, ledger: Ledger, document: str, count: Counter, *, carried: Carried | None = None
) -> Prompt | OverCap:
    """The prompt of one attempt, or the first block over its cap. Carried parts are only taken where the plan declares them."""
    caps = envelope.limits.caps
    parts: list[tuple[str, str, str, int]] = [
        ("invariants", "system", envelope.invariants, caps.invariants),
        ("document", "user", marked("document", document), caps.document),
        ("contract", "user", "\n" + contract_block(envelope) + "\n", caps.contract),
        ("plan", "user", "\n" + plan.text + "\n", caps.plan),
    ]
    if ledger:
        lines = "\n".join(f"- {directive.text}" for directive in ledger)
        parts.append(("ledger", "user", f"\nTake care this time:\n{lines}\n", caps.ledger))
    if carried is not None and "previous_output" in plan.carries:
        parts.append(("previous_output", "user", carried_block(carried.output), caps.previous_output))
    if carried is not None and "errors" in plan.carries and carried.errors:
        parts.append(("errors", "user", _errors(carried), caps.errors))
    parts.append(("task", "user", "\n" + envelope.task_text, caps.task))
    if envelope.reminder:
        parts.append(("reminder", "user", "\n\n" + envelope.reminder, caps.reminder))
    return _assembled(parts, count)


def _errors(carried: Carried) -> str:
    lines = [f"- {place or '/'}: {expected}" for place, expected in carried.errors]
    keep = f"\nKeep as they are: {', '.join(carried.keep)}" if carried.keep else ""
    return "\nWrong in the previous output:\n" + "\n".join(lines) + keep + "\n"


def _assembled(parts: Iterable[tuple[str, str, str, int]], count: Counter) -> Prompt | OverCap:
    blocks = []
    for name, role, text, cap in parts:
        tokens = count(text)
        if tokens > cap:
            return OverCap(name, tokens, cap)
        blocks.append(Block(name, role, text, tokens, cap))
    return Prompt(tuple(blocks), sum(block.tokens for block in blocks) + 2 * MESSAGE_OVERHEAD)


def request(envelope: Envelope, plan: Plan, prompt: Prompt, *, alias: str, attempt: int, record: str) -> Request:
    """The call for a prompt. The seed moves with the attempt, so that a retry is not the same draw again."""
    temperature = envelope.model.temperature if plan.temperature is None else plan.temperature
    seed = envelope.model.seed
    return Request(
        alias=alias,
        messages=prompt.messages,
        max_output_tokens=envelope.output_tokens(plan),
        temperature_hundredths=round(temperature * 100),
        seed=None if seed is None else seed + attempt - 1,
        response_format=envelope.model.response_format,
        schema=envelope.contract if envelope.model.response_format == "json_schema" else None,
        record=record,
        attempt=attempt,
    )
