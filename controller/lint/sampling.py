"""Whether the sample that people grade can say anything."""

from __future__ import annotations

import math
from collections.abc import Iterator

from controller.envelope import Envelope
from controller.lint.base import Context, Found, Lint, Weight

LINTS = (
    Lint(
        "sampling-too-thin",
        Weight.LIKELY,
        "The sample says nothing within a month",
        "Even if every graded output were right, the upper end of the interval would stay above the limit that the "
        "breaker promises to hold.",
        "Raise sampling.rate, or the limit, or accept that a verdict takes longer.",
    ),
    Lint(
        "nothing-sampled",
        Weight.LIKELY,
        "Nothing is sampled",
        "Silent failures can only be seen in graded samples. Without any, the silent-failure rate stays unknown.",
        "Set sampling.rate above 0.",
    ),
)

ALPHA = 0.05


def look(envelope: Envelope, context: Context) -> Iterator[Found]:
    sampling, limit = envelope.sampling, envelope.breaker.silent.limit
    if sampling.rate == 0 and sampling.min_per_stratum == 0:
        yield Found("nothing-sampled", "sampling.rate", "The rate and the least number per stratum are both 0.")
        return
    if context.accepted_per_month is None:
        return
    drawn = min(context.accepted_per_month, max(int(context.accepted_per_month * sampling.rate), sampling.min_per_stratum))
    needed = needed_without_error(limit)
    if drawn < needed:
        message = (
            f"At {context.accepted_per_month:,} accepted a month about {drawn:,} are graded; "
            f"{needed:,} without any error are needed to show at most {limit:.0%}."
        )
        yield Found("sampling-too-thin", "sampling.rate", message)


def needed_without_error(limit: float) -> int:
    """The first n at which 0 wrong of n puts the exact one-sided 95 % upper limit at or below ``limit``: 29 for 10 %."""
    return math.ceil(math.log(ALPHA) / math.log1p(-limit))
