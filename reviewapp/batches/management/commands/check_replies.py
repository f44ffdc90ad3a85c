"""Judges replies without any model: a bench for people who write envelopes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controller.authoring import NotAnEnvelope, read
from controller.backends.chat_reply import finish_of
from controller.checks.base import SpecError
from controller.document import Document
from controller.envelope import Envelope, from_canonical
from controller.evaluate import Judge, compile_checks
from controller.prompt import is_sendable
from controller.reply import Finish, Reply
from controller.report import CheckReport
from reviewapp.envelopes.models import Status, Version

NOT_JUDGED = 2
"""The exit code where a line could not be judged."""


class Command(BaseCommand):
    help = (
        'Judges recorded replies under an envelope. Each line in: {"id", "document", "reply", "finish_reason"?}. '
        'Each line out, in the same order: {"id", "verdict", "class", "failures", "value"}. Blank lines are left out. '
        "Exits 2 at the end where a line was not such an object."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="INPUT.jsonl", help="a JSON Lines file, or - for standard input")
        parser.add_argument(
            "--envelope",
            required=True,
            metavar="FILE.yaml|SLUG",
            help="an envelope's file, or an envelope: its newest approved version, or SLUG@N",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        envelope = _envelope(options["envelope"])
        try:
            judge = compile_checks(envelope.contract, envelope.checks, tolerant_fence=envelope.tolerant_fence)
        except SpecError as error:
            raise CommandError(f"{options['envelope']}: {error}") from error
        try:
            with _opened(options["file"]) as lines:
                bad = self._judge(judge, lines)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        if bad:
            raise CommandError(f"{bad} line{'s were' if bad > 1 else ' was'} not judged", returncode=NOT_JUDGED)

    def _judge(self, judge: Judge, lines: Iterable[bytes]) -> int:
        """One line out per line in, as soon as it is read; returns how many could not be judged."""
        bad = 0
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            row = _row(line)
            if isinstance(row, str):
                self.stderr.write(f"line {number}: {row}")
                bad += 1
                continue
            key, document, reply = row
            self.stdout.write(_verdict(key, judge.evaluate(Document(document), reply)))
        return bad


def _opened(name: str) -> Any:
    return nullcontext(sys.stdin.buffer) if name == "-" else _binary(name)


def _binary(name: str) -> IO[bytes]:
    return Path(name).open("rb")


def _row(line: bytes) -> tuple[str, str, Reply] | str:
    """(id, document, reply), or what is wrong with the line: never what stands in it."""
    try:
        data = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start + 1}"
    except (ValueError, RecursionError):
        return "not a JSON object"
    if not isinstance(data, dict):
        return "not a JSON object"
    for field, kinds in (("id", (str,)), ("document", (str,)), ("reply", (str, type(None)))):
        if field not in data:
            return f"{field} is missing"
        if not isinstance(data[field], kinds):
            return f"{field} must be text" + (" or null" if type(None) in kinds else "")
    said = data.get("finish_reason", "stop")
    if not isinstance(said, str | None):
        return "finish_reason must be text or null"
    if not is_sendable(data["document"]):
        return "document holds half of a surrogate pair, which is no text"
    finish, raw = finish_of(said)
    return data["id"], data["document"], Reply(data["reply"], finish, raw, refused=finish is Finish.REFUSAL)


def _verdict(key: str, report: CheckReport) -> str:
    """The line out. The value stands in it as ``strict_json`` wrote it: no number passes through a float."""
    failures = [
        {"check": f.check, "group": f.group, "class": f.failure_class.value, "path": f.pointer, "expected": f.expected}
        for f in report.failures
    ]
    head = {
        "id": key,
        "verdict": "pass" if report.passed else "fail",
        "class": report.final_class.value if report.final_class is not None else None,
        "failures": failures,
    }
    text = json.dumps(head)
    return text if not report.passed else f'{text[:-1]}, "value": {_ascii(report.value_text)}}}'


def _ascii(json_text: str) -> str:
    """Escapes what is not ASCII, which in JSON can only stand in strings: no terminal or pipe can refuse the line."""
    return re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found.group())[1:-1], json_text)


def _envelope(name: str) -> Envelope:
    path = Path(name)
    if path.is_file():
        try:
            return read(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, NotAnEnvelope) as error:
            problems = [str(problem) for problem in error.problems] if isinstance(error, NotAnEnvelope) else ["not readable"]
            raise CommandError("\n".join(f"{name}: {problem}" for problem in problems)) from error
    slug, _, number = name.partition("@")
    versions = Version.objects.filter(envelope__slug=slug, status=Status.APPROVED)
    if number:
        versions = versions.filter(number=number) if number.isdecimal() else versions.none()
    version = versions.order_by("-number").first()
    if version is None:
        raise CommandError(f"{name} is no file and no envelope with an approved version")
    return from_canonical(version.canonical.encode("utf-8"))
