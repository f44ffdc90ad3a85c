from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controller.authoring import NotAnEnvelope, read_placed
from controller.lint import LINTS, Weight, lint, placed
from reviewapp.envelopes.models import Envelope
from reviewapp.envelopes.recent import context_for


class Command(BaseCommand):
    help = "Checks an envelope's YAML file: problems, then lints. Exit 1 where it is not valid or something in it is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, nargs="?")
        parser.add_argument("--explain", metavar="LINT", help="what a lint looks for, why, and what to do")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["explain"]:
            return self._explain(options["explain"])
        if options["file"] is None:
            raise CommandError("name a file, or a lint with --explain")
        try:
            text = options["file"].read_text(encoding="utf-8")
            content, places = read_placed(text)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['file']} cannot be read: {error}") from None
        except NotAnEnvelope as error:
            for problem in error.problems:
                self.stdout.write(f"{options['file']}:{problem.line}:{problem.column}: {problem.where} {problem.message}")
            raise CommandError(f"{len(error.problems)} problems: this is not a valid envelope") from None
        hints = placed(lint(content, context_for(Envelope.objects.filter(slug=content.task).first())), places)
        for hint in hints:
            where = f"{options['file']}:{hint.line}:{hint.column}"
            self.stdout.write(f"{where}: {hint.lint.weight} {hint.lint.id}: {hint.message} {hint.lint.fix}")
        self.stdout.write(f"{content.task}: valid, {len(hints)} hints, SHA-256 {content.digest}")
        if any(hint.lint.weight is Weight.BROKEN for hint in hints):
            raise CommandError("something in it can never work")
        return None

    def _explain(self, name: str) -> None:
        if name not in LINTS:
            raise CommandError(f"no lint {name!r}; lints: {', '.join(LINTS)}")
        found = LINTS[name]
        self.stdout.write(f"{found.id} ({found.weight})\n{found.title}.\n{found.why}\n{found.fix}")
