"""One rate out of several cells that were sampled at different rates ("square and add", Zou, Huang & Zhang 2009)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from controller.intervals import (
    CONFIDENCE,
    Interval,
    Method,
    check_closed,
    clopper_pearson,
    upper_limit,
    wilson,
)

LimitsOf = Callable[[int, int, float], Interval]


@dataclass(frozen=True, slots=True)
class Cell:
    """A stratum in one epoch: ``wrong`` of ``graded`` drawn at random from ``accepted``. ``graded`` may be 0."""

    accepted: int
    graded: int
    wrong: int

    def __post_init__(self) -> None:
        if self.graded:
            check_closed(self.wrong, self.graded, self.accepted)
        elif self.accepted < 1 or self.wrong:
            raise ValueError("a cell has at least one accepted output, and no wrong ones without grades")

    @property
    def share(self) -> float:
        return self.wrong / self.graded


@dataclass(frozen=True, slots=True)
class Estimate:
    """``point`` is ``None`` while some cell has no grade: then ``interval`` lets that cell be anything from 0 to 1.

    ``ungraded_share`` is the part of all accepted outputs that lies in such cells, 0 to 1.
    """

    point: float | None
    interval: Interval
    ungraded_share: float


def estimate(cells: Sequence[Cell], confidence: float = CONFIDENCE, *, exact: bool = False) -> Estimate:
    """The weighted rate ``sum N_h/N * k_h/n_h`` with its interval; with a single cell this is that cell's own interval.

    ``exact`` takes Clopper-Pearson cells (never seen below .956 coverage) instead of Wilson cells (headline, mean .956).
    ``ValueError`` when no cell has a grade: that is no data.
    """
    graded = [cell for cell in cells if cell.graded]
    if not graded:
        raise ValueError("no cell has a grade")
    limits_of: LimitsOf = clopper_pearson if exact else wilson
    if len(cells) == 1:
        return Estimate(cells[0].share, limits_of(cells[0].wrong, cells[0].graded, confidence), 0.0)
    total = sum(cell.accepted for cell in cells)
    limits = [limits_of(cell.wrong, cell.graded, confidence) for cell in graded]
    weights = [cell.accepted / total for cell in graded]
    ungraded = sum(cell.accepted for cell in cells if not cell.graded) / total
    point = sum(w * cell.share for w, cell in zip(weights, graded, strict=True))
    below = sqrt(sum((w * (c.share - i.low)) ** 2 for w, c, i in zip(weights, graded, limits, strict=True)))
    above = sqrt(sum((w * (i.high - c.share)) ** 2 for w, c, i in zip(weights, graded, limits, strict=True)))
    method = Method.SQUARE_AND_ADD_EXACT if exact else Method.SQUARE_AND_ADD
    interval = Interval(
        max(0.0, point - below),
        min(1.0, point + above + ungraded),
        method,
        confidence,
    )
    return Estimate(None if ungraded else point, interval, ungraded)


def upper(cells: Sequence[Cell], confidence: float = CONFIDENCE) -> float:
    """One-sided upper limit from exact cells, for claims. ``ValueError`` when a cell has no grade."""
    if not cells or any(not cell.graded for cell in cells):
        raise ValueError("a claim needs grades in every cell")
    total = sum(cell.accepted for cell in cells)
    point = sum(cell.accepted / total * cell.share for cell in cells)
    spread = sum(
        (cell.accepted / total * (upper_limit(cell.wrong, cell.graded, confidence) - cell.share)) ** 2 for cell in cells
    )
    return min(1.0, point + sqrt(spread))
