"""The bound that is shown before a run starts, and what calls are charged."""

from __future__ import annotations

from typing import Any

import pytest

from controller import budget
from controller.budget import Bound, Charge
from controller.reply import Fault, Usage
from tests.envelopes import small

JUDGE = {"alias": "judge", "instructions": "Judge.", "criteria": [{"id": "c", "text": "C."}], "threshold": 1, "votes": 3}
ALTERNATE = {"id": "other", "kind": "alternate_model", "alias": "second", "plan": "copy"}


def test_bound_of_the_small_envelope() -> None:
    assert budget.bound(small()) == Bound(
        calls=7,
        generations=3,
        infrastructure_retries=4,
        alternates=0,
        judge_calls=0,
        milliseconds=12_000,
        tokens=20_000,
        prompt_tokens=7_816,
    )


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({"judge": {**JUDGE, "votes": 1}, "infrastructure__retries": 0}, 6),
        ({"judge": JUDGE}, 3 + 4 + 9),
        ({"fallback": [ALTERNATE, {**ALTERNATE, "id": "more"}]}, 3 + 4 + 2),
        ({"judge": JUDGE, "fallback": [ALTERNATE]}, 3 + 4 + 1 + 12),
        ({"limits__attempts": 0, "fallback": [ALTERNATE]}, 1),
        ({"limits__attempts": 0}, 0),
    ],
)
def test_bound_counts_every_kind_of_call(changes: dict[str, Any], calls: int) -> None:
    found = budget.bound(small(**changes))
    assert found.calls == calls == found.generations + found.infrastructure_retries + found.alternates + found.judge_calls


def test_no_call_takes_no_time() -> None:
    nothing = budget.bound(small(limits__attempts=0))
    assert (nothing.milliseconds, nothing.tokens) == (0, 0)


def test_tokens_are_bound_by_what_calls_can_cost() -> None:
    roomy = budget.bound(small(limits__total_tokens=10**9))
    assert roomy.tokens == 7 * (7_816 + 200)
    judged = budget.bound(small(limits__total_tokens=10**9, judge=JUDGE))
    assert judged.tokens == 7 * (7_816 + 200) + 9 * (8_000 + 16 + 512)


def test_largest_plan_sets_the_output() -> None:
    plans = [{"id": "copy", "text": "C."}, {"id": "again", "text": "A.", "max_output_tokens": 700}]
    assert budget.bound(small(limits__total_tokens=10**9, plans=plans)).tokens == 7 * (7_816 + 700)


@pytest.mark.parametrize(
    ("usage", "charge"),
    [
        (Usage(), Charge(300, estimated=True, over_cap=False)),
        (Usage(50, None), Charge(300, estimated=True, over_cap=False)),
        (Usage(None, 50), Charge(300, estimated=True, over_cap=False)),
        (Usage(50, 50), Charge(300, estimated=False, over_cap=False)),
        (Usage(100, 200), Charge(300, estimated=False, over_cap=False)),
        (Usage(101, 50), Charge(301, estimated=False, over_cap=True)),
        (Usage(50, 201), Charge(301, estimated=False, over_cap=True)),
    ],
)
def test_more_of_reserved_and_reported_is_charged(usage: Usage, charge: Charge) -> None:
    assert budget.settle(100, 200, usage) == charge


@pytest.mark.parametrize("fault", list(Fault))
def test_only_turned_away_calls_are_free(fault: Fault) -> None:
    free = fault in (Fault.RATE_LIMIT, Fault.CONFIGURATION)
    assert budget.kept_after(fault, 300) == (0 if free else 300)
