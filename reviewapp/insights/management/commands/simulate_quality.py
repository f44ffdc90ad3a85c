from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controller.quality_study import RUNS, TABLES


class Command(BaseCommand):
    help = "How often the shown intervals are right and when the breaker pauses: simulated, with the exact figures beside."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(TABLES)}; all when none is named")
        parser.add_argument("--runs", type=int, default=RUNS, help="simulated samples per cell")

    def handle(self, *args: Any, **options: Any) -> None:
        if unknown := set(options["tables"]) - set(TABLES):
            raise CommandError(f"no such table: {', '.join(sorted(unknown))}")
        if options["runs"] < 1:
            raise CommandError("at least one simulated sample is needed")
        for name in options["tables"] or TABLES:
            table = TABLES[name](options["runs"])
            self.stdout.write(f"{name}: {table.title}\n\n{table.markdown()}\n")
