from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone

from reviewapp.accounts.models import User
from reviewapp.audit.models import Entry
from reviewapp.deadletters import jobs
from reviewapp.deadletters.actions import bulk, deciding
from reviewapp.deadletters.actions.bulk import Act
from reviewapp.deadletters.forms import LetterFilter
from reviewapp.deadletters.models import BulkJob, DeadLetter, Decision, Requeue
from reviewapp.deadletters.rules import NotAllowed
from reviewapp.runs.models import Run
from tests.reviewapp.deadletters.cases import (
    WRONG_TOTAL,
    WRONG_TYPE,
    assert_counts_true,
    claimed,
    letters,
    manager,
    policy,
    reviewer,
    windows_over,
)
from tests.reviewapp.factories import approved

pytestmark = pytest.mark.django_db


def chosen(user: User, query: str = "") -> LetterFilter:
    return LetterFilter(QueryDict(query), user=user)


def requeue_all(user: User, typed: int, query: str = "", **params: Any) -> BulkJob:
    version = params.pop("version", None) or DeadLetter.objects.earliest("pk").version
    return bulk.start(user, chosen(user, query), Act.REQUEUE, {"version": version.pk, **params}, typed=typed)


def work_off() -> None:
    jobs.work("tests", threading.Event(), until_idle=True)


def test_plan_names_every_exclusion() -> None:
    version = approved()
    made = letters(4, version=version)
    rae = reviewer()
    deciding.reject(claimed(made[0], rae), "duplicate")
    deciding.escalate(claimed(made[1], rae), note="what is this?")
    claimed(made[2], reviewer("ben"))
    found = bulk.plan(rae, chosen(rae, "status=any"), Act.REQUEUE, {"version": version.pk})
    assert (found.named, found.count, [letter.pk for letter in found.sample]) == (4, 1, [made[3].pk])
    assert dict(found.exclusions) == {
        "resolved already": 1,
        "escalated or quarantined: decided one by one": 1,
        "held by someone who works on it now": 1,
    }


def test_job_does_what_was_shown() -> None:
    letters(3, reply=WRONG_TOTAL, name="one", version=approved())
    version = DeadLetter.objects.earliest("pk").version
    letters(2, reply=WRONG_TYPE, name="two", version=version)
    rae = reviewer()
    group = DeadLetter.objects.earliest("pk").group_id
    job = requeue_all(rae, 3, f"group={group}", note="v1 was unlucky")
    work_off()
    job.refresh_from_db()
    assert (job.status, job.n_done, job.n_refused) == ("done", 3, 0)
    assert Run.objects.filter(replay=1).count() == 3
    assert set(DeadLetter.objects.filter(resolution="requeued").values_list("group_id", flat=True)) == {group}
    assert_counts_true()


def test_wrong_count_starts_nothing() -> None:
    letters(3)
    with pytest.raises(NotAllowed, match="3 letters now, and you confirmed 2"):
        requeue_all(reviewer(), 2)
    assert not BulkJob.objects.exists()


def test_set_is_frozen_at_confirmation() -> None:
    version = approved()
    letters(2, version=version, name="one")
    job = requeue_all(reviewer(), 2, version=version)
    late = letters(1, version=version, name="two")
    work_off()
    assert job.items.count() == 2
    assert DeadLetter.objects.get(pk=late[0].pk).status == "open"


def test_letters_decided_meanwhile_are_refused() -> None:
    made = letters(3)
    job = requeue_all(reviewer("rae"), 3)
    deciding.reject(claimed(made[0], reviewer("ben")), "duplicate")
    claimed(made[1], reviewer("ben"))
    work_off()
    results = dict(job.items.values_list("letter_id", "detail"))
    assert results == {made[0].pk: "resolved by someone meanwhile", made[1].pk: "Ben works on it", made[2].pk: ""}
    job.refresh_from_db()
    assert (job.n_done, job.n_refused) == (1, 2)


def test_paused_job_waits_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 2)
    letters(5)
    rae = reviewer()
    job = requeue_all(rae, 5)
    taken = bulk.take_job("one")
    assert taken is not None
    bulk.work_chunk(*taken)
    bulk.steer_job(job.pk, "pause", by=rae)
    assert bulk.work_chunk(*taken) == 0
    assert bulk.take_job("two") is None
    bulk.steer_job(job.pk, "resume", by=rae)
    work_off()
    job.refresh_from_db()
    assert (job.status, job.n_done) == ("done", 5)


