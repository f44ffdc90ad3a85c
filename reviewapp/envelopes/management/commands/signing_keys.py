from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.audit.actions import append
from reviewapp.envelopes import keys


class Command(BaseCommand):
    help = "Signing keys for approvals: make (a new one signs from now on), list, revoke KEY_ID."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("verb", choices=["make", "list", "revoke"])
        parser.add_argument("key_id", nargs="?")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verb"] == "make":
            key = keys.make_key()
            append("signing key made", "key", key.key_id, by=None)
            self.stdout.write(f"key {key.key_id} signs approvals from now on")
        elif options["verb"] == "revoke":
            try:
                key = keys.revoke_key(options["key_id"] or "")
            except KeyError:
                raise CommandError(f"no key {options['key_id']!r}; see signing_keys list") from None
            append("signing key revoked", "key", key.key_id, by=None)
            self.stdout.write(f"key {key.key_id} is revoked: nothing that it signed may run")
        else:
            for key in keys.listed():
                state = f"revoked {key.revoked}" if key.revoked else "trusted"
                self.stdout.write(f"{key.key_id}  made {key.created}  {state}  {key.public_key}")
