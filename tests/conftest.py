"""Shared fixtures. ``DATABASE_URL`` chooses the database of the whole run; SQLite where it is unset."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", deadline=None, max_examples=10_000, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


REQUIRED = {name for name in os.environ.get("COUNTERSIGN_TESTS_REQUIRE", "").split(",") if name}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a server is required, a test that skips for lack of it fails."""
    report = yield
    if report.skipped and any(item.get_closest_marker(name) for name in REQUIRED):
        report.outcome, report.longrepr = "failed", f"required here, but skipped: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real inputs beside the project; tests that need them skip where they are absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the real inputs in ../shared/data")
    return SHARED / "data"


@pytest.fixture(autouse=True)
def _signing_keys_of_the_test(settings: object, tmp_path: Path) -> None:
    settings.COUNTERSIGN_KEYS = tmp_path / "keys"  # type: ignore[attr-defined]


_teardown = TransactionTestCase._fixture_teardown


def _teardown_past_the_guards(self: TransactionTestCase) -> None:
    """Emptying tables between tests is not what the guards are for: they are lifted for just that moment."""
    with _guards_lifted():
        _teardown(self)


def _guards_lifted() -> object:
    from contextlib import contextmanager

    @contextmanager
    def lifted() -> Iterator[None]:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET session_replication_role = replica")
                triggers = []
            else:
                cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
                triggers = cursor.fetchall()
                for name, _ in triggers:
                    cursor.execute(f'DROP TRIGGER "{name}"')
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                if connection.vendor == "postgresql":
                    cursor.execute("SET session_replication_role = DEFAULT")
                for _, sql in triggers:
                    cursor.execute(sql)

    return lifted()


TransactionTestCase._fixture_teardown = _teardown_past_the_guards  # type: ignore[method-assign]
