from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.envelopes.models import Envelope
from reviewapp.samples.gold import seed_gold


class Command(BaseCommand):
    help = "Puts outputs with a known answer among those to be graded, to learn how graders err. They never count in a rate."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("envelope", help="the envelope's slug")
        parser.add_argument("--wrong", type=int, default=30, help="known-wrong items")
        parser.add_argument("--right", type=int, default=30, help="known-right items")

    def handle(self, *args: Any, **options: Any) -> None:
        envelope = Envelope.objects.filter(slug=options["envelope"]).first()
        if envelope is None:
            raise CommandError(f"there is no envelope {options['envelope']!r}")
        made = seed_gold(envelope, wrong=max(0, options["wrong"]), right=max(0, options["right"]), by=None)
        self.stdout.write(f"{made['wrong']} known-wrong and {made['right']} known-right items wait to be graded")
