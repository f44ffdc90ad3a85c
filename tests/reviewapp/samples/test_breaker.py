from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.core import mail
from django.db import DatabaseError, transaction
from django.test import TestCase as DjangoTestCase
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from controller.breaker import Counter, Rule, replay
from controller.breaker_planner import delay, trip_probability
from reviewapp.accounts.models import Role, User
from reviewapp.audit.models import Entry
from reviewapp.batches import breaker, notices
from reviewapp.batches.actions import NotAllowed, pause_batch, resume_batch
from reviewapp.batches.models import Batch, Breaker, BreakerStep, Delivery, Pause
from reviewapp.runs import actions
from reviewapp.runs.models import Run
from reviewapp.samples.models import Sample
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready

pytestmark = pytest.mark.django_db

QUIET = {"rate": 0.0, "min_per_stratum": 0}


def made(count: int, *, name: str = "batch", sampling: dict[str, object] | None = None, **rules: object) -> Batch:
    rules = {"dead_letters": {"limit": 0.1, "h": 4}, "silent": {"limit": 0.1, "h": 3}, "ungraded": 30, **rules}
    version = approved(sampling=sampling or QUIET, breaker=rules)
    return batch(version, {f"r{i}": f"Total {i}.00" for i in range(count)}, name=name)


def manager() -> User:
    return person("manager", Role.MANAGER)


def outcomes(found: Batch, rule: Rule = Rule.DEAD_LETTERS) -> list[bool]:
    """What the rule counted, in the order of counting."""
    return list(BreakerStep.objects.filter(batch=found, rule=rule.value).values_list("is_bad", flat=True))


def test_pauses_at_five_in_a_row() -> None:
    found = made(7)
    for number, run in enumerate(ready(found), start=1):
        end(run, accepted=False)
        found.refresh_from_db()
        assert found.status == ("paused" if number >= 5 else "open")
    pause = Pause.objects.get(batch=found)
    assert (pause.rule, pause.observed, pause.limit, pause.by) == ("dead_letters", 450, 400, None)
    assert pause.why == found.paused_why == "Dead letters are 4.5 above the 10 % allowed; the batch pauses at 4."
    entry = Entry.objects.get(action="batch paused")
    assert (entry.actor, '"rule": "dead_letters"' in entry.after) == (None, True)


def test_paused_batch_gives_no_work() -> None:
    found = made(8)
    for run in ready(found)[:5]:
        end(run, accepted=False)
    assert actions.claim("worker", 10) == []


def test_infrastructure_counts_elsewhere() -> None:
    found = made(8)
    for run in ready(found):
        end(run, accepted=False, final_class="infrastructure")
    found.refresh_from_db()
    assert (found.status, outcomes(found)) == ("open", [])


def test_good_runs_let_it_fall() -> None:
    found = made(14)
    for number, run in enumerate(ready(found)):
        end(run, accepted=number % 3 > 0)
    row = Breaker.objects.get(batch=found, rule="dead_letters")
    assert row.excess == replay(Counter(10, 4), outcomes(found)).excesses[-1]


def test_resumes_at_half() -> None:
    found = made(12)
    runs = ready(found)
    for run in runs[:5]:
        end(run, accepted=False)
    with pytest.raises(NotAllowed, match="reason"):
        resume_batch(found, by=manager(), why=" ")
    resume_batch(found, by=manager(), why="the scanner is repaired")
    assert Breaker.objects.get(batch=found, rule="dead_letters").excess == 200
    for number, run in enumerate(runs[5:8], start=1):
        end(run, accepted=False)
        found.refresh_from_db()
        assert found.status == ("paused" if number >= 3 else "open")
    first, second = Pause.objects.filter(batch=found).order_by("pk")
    assert (first.resumed_by, first.resumed_why, second.resumed_by) == (manager(), "the scanner is repaired", None)


