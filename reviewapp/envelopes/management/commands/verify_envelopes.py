from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewapp.envelopes.models import Status, Version
from reviewapp.envelopes.verification import verified


class Command(BaseCommand):
    help = (
        "Verifies content, digest and signed approvals of every approved version, without any network. Exit 1 where one fails."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        failed = 0
        versions = Version.objects.filter(status=Status.APPROVED).select_related("envelope", "author")
        for version in versions:
            invalid = verified(version)
            failed += invalid is not None
            self.stdout.write(f"{version}: {'valid' if invalid is None else 'INVALID, ' + invalid.why} ({version.digest[:12]})")
        if failed:
            raise CommandError(f"{failed} of {len(versions)} approved versions may not run")
        self.stdout.write(f"{len(versions)} approved versions, all valid")
