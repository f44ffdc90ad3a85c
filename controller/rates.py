"""The silent-failure rate as it may be shown, and the claims that may be made from it.

A rate is never a bare percentage: it carries its counts, its interval, and the band that the missing grades leave open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.intervals import (
    CONFIDENCE,
    CountInterval,
    Interval,
    Method,
    NoData,
    Refused,
    closed_batch,
    closed_batch_upper,
    lower_limit,
    upper_limit,
    wilson,
)
from controller.sequential import Light, light, live_interval
from controller.stratified import Cell, Estimate, estimate, upper

MISSING_ALLOWED_PCT = 5
"""Claims and green are refused while more of the sampled outputs than this have no verdict."""


@dataclass(frozen=True, slots=True)
class Tally:
    """One cell of the sample: a stratum in one epoch. Counts of outputs.

    ``cannot_judge`` is a verdict: it counts as wrong in claims and is listed apart in rates. What is neither right nor wrong
    nor that is unresolved (waiting, or skipped with a reason).
    """

    stratum: str
    accepted: int
    sampled: int
    wrong: int
    right: int
    cannot_judge: int = 0

    def __post_init__(self) -> None:
        if min(self.wrong, self.right, self.cannot_judge) < 0:
            raise ValueError("a tally has no negative counts")
        if not self.wrong + self.right + self.cannot_judge <= self.sampled <= self.accepted:
            raise ValueError("a tally has no more verdicts than sampled outputs, and samples no more than were accepted")

    @property
    def graded(self) -> int:
        return self.wrong + self.right

    @property
    def unresolved(self) -> int:
        return self.sampled - self.wrong - self.right - self.cannot_judge


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with all that must stand beside it. Shares are of 1.

    ``point`` is ``None`` while a stratum has accepted outputs and no grade. ``band`` reaches from "all missing right" to "all
    missing wrong". ``closed`` is given for a closed batch with one cell.
    """

    point: float | None
    interval: Interval
    band: Interval
    wrong: int
    graded: int
    cannot_judge: int
    sampled: int
    accepted: int
    ungraded_strata: tuple[str, ...] = ()
    closed: CountInterval | None = None

    @property
    def text(self) -> str:
        """One line for people: "5.0 % (1.7–13.7 %): 3 wrong of 60 graded, 60 sampled of 300 accepted"."""
        span = f"{percent(self.interval.low)}–{percent(self.interval.high)} %"
        head = f"between {span}" if self.point is None else f"{percent(self.point)} % ({span})"
        apart = f", {self.cannot_judge} could not be judged" if self.cannot_judge else ""
        return f"{head}: {self.wrong} wrong of {self.graded} graded, {self.sampled} sampled of {self.accepted} accepted{apart}"


@dataclass(frozen=True, slots=True)
class Claim:
    """ "At most this share of what was accepted is wrong", at ``confidence`` one-sided. ``at_most_count`` when closed."""

    at_most: float
    method: Method
    confidence: float
    wrong: int
    graded: int
    accepted: int
    at_most_count: int | None = None

    @property
    def text(self) -> str:
        basis = f"({self.wrong} wrong of {self.graded} graded, {percent(self.confidence)} % confidence)"
        if self.at_most_count is not None:
            return f"at most {self.at_most_count} of the {self.accepted} accepted outputs are wrong {basis}"
        return f"at most {percent(self.at_most)} % of accepted outputs are wrong {basis}"


def percent(share: float) -> str:
    """One decimal, without the sign: 0.05 is "5.0"."""
    return f"{100 * share:.1f}"


def rate(tallies: Sequence[Tally], *, is_closed: bool = False, confidence: float = CONFIDENCE) -> Rate | NoData:
    """The rate over all accepted outputs, each stratum weighted by what it accepted."""
    cells = [tally for tally in tallies if tally.accepted]
    if not cells:
        return NoData("nothing accepted yet")
    if not any(tally.sampled for tally in cells):
        return NoData("nothing sampled yet")
    if not any(tally.graded for tally in cells):
        return NoData("nothing graded yet")
    found = estimate([Cell(t.accepted, t.graded, t.wrong) for t in cells], confidence)
    lowest = estimate([Cell(t.accepted, t.sampled, t.wrong) for t in cells], confidence)
    highest = estimate([Cell(t.accepted, t.sampled, t.sampled - t.right) for t in cells], confidence)
    return Rate(
        point=found.point,
        interval=found.interval,
        band=_band(lowest, highest),
        wrong=sum(t.wrong for t in cells),
        graded=sum(t.graded for t in cells),
        cannot_judge=sum(t.cannot_judge for t in cells),
        sampled=sum(t.sampled for t in cells),
        accepted=sum(t.accepted for t in cells),
        ungraded_strata=tuple(t.stratum for t in cells if not t.graded),
        closed=_closed_count(cells, confidence) if is_closed else None,
    )


def missing_band(wrong: int, graded: int, sampled: int, confidence: float = CONFIDENCE) -> Interval:
    """From "all missing grades would be right" to "all would be wrong". 3 wrong, 50 of 60 graded: 1.7 % to 33.6 %."""
    low = wilson(wrong, sampled, confidence).low
    high = wilson(wrong + sampled - graded, sampled, confidence).high
    return Interval(low, high, Method.MISSING_BAND, confidence)


