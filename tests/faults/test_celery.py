"""Celery with a real broker and a real worker process: messages are hints; lost or doubled, each record ends once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError

from reviewapp.celery import app
from reviewapp.runs.models import LIVE, Attempt, Run
from reviewapp.runs.tasks import execute_run
from tests.faults.endings import assert_ended_once, number_in, receipts, right_reply
from tests.faults.processes import environment, kill, running, until
from tests.stub_endpoint import Asked, Behaviour, Say, StubEndpoint

pytestmark = [pytest.mark.celery, pytest.mark.django_db(transaction=True)]

RECORDS = 60


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """A Redis of the test's own where there is one to start, else the one that ``CELERY_TEST_BROKER`` names."""
    named = os.environ.get("CELERY_TEST_BROKER", "redis://127.0.0.1:6379/15")
    server = shutil.which("redis-server")
    if server is None:
        if not _answers(named):
            pytest.skip("needs redis-server, or a broker at CELERY_TEST_BROKER")
        yield named
        return
    port = _free_port()
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path), "--daemonize", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"redis://127.0.0.1:{port}/0"
        until(lambda: _answers(url), seconds=20)
        yield url
    finally:
        kill(process)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(url: str) -> bool:
    try:
        with Connection(url, connect_timeout=1) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0.05, timeout=1)
    except (OSError, OperationalError):
        return False
    return True


class Model:
    def __init__(self) -> None:
        self.said: set[str] = set()

    def __call__(self, asked: Asked) -> Behaviour:
        reply = right_reply(number_in(asked.text))
        self.said.add(reply)
        return Say(reply, latency_s=0.02)


def send_everything(broker: str, times: int) -> None:
    """Messages straight to the broker, as a dispatcher that doubles would send them."""
    with app.connection_for_write(url=broker) as connection:
        for run_id in list(Run.objects.values_list("pk", flat=True)) * times:
            execute_run.apply_async((run_id,), connection=connection)


def test_doubled_messages_are_harmless(broker: str, tmp_path: Path) -> None:
    made, model, log = receipts(RECORDS), Model(), tmp_path / "log"
    worker = ("-m", "celery", "-A", "reviewapp.celery", "worker", "-c", "2", "--without-gossip", "--without-mingle")
    with StubEndpoint(model) as stub:
        env = environment(COUNTERSIGN_ENDPOINT=stub.url, COUNTERSIGN_MODEL="stub", CELERY_BROKER_URL=broker)
        send_everything(broker, times=2)
        with (
            running(*worker, env=env, log=log),
            running("manage.py", "dispatch", "--window", "20", "--until-idle", env=env, log=log) as dispatch,
        ):
            until(lambda: not Run.objects.filter(status__in=LIVE).exists(), log=log)
            until(lambda: dispatch.poll() is not None, log=log)
        asked = stub.count
    assert dispatch.returncode == 0
    assert_ended_once(made, asked=asked, sent=model.said)
    assert (asked, Attempt.objects.count()) == (RECORDS, RECORDS)


def test_lost_messages_and_a_killed_worker_lose_nothing(broker: str, tmp_path: Path) -> None:
    made, model, log = receipts(RECORDS), Model(), tmp_path / "log"
    worker = ("-m", "celery", "-A", "reviewapp.celery", "worker", "-P", "threads", "-c", "4", "--without-gossip")
    with StubEndpoint(model) as stub:
        env = environment(
            COUNTERSIGN_ENDPOINT=stub.url, COUNTERSIGN_MODEL="stub", CELERY_BROKER_URL=broker, COUNTERSIGN_LEASE_SECONDS="2"
        )
        with running("manage.py", "dispatch", "--until-idle", env=env, log=log) as dispatch:
            with running(*worker, env=env, log=log) as first:
                until(lambda: stub.count >= 10, log=log)
                kill(first)
            with Connection(broker) as connection:
                connection.default_channel.client.flushdb()
            with running(*worker, env=env, log=log):
                until(lambda: dispatch.poll() is not None, log=log)
        asked = stub.count
    assert dispatch.returncode == 0
    assert_ended_once(made, asked=asked, sent=model.said)
