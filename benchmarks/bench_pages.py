"""How long the queue's pages take on the server, and how many queries they ask: ``make bench-pages``.

At each size it asks every page as a signed-in reviewer through the whole stack of middleware and templates, and prints median,
p95 and queries, and the p95 as a multiple of the smallest size's. Its database is made and dropped here, as the tests do it: on
PostgreSQL where ``DATABASE_URL`` names a server (``test_<name>``), in a temporary file otherwise. ``--sizes`` takes more.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

LIMIT_MS, LIMIT_QUERIES, LIMIT_RATIO = 100, 12, 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000:1000,100000:10000", help="runs:open, the smallest first")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    sizes = [tuple(int(part) for part in size.split(":")) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="countersign-pages-") as folder:
        os.environ["COUNTERSIGN_VAR"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewapp.settings")
        rows = _measure(sizes, options.rounds)
    _print(rows, [runs for runs, _ in sizes])


Figures = tuple[float, float, int]
"""Median ms, p95 ms, queries."""


def _measure(sizes: list[tuple[int, ...]], rounds: int) -> dict[str, list[Figures]]:
    """Page → figures by size; each size is seeded on top of the one before."""
    import django

    django.setup()
    from django.test.runner import DiscoverRunner

    runner = DiscoverRunner(verbosity=0, interactive=False)
    databases = runner.setup_databases()
    try:
        return _sizes(sizes, rounds)
    finally:
        runner.teardown_databases(databases)


def _sizes(sizes: list[tuple[int, ...]], rounds: int) -> dict[str, list[Figures]]:
    from reviewapp.accounts.models import Role
    from reviewapp.deadletters.models import QueuePolicy
    from reviewapp.deadletters.seeding import seed
    from tests.reviewapp.factories import approved, person

    version = approved()
    QueuePolicy.objects.create(envelope=version.envelope, leases_per_person=10_000)
    rows: dict[str, list[Figures]] = {}
    had = (0, 0)
    for runs, waiting in sizes:
        print(f"seeding {runs:,} runs, {waiting:,} open letters …", flush=True)
        started = time.monotonic()
        seed(version, runs=runs - had[0], open_letters=waiting - had[1], name=f"seeded {runs}")
        print(f"  in {time.monotonic() - started:.0f} s", flush=True)
        had = (runs, waiting)
        for name, ask in _pages(person("bench", Role.REVIEWER), rounds).items():
            rows.setdefault(name, []).append(_figures(ask, rounds))
    return rows


def _pages(user: Any, rounds: int) -> dict[str, Callable[[int], Any]]:
    from django.test import Client
    from django.urls import reverse

    from reviewapp.deadletters.models import DeadLetter, FailureGroup

    client = Client()
    client.force_login(user)
    # Not the first ones, which "claim next" takes.
    ids = list(DeadLetter.objects.filter(lease_owner=None).order_by("-pk").values_list("pk", flat=True)[: rounds * 2])
    group = FailureGroup.objects.order_by("-n_open")[0]
    return {
        "groups": lambda _: client.get(reverse("failure-groups")),
        "group": lambda _: client.get(group.get_absolute_url()),
        "list": lambda _: client.get(reverse("deadletters")),
        "list, later page": lambda n: client.get(reverse("deadletters"), {"after": ids[-1 - n % rounds]}),
        "search": lambda n: client.get(reverse("deadletters"), {"q": f"seeded {n + 1:08}"}),
        "claim next": lambda _: client.post(reverse("deadletter-next")),
        "workspace": lambda n: client.get(reverse("deadletter", args=[ids[n % len(ids)]])),
    }


def _figures(ask: Callable[[int], Any], rounds: int) -> Figures:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        assert ask(0).status_code in (200, 302)
    asked = len(queries)  # now: the next request empties the log
    taken = []
    for number in range(rounds):
        started = time.perf_counter()
        ask(number)
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1], asked


def _print(rows: dict[str, list[Figures]], sizes: list[int]) -> None:
    print(
        f"\n{'page':<18}"
        + "".join(f"{f'{size:,} runs: median / p95 ms':>36}{'queries':>9}" for size in sizes)
        + f"{'p95 ratio':>11}"
    )
    wrong = []
    for name, figures in rows.items():
        ratio = figures[-1][1] / figures[0][1]
        cells = "".join(f"{f'{median:.1f} / {p95:.1f}':>36}{queries:>9}" for median, p95, queries in figures)
        print(f"{name:<18}{cells}{ratio:>11.2f}")
        if figures[-1][1] > LIMIT_MS or figures[-1][2] > LIMIT_QUERIES or ratio > LIMIT_RATIO:
            wrong.append(name)
    print(f"\nThe bar: p95 under {LIMIT_MS} ms, at most {LIMIT_QUERIES} queries, within {LIMIT_RATIO} × of the smallest size.")
    if wrong:
        print(f"Over it: {', '.join(wrong)}.")
        sys.exit(1)


if __name__ == "__main__":
    main()
