from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from reviewapp import statements
from reviewapp.batches.models import Batch, Breaker, EndpointState
from reviewapp.envelopes.models import Version
from reviewapp.runs.models import Attempt, Event, Run
from tests.faults.endings import receipts

pytestmark = pytest.mark.django_db

MOMENT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)


@pytest.fixture
def run() -> Run:
    receipts(1)
    return Run.objects.get()


def test_writes_what_the_orm_reads(run: Run) -> None:
    key = statements.insert(
        Attempt,
        run_id=run.pk,
        number=1,
        kind="generation",
        alias="default",
        fence=3,
        request_sha256="0" * 64,
        prompt_tokens_counted=7,
        started_at=MOMENT,
    )
    attempt = Attempt.objects.get(pk=key)
    assert (attempt.run, attempt.number, attempt.started_at, attempt.fence) == (run, 1, MOMENT, 3)
    assert (attempt.status, attempt.plan, attempt.over_cap, attempt.ended_at) == ("started", "", False, None)


def test_reads_what_the_orm_wrote(run: Run) -> None:
    EndpointState.objects.create(alias="a", until=MOMENT, changed_at=MOMENT)
    found = statements.instance(EndpointState, {"alias": "a"})
    assert found is not None
    assert (found.until, found.failures, found.state) == (MOMENT, 0, "closed")
    found.failures = 2
    found.save()
    assert statements.first(EndpointState, ("failures", "until"), {"alias": "a"}) == (2, MOMENT)


def test_instance_equals_the_orms(run: Run) -> None:
    ours, theirs = statements.instance(Run, {"id": run.pk}), Run.objects.get(pk=run.pk)
    assert ours is not None
    fields = [field.attname for field in Run._meta.concrete_fields]
    assert [getattr(ours, name) for name in fields] == [getattr(theirs, name) for name in fields]


def test_update_counts_the_rows_that_fit(run: Run) -> None:
    assert statements.update(Run, {"id": run.pk, "fence": 5}, lease_owner="me") == 0
    assert statements.update(Run, {"id": run.pk, "ended_at": None}, lease_owner="me", lease_until=MOMENT) == 1
    run.refresh_from_db()
    assert (run.lease_owner, run.lease_until) == ("me", MOMENT)


def test_update_keeps_a_further_condition(run: Run) -> None:
    paused = ("batch_id IN (SELECT id FROM batches_batch WHERE status = %s)", ("paused",))
    assert statements.update(Run, {"id": run.pk}, only_if=paused, lease_owner="me") == 0
    Batch.objects.update(status="paused")
    assert statements.update(Run, {"id": run.pk}, only_if=paused, lease_owner="me") == 1


def test_increase_adds_in_the_database(run: Run) -> None:
    row = Breaker.objects.create(batch=run.batch, rule="dead_letters", steps=4)
    assert statements.increase(Breaker, {"id": row.pk}, steps=2, excess=3) == 1
    assert statements.increase(Breaker, {"id": row.pk + 1}, steps=2) == 0
    row.refresh_from_db()
    assert (row.steps, row.excess) == (6, 3)


def test_reads_in_order_and_one_of_several(run: Run) -> None:
    for kind in ("A", "B", "C"):
        statements.insert(Event, run_id=run.pk, at=MOMENT, kind=kind, from_status="ready", to_status="ready")
    wanted = {"run_id": run.pk, "kind": ("B", "C")}
    assert statements.every(Event, ("kind", "at"), wanted, order="id") == [("B", MOMENT), ("C", MOMENT)]
    assert statements.first(Event, ("kind",), wanted, order="-id") == ("C",)
    assert statements.first(Event, ("kind",), {"run_id": run.pk, "kind": "D"}) is None
    assert (statements.count(Event, wanted), statements.count(Event, {"run_id": run.pk + 1})) == (2, 0)


def test_constraints_hold_as_ever(run: Run) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        statements.insert(
            Run, record_id=run.record_id, batch_id=run.batch_id, version_id=run.version_id, state="", created_at=MOMENT
        )
    with pytest.raises(IntegrityError), transaction.atomic():
        statements.update(Run, {"id": run.pk}, status="lost")


def test_times_that_nobody_gave_are_refused(run: Run) -> None:
    with pytest.raises(TypeError, match="created_at must be given"):
        statements.insert(Run, record_id=run.record_id, batch_id=run.batch_id, version_id=run.version_id, state="")


def test_lock_is_taken_where_the_database_has_them(run: Run) -> None:
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        statements.instance(Run, {"id": run.pk}, lock=True)
    (select,) = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    assert select.endswith("FOR NO KEY UPDATE") is (connection.vendor == "postgresql")


def test_reads_a_row_with_what_it_names(run: Run) -> None:
    joins = (statements.Join(Batch, 0, "batch_id"), statements.Join(Version, 1, "version_id", ("id", "digest")))
    found = statements.together(Run, joins, {"id": run.pk, "ended_at": None})
    assert found is not None
    assert found == (run, run.batch, run.version)
    assert (found[1].created_at, found[2].digest) == (run.batch.created_at, run.version.digest)
    assert found[2].get_deferred_fields() >= {"canonical", "source"}
    assert statements.together(Run, joins, {"id": run.pk, "fence": 99}) is None
