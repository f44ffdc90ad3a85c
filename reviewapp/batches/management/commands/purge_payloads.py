from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from reviewapp.batches.retention import purge_payloads


class Command(BaseCommand):
    help = "Empties documents, prompts, replies and values of old records; hashes, outcomes and statistics stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--older-than", type=int, required=True, metavar="DAYS", help="ended before so many days")
        parser.add_argument("--dry-run", action="store_true", help="only say how many")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["older_than"] < 0:
            raise CommandError("--older-than takes a number of days, 0 or more")
        before = timezone.now() - timedelta(days=options["older_than"])
        result = purge_payloads(before, by=None, dry_run=options["dry_run"])
        verb = "would be purged" if options["dry_run"] else "purged"
        self.stdout.write(f"{result.purged:,} records {verb}; {result.kept:,} kept: not ended, or a person still needs them")
