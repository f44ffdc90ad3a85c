"""Reviewers over HTTP at the same time, and a bulk worker that is killed. Scaled down here: ``COUNTERSIGN_TEST_CLAIMS`` and
``COUNTERSIGN_TEST_BULK`` set how many letters each test works on."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.deadletters.actions import bulk
from reviewapp.deadletters.actions.bulk import Act
from reviewapp.deadletters.forms import LetterFilter
from reviewapp.deadletters.models import BulkJob, DeadLetter, Decision, Draft, Requeue
from reviewapp.deadletters.seeding import seed
from reviewapp.runs.models import Run
from tests.reviewapp.deadletters.cases import assert_counts_true, policy, reviewer
from tests.reviewapp.factories import approved

pytestmark = pytest.mark.django_db(transaction=True)
CLAIMS = int(os.environ.get("COUNTERSIGN_TEST_CLAIMS", "32"))
LETTERS = int(os.environ.get("COUNTERSIGN_TEST_BULK", "200"))
TOKEN = "a" * 32


class Browser:
    """One signed-in person over one connection."""

    def __init__(self, user: User, address: str) -> None:
        client = Client()
        client.force_login(user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        self.headers = {
            "Cookie": f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}",
            "X-CSRFToken": TOKEN,
        }

    def get(self, path: str) -> str:
        self.connection.request("GET", path, headers=self.headers)
        return self.connection.getresponse().read().decode()

    def post(self, path: str, data: dict[str, Any]) -> tuple[int, str]:
        headers = {**self.headers, "Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request("POST", path, urlencode(data), headers)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("Location", "")

    def clear(self) -> Iterator[str]:
        """Claims until nothing is left, leaving a draft at each letter. Yields the letters' paths."""
        while True:
            status, there = self.post("/dead-letters/next/", {"order": "oldest"})
            assert status == 302
            if there == "/dead-letters/":
                return
            fence = re.search(r'name="fence" value="(\d+)"', self.get(there))
            assert fence is not None
            typed = {"fence": fence.group(1), "v:/total": f"typed at {there}", "v:/qty": "3"}
            assert self.post(f"{there}check/", typed)[0] == 200
            yield there


def test_eight_reviewers_share_no_letter(live_server: Any) -> None:
    version = approved()
    policy(version, leases_per_person=10_000, lease_minutes=480)
    seed(version, runs=CLAIMS, open_letters=CLAIMS)
    browsers = [Browser(reviewer(f"rae{number}"), live_server.url) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda browser: list(browser.clear()), browsers))
    every = [there for mine in claims for there in mine]
    assert len(every) == len(set(every)) == CLAIMS
    kept = {draft.letter_id: json.loads(draft.fields)["v:/total"] for draft in Draft.objects.all()}
    assert kept == {letter.pk: f"typed at {letter.get_absolute_url()}" for letter in DeadLetter.objects.all()}


def worker() -> subprocess.Popen[bytes]:
    database = connection.settings_dict
    if connection.vendor == "postgresql":
        user, password = database["USER"], database["PASSWORD"]
        address = f"postgres://{user}:{password}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"
    else:
        address = f"sqlite:///{database['NAME']}"
    environment = {**os.environ, "DATABASE_URL": address, "COUNTERSIGN_VAR": str(settings.VAR_DIR)}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "work_queue", "--until-idle"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def kill_in_the_middle(job: BulkJob, more_than: int) -> int:
    """Starts a worker, kills it once it has done more than this, and takes its lease for run out."""
    process = worker()
    while process.poll() is None and BulkJob.objects.get(pk=job.pk).n_handled <= more_than:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    BulkJob.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    return BulkJob.objects.get(pk=job.pk).n_handled


def test_killed_worker_does_nothing_twice() -> None:
    version = approved()
    seed(version, runs=LETTERS, open_letters=LETTERS)
    rae = reviewer()
    chosen = LetterFilter(QueryDict(""), user=rae)
    job = bulk.start(rae, chosen, Act.REQUEUE, {"version": version.pk}, typed=LETTERS)
    first = kill_in_the_middle(job, 0)
    second = kill_in_the_middle(job, first)
    assert 0 < first < second
    assert worker().wait() == 0
    job.refresh_from_db()
    assert (job.status, job.n_done, job.n_refused) == ("done", LETTERS, 0)
    assert job.items.filter(status="done").count() == LETTERS
    assert Requeue.objects.count() == Run.objects.filter(replay=1).count() == LETTERS
    assert Decision.objects.filter(kind="requeue").values("letter").distinct().count() == LETTERS
    bulk.steer_job(job.pk, "undo", by=rae)
    assert worker().wait() == 0
    job.refresh_from_db()
    assert (job.status, job.n_undone, job.n_kept) == ("undone", LETTERS, 0)
    assert not Run.objects.filter(replay=1).exists()
    assert DeadLetter.objects.filter(status="open").count() == LETTERS
    assert_counts_true()
