"""Caps, limits and budgets that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from controller.budget import bound
from controller.envelope import Envelope
from controller.lint.base import Context, Found, Lint, Weight, quantile
from controller.lint.minimal import smallest
from controller.prompt import contract_block
from controller.tokens import MESSAGE_OVERHEAD, CounterUnavailable, counter_for

LINTS = (
    Lint(
        "block-over-cap",
        Weight.BROKEN,
        "A fixed text exceeds its own cap",
        "The text is the same on every attempt, so no prompt that carries it can ever be sent.",
        "Raise the cap, or shorten the text.",
    ),
    Lint(
        "documents-over-cap",
        Weight.LIKELY,
        "Recent documents exceed the cap",
        "A record whose document is over its cap goes to a person without any call.",
        "Raise limits.caps.document, as far as the context window allows.",
    ),
    Lint(
        "output-cap-too-small",
        Weight.LIKELY,
        "Valid outputs do not fit the output cap",
        "A reply that is cut off is never parsed. Every record with an output of this size ends as truncated.",
        "Raise max_output_tokens above the largest output that you expect.",
    ),
    Lint(
        "caps-exceed-window",
        Weight.BROKEN,
        "The caps together exceed the context window",
        "A prompt within its caps could be cut by the endpoint, silently by some.",
        "Lower the caps or the output limit, or name the window that the endpoint really has.",
    ),
    Lint(
        "limit-never-reached",
        Weight.THINK,
        "A limit can never be reached",
        "Another limit always acts first, so the number is signed but means nothing.",
        "Lower it below the other one, or raise that one.",
    ),
    Lint(
        "attempts-never-reached",
        Weight.LIKELY,
        "The attempts can never all be made",
        "Another limit ends the run before the last attempts that are allowed.",
        "Raise that limit, or lower limits.attempts to what is meant.",
    ),
    Lint(
        "bound-over-budget",
        Weight.LIKELY,
        "One record can cost more than the stated budget",
        "The bound is computed from the envelope: no run exceeds it, but a run can reach it.",
        "Lower attempts, retries, votes or caps, or raise the budget.",
    ),
)


def look(envelope: Envelope, context: Context) -> Iterator[Found]:
    yield from _blocks(envelope)
    yield from _outputs(envelope, context)
    yield from _window(envelope)
    yield from _reach(envelope)
    yield from _budget(envelope, context)


def _blocks(envelope: Envelope) -> Iterator[Found]:
    try:
        count = counter_for(envelope.tokens)
    except CounterUnavailable:
        return
    caps = envelope.limits.caps
    fixed = [
        ("invariants", "invariants", envelope.invariants, caps.invariants),
        (
            "contract_text" if envelope.contract_text else "contract",
            "contract",
            f"\n{contract_block(envelope)}\n",
            caps.contract,
        ),
        ("task_text", "task", f"\n{envelope.task_text}", caps.task),
        ("reminder", "reminder", f"\n\n{envelope.reminder}" if envelope.reminder else "", caps.reminder),
        *((f"plans[{number}].text", "plan", f"\n{plan.text}\n", caps.plan) for number, plan in enumerate(envelope.plans)),
    ]
    for where, cap, text, most in fixed:
        if count(text) > most:
            yield Found("block-over-cap", where, f"It has {count(text):,} tokens; limits.caps.{cap} is {most:,}.")
    if any(plan.is_repair for plan in envelope.plans) and not caps.previous_output:
        yield Found("block-over-cap", "limits.caps.previous_output", "A plan carries the previous output, but its cap is 0.")
    if any("errors" in plan.carries for plan in envelope.plans) and not caps.errors:
        yield Found("block-over-cap", "limits.caps.errors", "A plan carries the errors, but their cap is 0.")


def _outputs(envelope: Envelope, context: Context) -> Iterator[Found]:
    if context.documents:
        over = sum(size > envelope.limits.caps.document for size in context.documents)
        if over:
            message = (
                f"{over} of {len(context.documents)} recent documents have more than {envelope.limits.caps.document:,} tokens."
            )
            yield Found("documents-over-cap", "limits.caps.document", message)
    least = len(smallest(envelope.contract).encode()) if envelope.tokens.counter == "utf8_bytes" else 0
    for where, cap in _output_caps(envelope):
        # Endpoints count their own tokens, which are fewer than bytes: only what cannot fit even so is certain.
        if least > 6 * cap:
            yield Found(
                "output-cap-too-small", where, f"The smallest valid output has {least} bytes; {cap} tokens cannot hold it."
            )
        elif context.outputs and quantile(context.outputs, 0.95) > cap:
            share = sum(size > cap for size in context.outputs) / len(context.outputs)
            message = f"{share:.0%} of {len(context.outputs)} recent valid outputs have more than {cap:,} tokens."
            yield Found("output-cap-too-small", where, message)


def _output_caps(envelope: Envelope) -> Iterator[tuple[str, int]]:
    yield "model.max_output_tokens", envelope.model.max_output_tokens
    for number, plan in enumerate(envelope.plans):
        if plan.max_output_tokens is not None:
            yield f"plans[{number}].max_output_tokens", plan.max_output_tokens


def _window(envelope: Envelope) -> Iterator[Found]:
    output = max(envelope.output_tokens(plan) for plan in envelope.plans)
    most = envelope.limits.caps.total + 2 * MESSAGE_OVERHEAD + output
    if most > envelope.model.context_window:
        message = f"Prompt and output can have {most:,} tokens; the window has {envelope.model.context_window:,}."
        yield Found("caps-exceed-window", "model.context_window", message)


def _reach(envelope: Envelope) -> Iterator[Found]:
    limits, attempts = envelope.limits, envelope.limits.attempts
    for name in ("same_signature", "same_shape", "same_plan", "no_progress"):
        value = getattr(limits, name)
        if value > max(attempts, 1) and attempts:
            yield Found(
                "limit-never-reached", f"limits.{name}", f"{name} is {value}, but there are {attempts} attempts at most."
            )
    repairs = any(plan.is_repair for plan in envelope.plans)
    if limits.repairs and not repairs:
        yield Found(
            "limit-never-reached", "limits.repairs", "No plan carries the previous output, so there is no repair to count."
        )
    if repairs and not limits.repairs:
        yield Found(
            "attempts-never-reached", "limits.repairs", "A plan carries the previous output, but 0 repairs are allowed."
        )
    yield from _attempts(envelope)


def _attempts(envelope: Envelope) -> Iterator[Found]:
    limits = envelope.limits
    uses = limits.same_plan * len(envelope.plans)
    if uses < limits.attempts:
        plans = len(envelope.plans)
        message = f"{plans} plans, each used {limits.same_plan} times at most, give {uses} of {limits.attempts} attempts."
        yield Found("attempts-never-reached", "limits.same_plan", message)
    smallest_prompt = _fixed_tokens(envelope)
    output = min(envelope.output_tokens(plan) for plan in envelope.plans)
    possible = limits.total_tokens // max(1, smallest_prompt + output)
    if possible < limits.attempts:
        message = (
            f"An attempt reserves at least {smallest_prompt + output:,} tokens, so {limits.total_tokens:,} are enough for "
            f"{possible} of {limits.attempts}, even with an empty document."
        )
        yield Found("attempts-never-reached", "limits.total_tokens", message)


def _fixed_tokens(envelope: Envelope) -> int:
    """A lower bound on any prompt: its fixed texts, the smallest plan, the marks of an empty document."""
    try:
        count = counter_for(envelope.tokens)
    except CounterUnavailable:
        return 0
    texts = (envelope.invariants, contract_block(envelope), envelope.task_text, envelope.reminder)
    return sum(map(count, texts)) + min(count(plan.text) for plan in envelope.plans) + 2 * MESSAGE_OVERHEAD


def _budget(envelope: Envelope, context: Context) -> Iterator[Found]:
    most = bound(envelope)
    for what, value, allowed in (
        ("calls", most.calls, context.max_calls),
        ("tokens", most.tokens, context.max_tokens),
        ("milliseconds", most.milliseconds, context.max_ms),
    ):
        if allowed is not None and value > allowed:
            yield Found("bound-over-budget", "limits", f"One record can take {value:,} {what}; the budget is {allowed:,}.")
