from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewapp.audit.actions import verify_chain
from reviewapp.audit.models import Entry


class Command(BaseCommand):
    help = "Checks the hash chain of the whole audit log. Exit 1 with every break where it does not hold."

    def handle(self, *args: Any, **options: Any) -> None:
        breaks = list(verify_chain())
        for found in breaks:
            self.stderr.write(f"entry {found.entry_id}: {found.why}")
        if breaks:
            raise CommandError(f"the audit log was tampered with: {len(breaks)} breaks")
        last = Entry.objects.order_by("-id").first()
        self.stdout.write(f"{Entry.objects.count()} entries, chain whole, last hash {last.hash if last else 'none'}")
