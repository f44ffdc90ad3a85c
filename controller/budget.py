"""What a run may cost at most, computed from the envelope before the first call; and what one more call would cost."""

from __future__ import annotations

from dataclasses import dataclass

from controller.envelope import Envelope
from controller.reply import Fault, Usage
from controller.tokens import MESSAGE_OVERHEAD


@dataclass(frozen=True, slots=True)
class Bound:
    """No run exceeds any of these, crashes and redeliveries included.

    ``calls`` counts every kind of model call; ``milliseconds`` is active time (a pause by a person or the breaker does not
    count); ``tokens`` is the most that may be spent as counted, ``prompt_tokens`` the largest single prompt.
    """

    calls: int
    generations: int
    infrastructure_retries: int
    alternates: int
    judge_calls: int
    milliseconds: int
    tokens: int
    prompt_tokens: int


def bound(envelope: Envelope) -> Bound:
    """The bound on one run.

    Each call ends either in a reply, which uses up an attempt, or in none, which uses up an infrastructure retry; the last
    failing call takes the place of an attempt. So calls ≤ attempts + retries, plus one per alternate model, plus the judge's
    votes on each output that passes its checks (at most one per attempt and alternate).
    """
    limits = envelope.limits
    generations = limits.attempts
    retries = envelope.infrastructure.retries if generations else 0
    alternates = sum(item.kind == "alternate_model" for item in envelope.fallback)
    votes = envelope.judge.votes if envelope.judge is not None else 0
    judge_calls = votes * (generations + alternates)
    prompt = limits.caps.total + 2 * MESSAGE_OVERHEAD
    output = max(envelope.output_tokens(plan) for plan in envelope.plans)
    calls = generations + retries + alternates + judge_calls
    judge_tokens = (envelope.judge.cap + 2 * MESSAGE_OVERHEAD + envelope.judge.max_output_tokens) if envelope.judge else 0
    worst = (calls - judge_calls) * (prompt + output) + judge_calls * judge_tokens
    return Bound(
        calls=calls,
        generations=generations,
        infrastructure_retries=retries,
        alternates=alternates,
        judge_calls=judge_calls,
        milliseconds=limits.elapsed_ms if calls else 0,
        tokens=min(limits.total_tokens, worst),
        prompt_tokens=prompt,
    )


_UNWORKED = frozenset({Fault.RATE_LIMIT, Fault.CONFIGURATION})
"""Faults with which an endpoint says that it did not work on the call: nothing is charged. After any other it may have."""


def kept_after(fault: Fault, reserved: int) -> int:
    """What a call without a reply is charged: its whole reservation, unless the endpoint turned it away at the door."""
    return 0 if fault in _UNWORKED else reserved


@dataclass(frozen=True, slots=True)
class Charge:
    """What one call is charged. ``estimated`` where the endpoint did not report and the reservation stands."""

    tokens: int
    estimated: bool
    over_cap: bool


def settle(reserved_prompt: int, reserved_output: int, usage: Usage) -> Charge:
    """The charge after a call: what was reserved, or what the endpoint reports where that is more.

    The reservation (counted prompt, largest allowed output) is charged even when the endpoint reports less: it may report
    wrongly, and a budget that trusts it could be overrun. A report above the reservation is an alarm, and is charged.
    """
    prompt = max(reserved_prompt, usage.prompt_tokens or 0)
    output = max(reserved_output, usage.completion_tokens or 0)
    return Charge(
        tokens=prompt + output,
        estimated=usage.prompt_tokens is None or usage.completion_tokens is None,
        over_cap=prompt > reserved_prompt or output > reserved_output,
    )
