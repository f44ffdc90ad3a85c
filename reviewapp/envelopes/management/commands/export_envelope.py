from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.envelopes import export
from reviewapp.envelopes.models import Version


class Command(BaseCommand):
    help = "Writes one version with its statements and the public keys into a folder, to be verified elsewhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("number", type=int)
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        rows = Version.objects.select_related("envelope", "author")
        version = rows.filter(envelope__slug=options["slug"], number=options["number"]).first()
        if version is None:
            raise CommandError(f"there is no {options['slug']} v{options['number']}")
        if not version.canonical:
            raise CommandError(f"{version} is a draft: only what was given into review can be exported")
        for path in export.write(version, options["folder"]):
            self.stdout.write(str(path))
        self.stdout.write(f"verify with: python docs/verify_envelope.py {options['folder']}")