def _band(lowest: Estimate, highest: Estimate) -> Interval:
    return Interval(lowest.interval.low, highest.interval.high, Method.MISSING_BAND, lowest.interval.confidence)


def _closed_count(cells: Sequence[Tally], confidence: float) -> CountInterval | None:
    if len(cells) != 1:
        return None
    return closed_batch(cells[0].wrong, cells[0].graded, cells[0].accepted, confidence)


def too_many_missing(sampled: int, unresolved: int) -> Refused | None:
    """The reason to claim nothing while more than 5 % of the sampled outputs have no verdict."""
    if 100 * unresolved <= MISSING_ALLOWED_PCT * sampled:
        return None
    return Refused(f"{unresolved} of {sampled} sampled outputs have no verdict; up to {MISSING_ALLOWED_PCT} % may be missing")


def claim_at_most(
    tallies: Sequence[Tally],
    *,
    is_closed: bool = False,
    missing_as_wrong: bool = False,
    confidence: float = CONFIDENCE,
) -> Claim | Refused | NoData:
    """The one-sided claim, by exact methods only: hypergeometric when closed, Clopper-Pearson, exact cells when stratified.

    "Cannot judge" counts as wrong. ``missing_as_wrong`` counts unresolved outputs as wrong too, and then needs no refusal for
    them. Made once, when grading is done: while people look daily, the live interval is the one that holds.
    """
    cells = [tally for tally in tallies if tally.accepted]
    sampled, unresolved = sum(t.sampled for t in cells), sum(t.unresolved for t in cells)
    if not sampled:
        return NoData("nothing sampled yet")
    if not missing_as_wrong and (refusal := too_many_missing(sampled, unresolved)):
        return refusal
    counted = [_claim_cell(tally, missing_as_wrong) for tally in cells]
    if empty := [tally.stratum for tally, cell in zip(cells, counted, strict=True) if not cell.graded]:
        return Refused(f"no verdict in stratum {', '.join(empty)}")
    return _claim(counted, is_closed, confidence)


def _claim_cell(tally: Tally, missing_as_wrong: bool) -> Cell:
    wrong = tally.wrong + tally.cannot_judge + (tally.unresolved if missing_as_wrong else 0)
    return Cell(tally.accepted, wrong + tally.right, wrong)


def _claim(cells: Sequence[Cell], is_closed: bool, confidence: float) -> Claim:
    wrong, graded = sum(c.wrong for c in cells), sum(c.graded for c in cells)
    accepted = sum(c.accepted for c in cells)
    if len(cells) > 1:
        return Claim(upper(cells, confidence), Method.SQUARE_AND_ADD_EXACT, confidence, wrong, graded, accepted)
    if is_closed:
        count = closed_batch_upper(wrong, graded, accepted, confidence)
        return Claim(count / accepted, Method.HYPERGEOMETRIC, confidence, wrong, graded, accepted, count)
    return Claim(upper_limit(wrong, graded, confidence), Method.CLOPPER_PEARSON, confidence, wrong, graded, accepted)


@dataclass(frozen=True, slots=True)
class LiveRate:
    """What may be looked at every day: base sample only, each end of ``interval`` at 95 %. ``reason`` says why not green."""

    light: Light
    wrong: int
    graded: int
    limit: float
    interval: Interval | None = None
    reason: str = ""


def live_rate(base: Tally, limit: float) -> LiveRate:
    """The live interval and the light of the base sample. Green is withheld while too many sampled outputs have no verdict.

    "Cannot judge" counts as wrong here: the light is a claim.
    """
    wrong = base.wrong + base.cannot_judge
    graded = wrong + base.right
    shown = light(wrong, graded, limit)
    if shown is Light.NO_DATA:
        return LiveRate(shown, 0, 0, limit, None, "nothing graded yet")
    refusal = too_many_missing(base.sampled, base.unresolved)
    reason = refusal.reason if shown is Light.GREEN and refusal else ""
    return LiveRate(Light.AMBER if reason else shown, wrong, graded, limit, live_interval(wrong, graded), reason)


@dataclass(frozen=True, slots=True)
class FieldRate:
    """One field over the graded records in which it applies. ``is_flagged``: surely above the limit, all fields considered."""

    name: str
    wrong: int
    graded: int
    interval: Interval | NoData
    is_flagged: bool


def field_rates(counts: Mapping[str, tuple[int, int]], limit: float, confidence: float = CONFIDENCE) -> tuple[FieldRate, ...]:
    """(wrong, graded) per field, to rates in the order given. The flag's level is shared between the m fields (Bonferroni)."""
    level = 1 - (1 - confidence) / max(1, len(counts))
    return tuple(
        FieldRate(name, wrong, graded, wilson(wrong, graded, confidence), lower_limit(wrong, graded, level) > limit)
        if graded
        else FieldRate(name, 0, 0, NoData("the field was in no graded output"), False)
        for name, (wrong, graded) in counts.items()
    )
