from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviewapp.samples.reference import grade_by_reference


class Command(BaseCommand):
    help = "Grades waiting samples by the reference values of their records: for demonstrations, where the truth is known."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--limit", type=int, help="at most so many grades (all that wait)")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{grade_by_reference(limit=options['limit'])} grades given by reference")