def test_second_person_confirms() -> None:
    found = made(6, second_person=True)
    for run in ready(found)[:5]:
        end(run, accepted=False)
    resume_batch(found, by=manager(), why="looked at it")
    found.refresh_from_db()
    assert found.status == "paused"
    with pytest.raises(NotAllowed, match="another person"):
        resume_batch(found, by=manager(), why="again")
    resume_batch(found, by=person("second", Role.MANAGER), why="so did I")
    found.refresh_from_db()
    assert found.status == "open"
    assert list(Entry.objects.filter(action__startswith="batch resume").values_list("actor_name", flat=True)) == [
        "Second",
        "Manager",
    ]


def test_person_resumes_own_pause_alone() -> None:
    found = made(1, second_person=True)
    pause_batch(found, by=manager(), why="lunch")
    resume_batch(found, by=manager(), why="back")
    found.refresh_from_db()
    assert found.status == "open"


def test_blind_without_grades() -> None:
    found = made(8, sampling={"rate": 1.0, "double": 0.0}, ungraded=4)
    runs = ready(found)
    for run in runs[:4]:
        end(run)
    found.refresh_from_db()
    assert (found.status, Pause.objects.get().rule) == ("paused", "blind")
    resume_batch(found, by=manager(), why="graders are back on Monday")
    end(runs[4])
    found.refresh_from_db()
    assert found.status == "open"
    end(runs[5])
    found.refresh_from_db()
    assert found.status == "paused"


def test_blind_when_one_waits_long() -> None:
    found = made(3, sampling={"rate": 1.0, "double": 0.0})
    runs = ready(found)
    end(runs[0])
    Sample.objects.update(drawn_at=timezone.now() - timedelta(hours=73))
    end(runs[1])
    assert "waited 73 hours" in Pause.objects.get(batch=found).why


def test_counter_survives_restart() -> None:
    found = made(5)
    for run in ready(found)[:4]:
        end(run, accepted=False)
    again = Batch.objects.get(pk=found.pk)
    assert breaker.at(Counter(10, 4), Breaker.objects.get(batch=again, rule="dead_letters")).excess == 360


def test_altered_version_still_counts() -> None:
    """A version whose bytes are not those of its digest makes no call; its runs end all the same, under the default rules."""
    from reviewapp.batches.rules import rules_of

    found = made(1, dead_letters={"limit": 0.5, "h": 9})
    version = found.version
    version.canonical, version.digest = version.canonical.replace("0.5", "0.9"), "f" * 64
    assert rules_of(version).counters[Rule.DEAD_LETTERS] == Counter(10, 4)


def test_steps_are_kept_as_they_were() -> None:
    found = made(2)
    end(ready(found)[0], accepted=False)
    for change in ({"is_bad": False}, {"excess": 0}, {"number": 9}):
        with pytest.raises(DatabaseError), transaction.atomic():
            BreakerStep.objects.filter(batch=found).update(**change)


class Told(DjangoTestCase):
    def trip(self) -> Batch:
        with self.captureOnCommitCallbacks(execute=True):
            found = made(6)
            User.objects.filter(username="owner").update(email="owner@example.org")
            for run in ready(found)[:5]:
                end(run, accepted=False)
        return found

    def test_tells_owners_and_managers(self) -> None:
        person("manager", Role.MANAGER)
        person("reviewer", Role.REVIEWER)
        self.trip()
        told = set(Delivery.objects.values_list("channel", "user__username", "status"))
        assert told == {
            ("page", "author", "sent"),
            ("page", "owner", "sent"),
            ("page", "manager", "sent"),
            ("mail", "owner", "sent"),
        }
        assert "4.5 above the 10 % allowed" in mail.outbox[0].body
        assert mail.outbox[0].to == ["owner@example.org"]

    def test_records_a_webhook_that_fails(self) -> None:
        with self.settings(COUNTERSIGN_WEBHOOK="http://127.0.0.1:1/"):
            self.trip()
            row = Delivery.objects.get(channel="webhook")
            assert (row.status, row.tries) == ("failed", 1)
            assert notices.deliver_waiting() == 0
            Delivery.objects.update(done_at=timezone.now() - timedelta(minutes=2))
            notices.deliver_waiting()
            row.refresh_from_db()
            assert row.tries == 2

    def test_mail_that_fails_stops_nothing(self) -> None:
        with self.settings(EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=1):
            found = self.trip()
        found.refresh_from_db()
        assert (found.status, Delivery.objects.get(channel="mail").status) == ("paused", "failed")


