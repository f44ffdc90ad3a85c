"""The breaker of each endpoint alias as a row: whether a call may start now, and what became of the last ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from controller import endpoint_breaker as decisions
from controller.endpoint_breaker import Endpoint, State, Wait
from controller.reply import Fault
from reviewapp import statements
from reviewapp.batches.models import EndpointState

PROBE_MARGIN_MS = 5_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def may_call(alias: str, timeout_ms: Callable[[], int], now: datetime) -> datetime | None:
    """``None`` when a call to the endpoint may start; else when to ask again. The call that comes first after a rest probes.

    ``timeout_ms`` says how long a probe may take; it is asked only where one is due. The probe is taken by compare-and-set:
    of many workers that ask at once, one gets it.
    """
    row = statements.instance(EndpointState, {"alias": alias})
    if row is None or row.state == State.CLOSED.value:
        return None
    before = _endpoint(row)
    longest = timeout_ms()
    asked = decisions.ask(before, _ms(now), longest + PROBE_MARGIN_MS)
    if isinstance(asked, Wait):
        return _moment(asked.until_ms)
    taken = EndpointState.objects.filter(pk=alias, state=row.state, until=row.until).update(
        state=asked.state.value, until=_moment(asked.until_ms), changed_at=now
    )
    return None if taken else now + timedelta(milliseconds=longest)


def answered(alias: str) -> None:
    """A reply came: failures in a row are over."""
    row = statements.first(EndpointState, ("state", "failures"), {"alias": alias})
    if row is not None and row != (State.CLOSED.value, 0):
        statements.update(
            EndpointState,
            {"alias": alias},
            state=State.CLOSED.value,
            failures=0,
            opened=0,
            until=None,
            changed_at=timezone.now(),
        )


def failed(alias: str, fault: Fault) -> None:
    """A call gave no reply."""
    if fault not in decisions.COUNTED:
        return
    now = timezone.now()
    with transaction.atomic():
        row = _locked(alias, now)
        after = decisions.failed(_endpoint(row), fault, _ms(now))
        row.state, row.failures, row.opened = after.state.value, after.failures, after.opened
        row.until = _moment(after.until_ms) if after.until_ms else None
        row.last_fault, row.changed_at = fault.value, now
        row.save()


def _locked(alias: str, now: datetime) -> EndpointState:
    mine = EndpointState.objects.select_for_update().filter(pk=alias)
    row = mine.first()
    if row is None:
        try:
            with transaction.atomic():
                EndpointState.objects.create(alias=alias, changed_at=now)
        except IntegrityError:
            pass  # another worker was quicker
        row = mine.get()
    return row


def resting() -> list[EndpointState]:
    """Endpoints that are left alone or probed now."""
    return list(EndpointState.objects.exclude(state=State.CLOSED.value))


def _endpoint(row: EndpointState) -> Endpoint:
    return replace(
        Endpoint(State(row.state), row.failures, row.opened), until_ms=_ms(row.until) if row.until is not None else 0
    )


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _moment(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
