"""Print the tables that docs/statistics.md quotes: ``python benchmarks/quality_tables.py [--runs N] [table …]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from controller.quality_study import RUNS, TABLES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(TABLES)}; all when none is named")
    parser.add_argument("--runs", type=int, default=RUNS, help="simulated samples per cell")
    options = parser.parse_args()
    if unknown := set(options.tables) - set(TABLES):
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    for name in options.tables or TABLES:
        table = TABLES[name](options.runs)
        print(f"{name}: {table.title}\n\n{table.markdown()}\n")


if __name__ == "__main__":
    main()
