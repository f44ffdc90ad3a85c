from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from reviewapp.batches import demo
from reviewapp.batches.models import Batch
from reviewapp.insights import figures
from reviewapp.insights.figures import Scope
from reviewapp.insights.page import rate_words
from reviewapp.runs.endpoints import recorded_note
from reviewapp.runs.progress import print_table, watch
from reviewapp.samples.models import Grade, GradeStatus, Task
from reviewapp.samples.reference import grade_by_reference, truth_in


class Command(BaseCommand):
    help = (
        "Loads the shipped envelopes, people and documents, works the batches to their end, prints the table, serves the app."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="stop after the table")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.COUNTERSIGN_ENDPOINT:
            settings.COUNTERSIGN_ENDPOINT = os.environ["COUNTERSIGN_ENDPOINT"] = demo.CASSETTE
        call_command("migrate", verbosity=0)
        people = demo.people()
        by_name = {person.user.username: person.user for person in people}
        versions = demo.versions(by_name["author"], by_name["owner"])
        batches = demo.batches(versions, by=by_name["author"])
        watch(batches)
        print_table(batches)
        self._grade(batches)
        note = recorded_note()
        if note:
            self.stdout.write(note)
        self.stdout.write("\nSign in as")
        for person in people:
            roles = ", ".join(role.label.lower() for role in person.roles)
            self.stdout.write(f"  {person.user.username:<9} {person.password:<20} {roles}")
        if not options["no_serve"]:
            call_command("serve", port=options["port"])

    def _grade(self, batches: list[Batch]) -> None:
        """Three quarters of the sample are graded by the reference values, once; the rest waits for whoever signs in."""
        if not Grade.objects.filter(status=GradeStatus.DONE).exists():
            seats = Task.objects.filter(is_open=True).count()
            grade_by_reference(limit=-(-3 * seats // 4))
        self.stdout.write("\nSilent failures, as the sample says and as the reference values say")
        for batch in batches:
            rows = figures.sample_rows(Scope(batch.version.envelope_id, batch_id=batch.pk))
            wrong, accepted = truth_in(batch)
            shown = rate_words(figures.line(batch.name, rows, 0.1).rate)
            self.stdout.write(f"  {batch.name}: {shown}; in truth {wrong} of {accepted}")
