"""How far two blind graders agree, and the rate corrected for what gold items say about the graders.

Kappa alone misleads at low rates (2/1/1/56: raw agreement 97 %, kappa 0.649), so raw and positive agreement stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from controller.intervals import CONFIDENCE, Interval, Method, NoData, Refused, check_counts

GOLD_NEEDED = 30
"""Known-wrong and known-right items each, before a corrected rate is shown."""

DISCRIMINATION_NEEDED = 1.2
"""Sensitivity plus specificity must exceed this; at 1 the graders toss coins."""


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Two graders over the same outputs."""

    both_wrong: int
    only_first_wrong: int
    only_second_wrong: int
    both_right: int

    def __post_init__(self) -> None:
        if min(self.both_wrong, self.only_first_wrong, self.only_second_wrong, self.both_right) < 0:
            raise ValueError("a cross-table has no negative counts")

    @property
    def n(self) -> int:
        return self.both_wrong + self.only_first_wrong + self.only_second_wrong + self.both_right

    @property
    def apart(self) -> int:
        return self.only_first_wrong + self.only_second_wrong


@dataclass(frozen=True, slots=True)
class Agreement:
    """Each measure is ``None`` where the counts leave it undefined (all right: there is no positive agreement to speak of)."""

    n: int
    raw: float
    positive: float | None
    kappa: float | None
    alpha: float | None
    ac1: float | None


def agreement(table: CrossTable) -> Agreement | NoData:
    """All measures over the double-graded outputs."""
    if table.n == 0:
        return NoData("nothing graded twice yet")
    return Agreement(
        table.n, raw_agreement(table), positive_agreement(table), kappa(table), krippendorff_alpha(table), gwet_ac1(table)
    )


def raw_agreement(table: CrossTable) -> float:
    """Share of outputs on which both said the same."""
    return (table.both_wrong + table.both_right) / table.n


def positive_agreement(table: CrossTable) -> float | None:
    """Agreement on "wrong": 2a / (2a + b + c)."""
    marks = 2 * table.both_wrong + table.apart
    return 2 * table.both_wrong / marks if marks else None


def _wrong_shares(table: CrossTable) -> tuple[float, float]:
    return (table.both_wrong + table.only_first_wrong) / table.n, (table.both_wrong + table.only_second_wrong) / table.n


def kappa(table: CrossTable) -> float | None:
    """Cohen's kappa (1960); undefined when both always gave the same one mark."""
    first, second = _wrong_shares(table)
    chance = first * second + (1 - first) * (1 - second)
    return (raw_agreement(table) - chance) / (1 - chance) if chance < 1 else None


def gwet_ac1(table: CrossTable) -> float | None:
    """Gwet's AC1 (2008): agreement beyond a chance that stays sane at low rates."""
    mean = sum(_wrong_shares(table)) / 2
    chance = 2 * mean * (1 - mean)
    return (raw_agreement(table) - chance) / (1 - chance)


def krippendorff_alpha(table: CrossTable) -> float | None:
    """Nominal alpha for two graders without gaps: 1 - (n - 1)(b + c) / (n1 n0), with n = 2 x outputs."""
    marks = 2 * table.n
    wrong = 2 * table.both_wrong + table.apart
    right = marks - wrong
    return 1 - (marks - 1) * table.apart / (wrong * right) if wrong and right else None


@dataclass(frozen=True, slots=True)
class Gold:
    """What graders made of items with a known answer: wrong ones ``caught``, right ones ``passed``."""

    caught: int
    known_wrong: int
    passed: int
    known_right: int

    def __post_init__(self) -> None:
        if not (0 <= self.caught <= self.known_wrong and 0 <= self.passed <= self.known_right):
            raise ValueError("gold counts do not fit")


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """Shown beside the raw rate, never instead of it."""

    point: float
    interval: Interval
    sensitivity: float
    specificity: float


def corrected_rate(wrong: int, graded: int, gold: Gold, confidence: float = CONFIDENCE) -> CorrectedRate | Refused | NoData:
    """Rogan-Gladen with the Lang-Reiczigel interval, refused where the gold items are too few or the graders too unsure."""
    if graded == 0:
        return NoData()
    if min(gold.known_wrong, gold.known_right) < GOLD_NEEDED:
        return Refused(
            f"needs {GOLD_NEEDED} known-wrong and {GOLD_NEEDED} known-right gold items; "
            f"graded so far: {gold.known_wrong} and {gold.known_right}"
        )
    sensitivity, specificity = gold.caught / gold.known_wrong, gold.passed / gold.known_right
    if sensitivity + specificity <= DISCRIMINATION_NEEDED:
        return Refused("the gold items say that the grades hardly tell wrong from right")
    return CorrectedRate(
        rogan_gladen(wrong, graded, gold), lang_reiczigel(wrong, graded, gold, confidence), sensitivity, specificity
    )


def rogan_gladen(wrong: int, graded: int, gold: Gold) -> float:
    """The rate corrected for grader error, cut to 0..1. ``ValueError`` unless sensitivity + specificity exceed 1."""
    check_counts(wrong, graded)
    sensitivity, specificity = gold.caught / gold.known_wrong, gold.passed / gold.known_right
    if sensitivity + specificity <= 1:
        raise ValueError("graders no better than chance cannot be corrected for")
    return min(1.0, max(0.0, (wrong / graded + specificity - 1) / (sensitivity + specificity - 1)))


def lang_reiczigel(wrong: int, graded: int, gold: Gold, confidence: float = CONFIDENCE) -> Interval:
    """Interval for the corrected rate that also carries the uncertainty of the gold items (Lang & Reiczigel 2014)."""
    check_counts(wrong, graded)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    size = graded + z * z
    apparent = (wrong + z * z / 2) / size
    wrong_size, right_size = gold.known_wrong + 2, gold.known_right + 2
    sensitivity, specificity = (gold.caught + 1) / wrong_size, (gold.passed + 1) / right_size
    span = sensitivity + specificity - 1
    if span <= 0:
        raise ValueError("graders no better than chance cannot be corrected for")
    centre = (apparent + specificity - 1) / span
    from_wrong = sensitivity * (1 - sensitivity) / wrong_size
    from_right = specificity * (1 - specificity) / right_size
    error = sqrt(apparent * (1 - apparent) / size + centre**2 * from_wrong + (1 - centre) ** 2 * from_right) / span
    shift = 2 * z * z * (centre * from_wrong - (1 - centre) * from_right)
    low, high = centre + shift - z * error, centre + shift + z * error
    return Interval(_cut(low), _cut(high), Method.LANG_REICZIGEL, confidence)


def _cut(share: float) -> float:
    return min(1.0, max(0.0, share))
