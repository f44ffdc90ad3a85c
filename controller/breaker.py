"""When a batch pauses: the excess counter, and the rule against being blind. Decisions are values; someone else pauses.

The counter is a Bernoulli CUSUM in whole hundredths of a record (Page 1954; Reynolds & Stoumbos 1999). It has no window and
no minimum count: it trips as soon as in some recent stretch of n records D were bad with ``D - limit * n >= h``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

WAITING_LIMIT = 30
OLDEST_LIMIT_HOURS = 72
DEAD_LETTER_STRETCHES = (20, 30, 50, 100)
SILENT_STRETCHES = (20, 30, 60)


class Rule(StrEnum):
    """What paused a batch."""

    DEAD_LETTERS = "dead_letters"
    SILENT_FAILURES = "silent_failures"
    BLIND = "blind"


_COUNTED = {Rule.DEAD_LETTERS: "dead letters", Rule.SILENT_FAILURES: "wrong outputs"}


@dataclass(frozen=True, slots=True)
class Counter:
    """``limit_pct`` bad records in 100 are allowed, ``h`` above that trip. ``excess`` is in hundredths of a record.

    Once tripped it stays so whatever is counted afterwards (runs in flight still end), until a person resumes.
    """

    limit_pct: int
    h: int
    excess: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.limit_pct < 100:
            raise ValueError("the limit is a whole number of percent, 1 to 99")
        if self.h < 1:
            raise ValueError("h is at least 1")
        if self.excess < 0:
            raise ValueError("the excess is never negative")

    @classmethod
    def for_share(cls, limit: float | Decimal | str, h: int) -> Counter:
        """From a signed limit such as 0.1. ``ValueError`` unless it is a whole number of percent."""
        percent = Decimal(str(limit)) * 100
        if percent != percent.to_integral_value():
            raise ValueError("the limit is a whole number of percent, 1 to 99")
        return cls(int(percent), h)

    @property
    def threshold(self) -> int:
        return 100 * self.h

    @property
    def tripped(self) -> bool:
        return self.excess >= self.threshold

    def step(self, is_bad: bool) -> Counter:
        """The counter after one more finished record (dead letters) or one more grade of the base sample (silent failures)."""
        if self.tripped:
            return self
        return replace(self, excess=max(0, self.excess + 100 * bool(is_bad) - self.limit_pct))

    def run(self, outcomes: Iterable[bool]) -> Counter:
        """The counter after all of them, in order."""
        counter = self
        for is_bad in outcomes:
            counter = counter.step(is_bad)
        return counter

    def resumed(self) -> Counter:
        """On probation: at half the threshold, so that a rate that is still bad trips in about half the records."""
        return replace(self, excess=self.threshold // 2)


@dataclass(frozen=True, slots=True)
class Pause:
    """Why a batch has to stop now: the rule, its numbers, and the sentence that people read."""

    rule: Rule
    text: str
    observed: int
    limit: int


def over_limit(counter: Counter, rule: Rule) -> Pause | None:
    """A pause when the counter has tripped. ``observed`` and ``limit`` are hundredths of a record."""
    if not counter.tripped:
        return None
    text = (
        f"{_COUNTED[rule].capitalize()} are {_records(counter.excess)} above the {counter.limit_pct} % allowed; "
        f"the batch pauses at {counter.h}."
    )
    return Pause(rule, text, counter.excess, counter.threshold)


def _records(hundredths: int) -> str:
    return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".")


def blind(
    waiting: int,
    oldest_wait_hours: float | None,
    *,
    waiting_limit: int = WAITING_LIMIT,
    oldest_limit_hours: float = OLDEST_LIMIT_HOURS,
) -> Pause | None:
    """A pause when sampled outputs wait for grades too many or too long: without grades silent failures go unseen.

    ``oldest_wait_hours`` is ``None`` when nothing waits. ``observed`` and ``limit`` are outputs, or whole hours.
    """
    if waiting >= waiting_limit:
        text = f"{waiting} sampled outputs wait for a grade; the batch pauses at {waiting_limit}."
        return Pause(Rule.BLIND, text, waiting, waiting_limit)
    if waiting and oldest_wait_hours is not None and oldest_wait_hours > oldest_limit_hours:
        hours, limit = int(oldest_wait_hours), int(oldest_limit_hours)
        return Pause(Rule.BLIND, f"A sampled output has waited {hours} hours for a grade; {limit} are allowed.", hours, limit)
    return None


def in_a_row(counter: Counter) -> int:
    """Bad records in an unbroken row that trip a counter at 0."""
    return -(-counter.threshold // (100 - counter.limit_pct))


def tripping_count(counter: Counter, stretch: int) -> int:
    """Bad records among ``stretch`` that trip it, however they lie."""
    return -(-(counter.threshold + counter.limit_pct * stretch) // 100)


def examples(counter: Counter, stretches: Sequence[int] = DEAD_LETTER_STRETCHES) -> tuple[tuple[int, int], ...]:
    """(bad, of) for each stretch that is long enough to say more than "in a row"."""
    counted = ((tripping_count(counter, stretch), stretch) for stretch in stretches)
    return tuple((bad, stretch) for bad, stretch in counted if bad < stretch)


def description(counter: Counter, rule: Rule = Rule.DEAD_LETTERS) -> str:
    """The rule in one line, for the page on which it is set and for the notice of a pause."""
    stretches = DEAD_LETTER_STRETCHES if rule is Rule.DEAD_LETTERS else SILENT_STRETCHES
    cases = [f"{in_a_row(counter)} in a row", *(f"{bad} of {stretch}" for bad, stretch in examples(counter, stretches))]
    return (
        f"Pauses as soon as {_COUNTED[rule]} come to {counter.h} or more above the {counter.limit_pct} % allowed, "
        f"in any recent stretch: {', '.join(cases)}."
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """A past batch under a rule: the excess after each record, up to the one that trips (its number from 1, or ``None``)."""

    excesses: tuple[int, ...]
    tripped_at: int | None


def replay(counter: Counter, outcomes: Iterable[bool]) -> Replay:
    """What the rule would have done, had it been signed then."""
    excesses: list[int] = []
    for number, is_bad in enumerate(outcomes, start=1):
        counter = counter.step(is_bad)
        excesses.append(counter.excess)
        if counter.tripped:
            return Replay(tuple(excesses), number)
    return Replay(tuple(excesses), None)
