from __future__ import annotations

import logging
import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, close_old_connections
from kombu.exceptions import OperationalError

from controller.safe_summary import safe_summary
from reviewapp.runs.dispatch import Dispatcher
from reviewapp.runs.models import LIVE, Run

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5


class Command(BaseCommand):
    help = "Hands queued runs to Celery workers until it is stopped. The database is the queue: this may be killed at any time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--window", type=int, default=200, help="unclaimed runs that may wait in the broker at once (200)")
        parser.add_argument("--until-idle", action="store_true", help="stop when no live run is left")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.CELERY_BROKER_URL:
            raise CommandError("CELERY_BROKER_URL is not set; without a broker, manage.py controller works the queue")
        from reviewapp.runs.tasks import execute_run

        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        dispatcher = Dispatcher(execute_run.delay, window=options["window"])
        while not stopped.is_set():
            try:
                sent = dispatcher.turn()
                if options["until_idle"] and not Run.objects.filter(status__in=LIVE, batch__status="open").exists():
                    break
            except (DatabaseError, OperationalError) as error:
                # The database or the broker is away for a while: the queue is still there afterwards.
                log.error("could not hand out runs; trying again: %s", safe_summary(error))
                close_old_connections()
                sent = 0
            if not sent:
                stopped.wait(POLL_SECONDS)
