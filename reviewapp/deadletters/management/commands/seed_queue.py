from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.deadletters.seeding import seed
from reviewapp.envelopes.models import Status, Version


class Command(BaseCommand):
    help = "Fills the queue with runs and open dead letters for measuring, past the actions. For databases made for it only."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, required=True, help="runs in all")
        parser.add_argument("--open", type=int, required=True, help="how many of them are open dead letters")
        parser.add_argument("--envelope", help="the envelope's slug (the first with an approved version)")
        parser.add_argument("--name", default="seeded", help="the new batch's name")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["open"] <= options["runs"]:
            raise CommandError("--open is a part of --runs")
        versions = Version.objects.select_related("envelope").filter(status=Status.APPROVED).order_by("pk")
        if options["envelope"]:
            versions = versions.filter(envelope__slug=options["envelope"])
        version = versions.first()
        if version is None:
            raise CommandError("there is no approved version to seed under: run the demo first, or approve one")
        started = time.monotonic()
        batch = seed(version, runs=options["runs"], open_letters=options["open"], name=options["name"])
        seconds = time.monotonic() - started
        about = f"{options['runs']:,} runs, {options['open']:,} open letters"
        self.stdout.write(f"{about} in batch {batch.pk}, {seconds:.0f} s")
