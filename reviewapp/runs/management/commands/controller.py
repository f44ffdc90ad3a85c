from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviewapp.runs.executor import LocalExecutor


class Command(BaseCommand):
    help = "Works queued runs in threads until it is stopped (SIGTERM or Ctrl+C: calls in flight come to their end first)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--threads", type=int, help="runs worked at once (COUNTERSIGN_THREADS)")
        parser.add_argument("--until-idle", action="store_true", help="stop when no live run is left")

    def handle(self, *args: Any, **options: Any) -> None:
        executor = LocalExecutor(options["threads"])
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: executor.stop())
        self.stdout.write(f"{executor.name} works with {executor.threads} threads")
        finished = executor.run(until_idle=options["until_idle"])
        self.stdout.write(f"{finished} runs ended here")
