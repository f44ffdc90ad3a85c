from __future__ import annotations

import os
import secrets
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Runs check --deploy under production settings, failing on any warning."

    def handle(self, *args: Any, **options: Any) -> None:
        environment = os.environ | {
            "COUNTERSIGN_PRODUCTION": "1",
            "COUNTERSIGN_SECRET_KEY": os.environ.get("COUNTERSIGN_SECRET_KEY") or secrets.token_urlsafe(64),
            "COUNTERSIGN_HOSTS": os.environ.get("COUNTERSIGN_HOSTS") or "countersign.example",
        }
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "check", "--deploy", "--fail-level", "WARNING"]
        if subprocess.run(command, env=environment).returncode:  # noqa: S603 - our own command
            raise CommandError("the production settings have warnings")
