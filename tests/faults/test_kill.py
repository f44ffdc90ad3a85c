"""``manage.py controller`` killed with SIGKILL in mid-batch: nothing is lost, doubled, or paid for beyond the bound."""

from __future__ import annotations

import random
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from reviewapp.runs.models import LIVE, Outcome, Run
from tests.faults.endings import assert_ended_once, number_in, receipts, right_reply
from tests.faults.processes import environment, kill, running, until
from tests.stub_endpoint import Asked, Behaviour, Fail, Say, StubEndpoint

pytestmark = pytest.mark.django_db(transaction=True)

RECORDS = 150
KILLS = 10
WRONG = '{"total":"0.01","qty":2}'


class Model:
    """Right for most receipts, wrong for some, overloaded now and then; remembers what it said."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self.said: set[str] = set()

    def __call__(self, asked: Asked) -> Behaviour:
        number = number_in(asked.text)
        with self._lock:
            latency = self._chance.uniform(0.02, 0.05)
            busy = self._chance.random() < 0.03
            reply = WRONG if number % 10 == 3 else right_reply(number)
            self.said.add(reply)
        return Fail(429, retry_after="0.02", latency_s=latency) if busy else Say(reply, latency_s=latency)


def controller(stack: ExitStack, url: str, log: Path):  # type: ignore[no-untyped-def]
    env = environment(
        COUNTERSIGN_ENDPOINT=url, COUNTERSIGN_MODEL="stub", COUNTERSIGN_LEASE_SECONDS="1", COUNTERSIGN_THREADS="4"
    )
    return stack.enter_context(running("manage.py", "controller", "--until-idle", env=env, log=log))


def is_over() -> bool:
    return not Run.objects.filter(status__in=LIVE).exists()


def test_ten_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    made, model, log = receipts(RECORDS), Model(7), tmp_path / "log"
    chance = random.Random(20)
    with StubEndpoint(model) as stub, ExitStack() as stack:
        for _ in range(KILLS):
            process = controller(stack, stub.url, log)
            enough = stub.count + chance.randint(1, RECORDS // (2 * KILLS))
            until(lambda process=process, enough=enough: stub.count >= enough or process.poll() is not None, log=log)
            kill(process)
            assert not is_over(), "the batch was over before the last kill: this test needs more records"
        last = controller(stack, stub.url, log)
        until(lambda: last.poll() is not None, log=log)
        asked = stub.count
    assert last.returncode == 0
    assert_ended_once(made, asked=asked, sent=model.said)
    assert Run.objects.filter(status="accepted").count() >= RECORDS * 0.8


def test_one_of_two_controllers_is_killed_again_and_again(tmp_path: Path) -> None:
    made, model, log = receipts(RECORDS), Model(8), tmp_path / "log"
    chance = random.Random(21)
    with StubEndpoint(model) as stub, ExitStack() as stack:
        pair = [controller(stack, stub.url, log), controller(stack, stub.url, log)]
        for turn in range(4):
            enough = min(RECORDS - 20, Outcome.objects.count() + chance.randint(5, 20))
            until(lambda enough=enough: Outcome.objects.count() >= enough or is_over(), log=log)
            kill(pair[turn % 2])
            pair[turn % 2] = controller(stack, stub.url, log)
        until(lambda: all(process.poll() is not None for process in pair), log=log)
        asked = stub.count
    assert [process.returncode for process in pair] == [0, 0]
    assert_ended_once(made, asked=asked, sent=model.said)
    assert Run.objects.filter(status="accepted").count() >= RECORDS * 0.8
    workers = set(Run.objects.values_list("lease_owner", flat=True))
    assert workers == {""}, "no lease is left behind"
