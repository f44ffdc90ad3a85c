"""What a breaker rule will do, exactly: the chain of the counter's states, for the page on which the rule is set.

Records are taken as independent: bursts (one bad source document that yields many records) pause far oftener.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Any

from controller.breaker import Counter

HORIZON = 20_000
"""A delay beyond this many records is not searched for."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """The counter in the largest unit in which all its moves are whole: 40 states for 10 % and h = 4."""

    states: int
    down: int
    up: int
    start: int

    @classmethod
    def of(cls, counter: Counter) -> _Chain:
        start = min(counter.excess, counter.threshold)
        unit = gcd(100, counter.limit_pct, start)
        return cls(counter.threshold // unit, counter.limit_pct // unit, (100 - counter.limit_pct) // unit, start // unit)

    def first(self) -> Any:
        """All of the probability in the counter's present state; the last entry is "tripped"."""
        import numpy as np

        vector = np.zeros(self.states + 1)
        vector[self.start] = 1.0
        return vector

    def after(self, vector: Any, p: float) -> Any:
        """The distribution one record later."""
        import numpy as np

        live = vector[:-1]
        moved = np.zeros_like(vector)
        moved[-1] = vector[-1]
        moved[0] = (1 - p) * live[: self.down + 1].sum()
        moved[1 : max(1, self.states - self.down)] += (1 - p) * live[self.down + 1 :]
        moved[self.up : -1] += p * live[: max(0, self.states - self.up)]
        moved[-1] += p * live[max(0, self.states - self.up) :].sum()
        return moved


def _check_share(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError("a rate lies between 0 and 1")


@lru_cache(maxsize=4_096)
def trip_probability(counter: Counter, p: float, n: int) -> float:
    """Chance of a pause within ``n`` records at the constant rate ``p``. 10 %, h = 4, 3 % over 1,000: 0.0102."""
    _check_share(p)
    chain = _Chain.of(counter)
    vector = chain.first()
    for _ in range(n):
        vector = chain.after(vector, p)
    return float(vector[-1])


@lru_cache(maxsize=4_096)
def delay(counter: Counter, p: float, quantile: float = 0.5, *, good: float = 0.0, after: int = 0) -> int | None:
    """Records at rate ``p`` until the pause has come with probability ``quantile``. ``None`` beyond ``HORIZON``.

    ``after`` records at the rate ``good`` may go before, without a pause: "the model goes bad at record 2,000".
    """
    _check_share(p)
    if not 0 < quantile < 1:
        raise ValueError("a quantile lies between 0 and 1")
    for records, probability in enumerate(_tripping(counter, p, good, after), start=0):
        if probability >= quantile:
            return records
        if records >= HORIZON:
            break
    return None


def _tripping(counter: Counter, p: float, good: float, after: int) -> Iterator[float]:
    """Probability of having tripped after 0, 1, 2 … records at ``p``, given no pause in the good stretch before."""
    chain = _Chain.of(counter)
    vector = chain.first()
    for _ in range(after):
        vector = chain.after(vector, good)
        vector[-1] = 0.0
        if not vector.any():
            raise ValueError("the good stretch always pauses")
        vector /= vector.sum()
    while True:
        yield float(vector[-1])
        vector = chain.after(vector, p)


@lru_cache(maxsize=1_024)
def mean_run(counter: Counter, p: float) -> float:
    """Mean records until a pause at the constant rate ``p``: at the normal rate, the time between false pauses.

    10 %, h = 4 at 3 %: 95,947. ``ValueError`` at rate 0, where a pause never comes.
    """
    import numpy as np

    _check_share(p)
    if p == 0:
        raise ValueError("without bad records there is no pause")
    chain = _Chain.of(counter)
    moves = np.zeros((chain.states, chain.states))
    for state in range(chain.states):
        one = np.zeros(chain.states + 1)
        one[state] = 1.0
        moves[state] = chain.after(one, p)[:-1]
    mean = np.linalg.solve(np.eye(chain.states) - moves, np.ones(chain.states))
    return float(mean[chain.start]) if chain.start < chain.states else 0.0


def counter_trip_prob(limit_pct: int, h: int, p: float, n: int) -> float:
    """``trip_probability`` of a fresh counter, by its two parameters."""
    return trip_probability(Counter(limit_pct, h), p, n)


def counter_delay(limit_pct: int, h: int, p: float, q: float = 0.5) -> int | None:
    """``delay`` of a fresh counter, by its two parameters."""
    return delay(Counter(limit_pct, h), p, q)
