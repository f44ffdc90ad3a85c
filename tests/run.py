"""``make test``: the whole suite on SQLite, then what depends on the database again on PostgreSQL where a server answers.

``COUNTERSIGN_TESTS_POSTGRES`` names another server; ``COUNTERSIGN_TESTS_REQUIRE=browser,postgres,celery`` makes it an error
when one of these cannot run.
"""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg

POSTGRES = os.environ.get("COUNTERSIGN_TESTS_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
ON_BOTH = ["tests/reviewapp", "tests/faults"]


def main(arguments: list[str]) -> int:
    required = os.environ.get("COUNTERSIGN_TESTS_REQUIRE", "").split(",")
    pytest = [sys.executable, "-m", "pytest", *arguments]
    code = subprocess.run(pytest).returncode
    if code or os.environ.get("DATABASE_URL"):
        return code
    try:
        psycopg.connect(POSTGRES, connect_timeout=3).close()
    except psycopg.Error as error:
        first = (str(error).splitlines() or ["no answer"])[0]
        print(f"PostgreSQL suite skipped: {first}. Install postgresql, or name a server in COUNTERSIGN_TESTS_POSTGRES.")
        return int("postgres" in required)
    print("\nThe same on PostgreSQL", flush=True)
    chosen = (
        []
        if any(not argument.startswith("-") and os.path.exists(argument.split("::")[0]) for argument in arguments)
        else ON_BOTH
    )
    return subprocess.run([*pytest, *chosen], env=os.environ | {"DATABASE_URL": POSTGRES}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
