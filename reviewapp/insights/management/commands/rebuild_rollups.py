from __future__ import annotations

from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.insights.rebuild import differences, rebuild

SHOWN = 50


class Command(BaseCommand):
    help = "Tells the counts behind the quality pages again from the rows. --verify only compares, exit 1 if any differs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--verify", action="store_true", help="compare, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["verify"]:
            self.stdout.write(f"{rebuild():,} rows of counts")
            return
        found = list(islice(differences(), SHOWN + 1))
        for difference in found[:SHOWN]:
            self.stderr.write(str(difference))
        if found:
            raise CommandError(f"{'more than ' if len(found) > SHOWN else ''}{min(len(found), SHOWN)} counts differ")
        self.stdout.write("every count is what the rows say")
