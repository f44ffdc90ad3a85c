from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Serves the web app and works queued runs beside it, on one machine. Ctrl+C stops both."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-controller", action="store_true", help="serve pages only")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            call_command("collectstatic", interactive=False, verbosity=0)
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "reviewapp.settings"}
        address = [f"--host={options['host']}", f"--port={options['port']}"]
        web = [sys.executable, "-m", "granian", "--interface=wsgi", "--no-ws", "--blocking-threads=4", *address]
        commands = [[*web, "reviewapp.wsgi:application"]]
        if not options["no_controller"]:
            commands.append([sys.executable, str(settings.BASE_DIR / "manage.py"), "controller"])
        started = [subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment) for command in commands]  # noqa: S603
        self.stdout.write(f"\nhttp://{options['host']}:{options['port']}/ (Ctrl+C stops)")

        def stop(*_: object) -> None:
            for process in started:
                process.terminate()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        codes = [process.wait() for process in started[:1]]
        for process in started[1:]:
            process.terminate()
            codes.append(process.wait())
        if any(code not in (0, -signal.SIGTERM, -signal.SIGINT) for code in codes):
            raise CommandError(f"a process ended with an error (exit codes {codes}); is port {options['port']} in use?")
