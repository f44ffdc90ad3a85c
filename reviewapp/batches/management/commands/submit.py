from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewapp.batches.actions import NotAllowed, submit_lines
from reviewapp.batches.queries import bound_of
from reviewapp.envelopes.models import Status, Version
from reviewapp.runs.progress import print_table, watch


class Command(BaseCommand):
    help = 'Queues the records of a JSON Lines file: {"id": text, "document": text, "reference": object?} per line.'

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="a JSON Lines file, or - for standard input")
        parser.add_argument(
            "--envelope", required=True, metavar="SLUG", help="the envelope; SLUG@N for version N, else the newest"
        )
        parser.add_argument("--batch", help="the batch's name (the file's name)")
        parser.add_argument("--wait", action="store_true", help="work the batch here and print its table")

    def handle(self, *args: Any, **options: Any) -> None:
        version = _version(options["envelope"])
        name = options["batch"] or Path(options["file"]).stem
        try:
            if options["file"] == "-":
                result = submit_lines(sys.stdin.buffer, version=version, name=name, by=None)
            else:
                with open(options["file"], "rb") as lines:
                    result = submit_lines(lines, version=version, name=name, by=None)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        except NotAllowed as error:
            raise CommandError(str(error)) from error
        for problem in result.errors:
            self.stderr.write(f"{options['file']}: {problem}")
        if not result.ok or result.batch is None:
            count = len(result.errors) + result.more_errors
            raise CommandError(f"nothing was submitted: {count} error{'s' if count > 1 else ''}")
        if result.ignored_fields:
            self.stdout.write(f"fields that were left out: {', '.join(result.ignored_fields)}")
        self.stdout.write(
            f"batch {result.batch.pk} “{name}” under {version}: {result.added} added, {result.unchanged} unchanged"
        )
        bound = bound_of(result.batch)
        self.stdout.write(
            f"bound for each record: {bound.calls} calls, {bound.milliseconds / 1000:g} s, {bound.tokens:,} tokens"
        )
        if options["wait"]:
            watch([result.batch])
            print_table([result.batch])


def _version(text: str) -> Version:
    slug, _, number = text.partition("@")
    versions = Version.objects.filter(envelope__slug=slug, status=Status.APPROVED).select_related("envelope")
    if number:
        versions = versions.filter(number=number) if number.isdecimal() else versions.none()
    version = versions.order_by("-number").first()
    if version is None:
        known = ", ".join(sorted({str(v) for v in Version.objects.filter(status=Status.APPROVED).select_related("envelope")}))
        raise CommandError(f"there is no approved version {text!r}; approved: {known or 'none'}")
    return version
