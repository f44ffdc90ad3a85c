from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewapp.envelopes.models import Status, Version
from reviewapp.envelopes.verification import stored, verified


class Command(BaseCommand):
    help = (
        "Verifies content, digest and every signed approval of all approved and retired versions, without any network. "
        "Exit 1 where one fails."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        failed = 0
        rows = Version.objects.filter(status__in=[Status.APPROVED, Status.RETIRED]).select_related("envelope", "author")
        for version in rows.order_by("envelope__slug", "number"):
            approvals = stored(version.pk)
            invalid = verified(version, approvals)
            failed += invalid is not None
            verdict = "valid" if invalid is None else f"INVALID, {invalid.why}"
            self.stdout.write(f"{version} ({version.status}, {version.digest[:12]}): {verdict}")
            for approval in approvals:
                by_passkey = " and a passkey" if approval.passkey else ""
                self.stdout.write(f"  signed with {approval.signed.key_id}{by_passkey}: {approval.signed.statement}")
        if failed:
            raise CommandError(f"{failed} of {len(rows)} versions are not validly signed")
        self.stdout.write(f"{len(rows)} versions, all validly signed")
