"""What a shadow run showed: the cross-table, the exact test over it, and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.comparison import Comparison, Pairs, compare_paired
from controller.intervals import NoData
from reviewapp.envelopes.models import ShadowResult, ShadowRun

CHANGES = {
    "rescued": "rescued",
    "still_failing": "still failing",
    "newly_failing": "newly failing",
    "changed": "changed value",
    "same": "same value",
}
"""Change → words, in the order in which a reviewer wants them."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """``counts`` by change; ``comparison`` is over the records that both versions ran. ``calls`` and ``tokens`` were used."""

    counts: dict[str, int]
    not_run: int
    waiting: int
    calls: int
    tokens: int
    comparison: Comparison | NoData

    @property
    def ran(self) -> int:
        return sum(self.counts.values())

    @property
    def points(self) -> str:
        """By how many percentage points the share of dead letters is lower under the draft."""
        return _points(self.decided.difference) if self.decided else ""

    @property
    def interval(self) -> str:
        return f"{_points(self.decided.interval.low)} to {_points(self.decided.interval.high)}" if self.decided else ""

    @property
    def p(self) -> str:
        return f"{self.decided.p:.3g}" if self.decided else ""

    @property
    def decided(self) -> Comparison | None:
        return self.comparison if isinstance(self.comparison, Comparison) else None


def _points(share: float) -> str:
    return f"{share * 100:.1f}".replace("-", "−")


def evidence(shadow: ShadowRun) -> Evidence:
    """The shares are of dead letters: first the version in force, second the draft; a positive difference speaks for the draft.

    The records were chosen (dead letters first), so the difference is about them, not about the task's traffic.
    """
    rows = list(ShadowResult.objects.filter(shadow=shadow).values_list("outcome", "change", "calls", "tokens"))
    counts = {name: sum(change == name for _, change, _, _ in rows) for name in CHANGES}
    pairs = Pairs(
        both_wrong=counts["still_failing"],
        only_first_wrong=counts["rescued"],
        only_second_wrong=counts["newly_failing"],
        both_right=counts["changed"] + counts["same"],
    )
    return Evidence(
        counts=counts,
        not_run=sum(outcome == "not_run" for outcome, _, _, _ in rows),
        waiting=sum(not outcome for outcome, _, _, _ in rows),
        calls=sum(calls for _, _, calls, _ in rows),
        tokens=sum(tokens for _, _, _, tokens in rows),
        comparison=compare_paired(pairs),
    )


def ordered(shadow: ShadowRun) -> Sequence[ShadowResult]:
    """The rows of a shadow run: what changed first, what was not run last."""
    rows = ShadowResult.objects.filter(shadow=shadow).select_related("run__record", "run__batch").defer("run__state", "story")
    order = [*CHANGES, ""]
    return sorted(rows, key=lambda row: (order.index(row.change) if row.change in order else len(order), row.pk))
