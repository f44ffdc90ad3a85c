"""The tables behind what the documentation says about intervals and breaker, as values. A command prints them.

Where a figure is simulated, the exact one stands beside it. A table's random generator is named after the table, so that the
same number of runs gives the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from controller.breaker import Counter, Rule, description
from controller.breaker_planner import delay, mean_run, trip_probability
from controller.intervals import closed_batch, upper_limit, wilson
from controller.rates import percent
from controller.sample_size import grades_for_closed_batch, grades_for_green, grades_for_limit
from controller.sequential import live_interval
from controller.simulate import (
    FIRST_LOOK,
    Change,
    Looks,
    coverage,
    ever_missed,
    exact_coverage,
    exact_ever_missed,
    false_pauses,
    light_chances,
    pause_delays,
)

RUNS = 2_000
RATES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.10, 0.15, 0.20, 0.30)
SIZES = (10, 14, 20, 30, 60, 100, 200, 500)
LIMITS = (0.005, 0.01, 0.02, 0.05, 0.10, 0.20)


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are text already. ``title`` says what a cell is."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        lines = [self.header, ("---",) * len(self.header), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _random(name: str) -> Random:
    return Random(f"quality study/{name}")  # noqa: S311 - a study, not a secret


def _pct(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _span(low: float, high: float) -> str:
    return f"{percent(low)}–{percent(high)} %"


def shown(runs: int = RUNS) -> Table:
    """What the same grades say in each of the figures."""
    cases = [(0, 14), (0, 30), (0, 60), (1, 30), (3, 60), (6, 60), (8, 14), (10, 200)]
    rows = []
    for k, n in cases:
        look, live, closed = wilson(k, n), live_interval(k, n), closed_batch(k, n, 300)
        rows.append(
            (
                f"{k} of {n}",
                _span(look.low, look.high),
                _span(live.low, live.high),
                _pct(upper_limit(k, n)),
                f"{closed.low}–{closed.high} of 300",
            )
        )
    header = ("wrong", "Wilson", "live", "claim: at most", "closed batch of 300")
    return Table("The same grades in each figure", header, tuple(rows))


def fixed_coverage(runs: int = RUNS) -> Table:
    """Wilson, looking once."""
    random = _random("fixed_coverage")
    rows = [
        (
            str(n),
            *(
                f"{exact_coverage('wilson', rate, n):.3f} / {coverage('wilson', rate, n, runs, random).value:.3f}"
                for rate in RATES
            ),
        )
        for n in SIZES
    ]
    header = ("grades", *(f"{100 * rate:g} %" for rate in RATES))
    return Table(f"Coverage of Wilson's interval: exact / {runs} simulated samples", header, tuple(rows))


def looking(runs: int = RUNS) -> Table:
    """Every method under looking after every grade: the live interval from the first, the others from the tenth."""
    random = _random("looking")
    runs = max(1, runs // 4)  # a run is hundreds of looks
    methods = (("wilson", FIRST_LOOK), ("clopper_pearson", FIRST_LOOK), ("live", 1), ("live_95", 1))
    rows = []
    for n in (100, 500):
        for rate in (0.005, 0.01, 0.05, 0.10, 0.30):
            cells = []
            for method, first in methods:
                exact = exact_ever_missed(method, rate, Looks(n, first))
                simulated = ever_missed(method, rate, Looks(n, first), runs, random)
                cells.append(f"{_pct(exact)} / {_pct(simulated.value)}")
            rows.append((str(n), f"{100 * rate:g} %", *cells))
    header = ("grades", "true rate", "Wilson", "Clopper-Pearson", "live, each end 95 %", "live, both ends 95 %")
    title = f"Chance that a look ever misses the true rate: exact / {runs} simulated gradings"
    return Table(title, header, tuple(rows))


def lights(runs: int = RUNS) -> Table:
    """When the light at a limit of 10 % shows a colour."""
    rows = []
    for rate in (0.0, 0.01, 0.02, 0.05, 0.10, 0.20, 0.30):
        chances = [light_chances(0.10, rate, n) for n in (36, 60, 100, 500)]
        rows.append((_pct(rate, 0), *(f"{_pct(found.lay_below)} / {_pct(found.lay_above)}" for found in chances)))
    header = ("true rate", "by grade 36", "by grade 60", "by grade 100", "by grade 500")
    return Table("Light at a limit of 10 %: chance of green / red, looking after every grade, exact", header, tuple(rows))


def pauses(runs: int = RUNS) -> Table:
    """False pauses of the default dead-letter rule and its neighbours."""
    random = _random("pauses")
    rows = []
    for h in (3, 4, 5):
        for rate in (0.03, 0.05):
            counter = Counter(10, h)
            exact = trip_probability(counter, rate, 1_000)
            simulated = false_pauses(counter, rate, 1_000, runs, random)
            rows.append(
                (f"10 %, h = {h}", _pct(rate, 0), _pct(exact, 2), _pct(simulated.value, 2), f"{mean_run(counter, rate):,.0f}")
            )
    header = ("rule", "normal rate", "exact", "simulated", "mean records between pauses")
    return Table(f"Chance of a pause within 1,000 records ({runs} simulated batches)", header, tuple(rows))


def delays(runs: int = RUNS) -> Table:
    """How soon a change is noticed."""
    random = _random("delays")
    runs = max(1, runs // 2)
    rows = []
    for h in (4, 5):
        for bad in (0.15, 0.30, 1.0):
            counter = Counter(10, h)
            found = pause_delays(counter, Change(0.03, 300, bad), 2_000, runs, random)
            exact = [delay(counter, bad, quantile, good=0.03, after=300) for quantile in (0.5, 0.9)]
            simulated = [found.quantile(quantile) for quantile in (0.5, 0.9)]
            rows.append((f"10 %, h = {h}", _pct(bad, 0), f"{exact[0]} ({exact[1]})", f"{simulated[0]} ({simulated[1]})"))
    header = ("rule", "rate after the change", "exact", "simulated")
    title = f"Records from a change to the pause, after 300 at 3 %: median (90 %), {runs} simulated batches"
    return Table(title, header, tuple(rows))


def probation(runs: int = RUNS) -> Table:
    """A resumed batch against a fresh one."""
    fresh = Counter(10, 4)
    rows = tuple(
        (name, f"{delay(counter, 0.3)} ({delay(counter, 0.3, 0.9)})", _pct(trip_probability(counter, 0.03, 1_000)))
        for name, counter in (("fresh", fresh), ("resumed at half", fresh.resumed()))
    )
    return Table("10 %, h = 4", ("counter", "records at 30 % until the pause", "false pause in 1,000 at 3 %"), rows)


def silent_pauses(runs: int = RUNS) -> Table:
    """The default silent-failure rule over the grades of one batch and of a long stream."""
    rows = []
    for h in (3, 4):
        counter = Counter(10, h)
        chances = [_pct(trip_probability(counter, rate, n)) for n in (60, 200) for rate in (0.02, 0.05)]
        rows.append((f"10 %, h = {h}", *chances, *(str(delay(counter, bad)) for bad in (0.2, 0.3, 0.5))))
    header = (
        "rule",
        "60 grades at 2 %",
        "at 5 %",
        "200 grades at 2 %",
        "at 5 %",
        "median grades at 20 %",
        "at 30 %",
        "at 50 %",
    )
    return Table("False pauses and delays over graded outputs, exact", header, tuple(rows))


def rules(runs: int = RUNS) -> Table:
    """The default rules as people read them."""
    rows = (
        ("dead letters", description(Counter(10, 4))),
        ("silent failures", description(Counter(10, 3), Rule.SILENT_FAILURES)),
    )
    return Table("The two default rules", ("counts", "rule"), rows)


def sample_sizes(runs: int = RUNS) -> Table:
    """Grades for a claim."""
    header = ("at most", *(f"{c} wrong" for c in range(4)), *(f"live, {c} wrong" for c in range(4)), "closed 300, 0 wrong")
    rows = tuple(
        (
            f"{100 * limit:g} %",
            *(str(grades_for_limit(limit, wrong)) for wrong in range(4)),
            *(str(grades_for_green(limit, wrong)) for wrong in range(4)),
            str(grades_for_closed_batch(300, limit)),
        )
        for limit in LIMITS
    )
    return Table("Grades needed, 95 % confidence", header, rows)


TABLES: Mapping[str, Callable[[int], Table]] = {
    "shown": shown,
    "sample_sizes": sample_sizes,
    "rules": rules,
    "pauses": pauses,
    "delays": delays,
    "probation": probation,
    "silent_pauses": silent_pauses,
    "fixed_coverage": fixed_coverage,
    "looking": looking,
    "lights": lights,
}


def study(names: Sequence[str] = tuple(TABLES), runs: int = RUNS) -> dict[str, Table]:
    """The named tables, in their order. ``KeyError`` for a name that there is not."""
    return {name: TABLES[name](runs) for name in names}
