from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.audit.actions import verify_chain
from reviewapp.batches.models import Batch
from reviewapp.samples.verification import NotDisclosed, verify_sample


class Command(BaseCommand):
    help = "Recomputes the whole draw of a closed batch from the audit log, names every difference; exit 1 if any."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("batch", type=int, help="the batch's number")

    def handle(self, *args: Any, **options: Any) -> None:
        batch = Batch.objects.filter(pk=options["batch"]).first()
        if batch is None:
            raise CommandError(f"there is no batch {options['batch']}")
        try:
            found = verify_sample(batch)
        except NotDisclosed as error:
            raise CommandError(f"batch {batch.pk}: {error}") from error
        problems = [*found.problems, *(f"audit entry {b.entry_id}: {b.why}" for b in verify_chain())]
        for problem in problems:
            self.stderr.write(problem)
        if problems:
            raise CommandError(f"batch {batch.pk}: {len(problems)} difference{'s' if len(problems) > 1 else ''}")
        self.stdout.write(
            f"batch {batch.pk}: {found.sampled} of {found.accepted} accepted records are sampled, as the committed seed says"
        )