class TheCounter(TestCase):
    @settings(max_examples=15)
    @given(st.lists(st.sampled_from(["good", "bad", "bad", "infrastructure", "resume"]), max_size=25))
    def test_equals_the_replay(self, happened: list[str]) -> None:
        """Whatever ends in whatever order: the stored counter is the pure one over the counted endings since the last resume."""
        found = made(len(happened) or 1)
        runs = iter(ready(found))
        pure = Counter(10, 4)
        for what in happened:
            if what == "resume":
                found.refresh_from_db()
                if found.status == "paused":
                    resume_batch(found, by=manager(), why="again")
                    pure = pure.resumed()
                continue
            end(next(runs), accepted=what == "good", final_class="infrastructure" if what == "infrastructure" else "business")
            pure = pure if what == "infrastructure" else pure.step(what == "bad")
        row = Breaker.objects.filter(batch=found, rule="dead_letters").first()
        assert (row.excess if row else 0) == pure.excess
        assert (
            breaker.folded(Counter(10, 4), BreakerStep.objects.filter(batch=found, rule="dead_letters")).excess == pure.excess
        )
        found.refresh_from_db()
        assert (found.status == "paused") == pure.tripped


def test_model_going_bad_pauses_in_time() -> None:
    """5,000 records, good at 3 % dead until record 2,000, then 30 %: paused within the delay that the planner gives."""
    random = Random(2_000)
    found = made(5_000)
    bad = [random.random() < (0.03 if number <= 2_000 else 0.30) for number in range(1, 5_001)]
    quick_forward(found, bad[:1_990])
    finished = 1_990
    for run in ready(found)[: 5_000 - finished]:
        found.refresh_from_db()
        if found.status == "paused":
            break
        end(run, accepted=not bad[finished])
        finished += 1
    longest = delay(Counter(10, 4), 0.30, 0.99, good=0.03, after=2_000)
    assert found.status == "paused"
    assert 2_000 < finished <= 2_000 + longest
    assert replay(Counter(10, 4), bad).tripped_at == finished
    assert actions.claim("worker", 10) == []


def quick_forward(found: Batch, bad: list[bool]) -> None:
    """The endings of a long good stretch, written at once: each row as one ending would have left it."""
    runs = list(Run.objects.filter(batch=found).order_by("pk")[: len(bad)])
    counter, now, steps = Counter(10, 4), timezone.now(), []
    for number, (run, is_bad) in enumerate(zip(runs, bad, strict=True), start=1):
        counter = counter.step(is_bad)
        steps.append(
            BreakerStep(
                batch=found,
                rule="dead_letters",
                number=number,
                kind="finished",
                run=run,
                is_bad=is_bad,
                excess=counter.excess,
                at=now,
            )
        )
        run.status, run.ended_at = "dead_lettered" if is_bad else "accepted", now
    assert not counter.tripped
    Run.objects.bulk_update(runs, ["status", "ended_at"], batch_size=500)
    BreakerStep.objects.bulk_create(steps, batch_size=500)
    Breaker.objects.create(batch=found, rule="dead_letters", steps=len(bad), excess=counter.excess)


def test_baseline_pauses_as_rarely_as_predicted() -> None:
    """At 3 % over 1,000 records: no oftener than the planner's exact chance, within what 500 batches can tell."""
    random = Random(3)
    predicted = trip_probability(Counter(10, 4), 0.03, 1_000)
    paused = sum(
        replay(Counter(10, 4), [random.random() < 0.03 for _ in range(1_000)]).tripped_at is not None for _ in range(500)
    )
    assert paused / 500 <= predicted + 3 * (predicted * (1 - predicted) / 500) ** 0.5


def test_one_baseline_batch_runs_through() -> None:
    """The rows say what the replay said: 150 records at 3 %, end to end."""
    random = Random(31)
    found = made(150)
    bad = [random.random() < 0.03 for _ in range(150)]
    for run, is_bad in zip(ready(found), bad, strict=True):
        end(run, accepted=not is_bad)
    found.refresh_from_db()
    assert (outcomes(found), found.status) == (bad, "open")
