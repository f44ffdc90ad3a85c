from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.endpoint_breaker import (
    FAILURES,
    LONGEST_REST_MS,
    REST_MS,
    Endpoint,
    State,
    Wait,
    answered,
    ask,
    failed,
)
from controller.reply import Fault


def broken(now: int = 0) -> Endpoint:
    endpoint = Endpoint()
    for _ in range(FAILURES):
        endpoint = failed(endpoint, Fault.TIMEOUT, now)
    return endpoint


def test_opens_after_failures_in_a_row() -> None:
    assert broken() == Endpoint(State.OPEN, FAILURES, 1, REST_MS)


def test_one_answer_starts_the_count_anew() -> None:
    endpoint = failed(failed(Endpoint(), Fault.SERVER, 0), Fault.SERVER, 0)
    assert answered(endpoint) == Endpoint()


@pytest.mark.parametrize("fault", [Fault.RATE_LIMIT, Fault.LOST, Fault.CONFIGURATION])
def test_other_faults_do_not_count(fault: Fault) -> None:
    assert failed(Endpoint(failures=FAILURES - 1), fault, 0) == Endpoint(failures=FAILURES - 1)


def test_rests_then_lets_one_probe() -> None:
    assert ask(broken(), REST_MS - 1, 1_000) == Wait(REST_MS)
    probing = ask(broken(), REST_MS, 1_000)
    assert probing == Endpoint(State.HALF_OPEN, FAILURES, 1, REST_MS + 1_000)
    assert ask(probing, REST_MS + 500, 1_000) == Wait(REST_MS + 1_000)


def test_failed_probe_doubles_the_rest() -> None:
    probing = ask(broken(), REST_MS, 1_000)
    assert isinstance(probing, Endpoint)
    again = failed(probing, Fault.CONNECTION, REST_MS)
    assert (again.state, again.until_ms) == (State.OPEN, REST_MS + 2 * REST_MS)


def test_late_failures_change_nothing_more() -> None:
    assert failed(broken(), Fault.TIMEOUT, REST_MS - 1) == broken()


@given(st.lists(st.tuples(st.sampled_from(["ask", "answer", "fail"]), st.integers(0, 400_000)), max_size=60))
def test_never_rests_longer_than_allowed(happened: list[tuple[str, int]]) -> None:
    """Whatever happens in whatever order: nobody ever waits longer than the longest rest, or a probe's own time."""
    endpoint, now = Endpoint(), 0
    for what, passed in happened:
        now += passed
        if what == "answer":
            endpoint = answered(endpoint)
        elif what == "fail":
            endpoint = failed(endpoint, Fault.SERVER, now)
        else:
            found = ask(endpoint, now, 5_000)
            if isinstance(found, Wait):
                assert now < found.until_ms <= now + LONGEST_REST_MS
            else:
                endpoint = found