def test_cancelled_job_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 2)
    letters(5)
    rae = reviewer()
    job = requeue_all(rae, 5)
    taken = bulk.take_job("one")
    assert taken is not None
    bulk.work_chunk(*taken)
    bulk.steer_job(job.pk, "cancel", by=rae)
    work_off()
    job.refresh_from_db()
    assert (job.status, job.n_done, job.items.filter(status="waiting").count()) == ("cancelled", 2, 3)


def test_undo_takes_everything_back() -> None:
    letters(4)
    rae = reviewer()
    job = requeue_all(rae, 4)
    work_off()
    bulk.steer_job(job.pk, "undo", by=rae)
    work_off()
    job.refresh_from_db()
    assert (job.status, job.n_undone, job.n_kept) == ("undone", 4, 0)
    assert not Run.objects.filter(replay=1).exists()
    assert set(DeadLetter.objects.values_list("status", flat=True)) == {"open"}
    assert_counts_true()


def test_late_undo_says_what_it_kept() -> None:
    made = letters(2)
    rae = reviewer()
    job = requeue_all(rae, 2)
    work_off()
    windows_over()
    bulk.steer_job(job.pk, "undo", by=rae)
    work_off()
    assert set(job.items.values_list("status", "detail")) == {("kept", "its new run has not ended yet")}
    assert len(made) == 2


def test_bulk_rejection_reopens_with_compensation() -> None:
    letters(2)
    rae = reviewer()
    job = bulk.start(rae, chosen(rae), Act.REJECT, {"reason": "out_of_scope"}, typed=2)
    work_off()
    windows_over()
    bulk.steer_job(job.pk, "undo", by=rae)
    work_off()
    job.refresh_from_db()
    assert job.n_undone == 2
    assert Decision.objects.filter(kind="reopen", deliveries__kind="withdrawn").count() == 2


def test_second_worker_takes_over_dead_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 2)
    letters(5)
    job = requeue_all(reviewer(), 5)
    first = bulk.take_job("one")
    assert first is not None
    bulk.work_chunk(*first)
    assert bulk.take_job("two") is None, "the first worker's lease still runs"
    BulkJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    second = bulk.take_job("two")
    assert second is not None
    assert bulk.work_chunk(*first) == 0, "the first worker is back, and its fence is worth nothing"
    bulk.work_chunk(*second)
    jobs.work("two", threading.Event(), until_idle=True)
    job.refresh_from_db()
    assert (job.n_done, Requeue.objects.count()) == (5, 5)


def test_defer_and_escalate_in_bulk() -> None:
    letters(2)
    rae = reviewer()
    until = timezone.now() + timedelta(hours=3)
    bulk.start(rae, chosen(rae), Act.DEFER, {"until": until.isoformat()}, typed=2)
    work_off()
    assert DeadLetter.objects.filter(status="deferred", deferred_until=until).count() == 2
    bulk.start(rae, chosen(rae, "status=deferred"), Act.ESCALATE, {"note": "the layout is new"}, typed=2)
    work_off()
    assert DeadLetter.objects.filter(status="escalated").count() == 2
    assert_counts_true()


def test_strangers_steer_no_job() -> None:
    letters(1)
    job = requeue_all(reviewer("rae"), 1)
    with pytest.raises(NotAllowed, match="only the person"):
        bulk.steer_job(job.pk, "cancel", by=reviewer("ben"))
    bulk.steer_job(job.pk, "cancel", by=manager())


def test_replays_used_up_are_excluded() -> None:
    version = approved()
    letters(2, version=version)
    policy(version, replays=1)
    DeadLetter.objects.update(replay=1)
    rae = reviewer()
    found = bulk.plan(rae, chosen(rae), Act.REQUEUE, {"version": version.pk})
    assert found.exclusions == (("requeued as often as the policy allows", 2),)


def test_job_is_audited_with_counts() -> None:
    letters(2)
    requeue_all(reviewer(), 2)
    work_off()
    said = list(Entry.objects.filter(subject="bulk job").order_by("pk").values_list("action", "after"))
    assert [action for action, _ in said] == ["bulk job started", "bulk job done"]
    assert '"done": 2' in said[1][1]
