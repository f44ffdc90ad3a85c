from __future__ import annotations

import os
import signal
import socket
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviewapp.deadletters import jobs


class Command(BaseCommand):
    help = "Works bulk jobs and wakes deferred letters until it is stopped. `controller` does the same beside its runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--until-idle", action="store_true", help="stop when nothing is left to do")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        worker = f"{socket.gethostname()[:60]}:{os.getpid()}"
        done = jobs.work(worker, stop, until_idle=options["until_idle"])
        self.stdout.write(f"{done} letters were worked on here")
