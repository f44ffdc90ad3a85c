from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviewapp.accounts.models import Role
from reviewapp.batches.models import Batch
from reviewapp.deadletters.actions import effort, groups, leases
from reviewapp.deadletters.actions.leases import Claim, Order
from reviewapp.deadletters.actions.waking import wake_deferred
from reviewapp.deadletters.models import BatchEffort, DeadLetter, Decision, FailureGroup, Skill
from reviewapp.deadletters.rules import CapReached, LeaseLost, NotAllowed
from tests.reviewapp.deadletters.cases import (
    WRONG_TOTAL,
    WRONG_TYPE,
    assert_counts_true,
    claimed,
    letters,
    manager,
    next_for,
    policy,
    reviewer,
)
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db


def lease_over(letter_id: int) -> None:
    DeadLetter.objects.filter(pk=letter_id).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_two_people_get_two_letters() -> None:
    first, second = letters(2)
    one, two = next_for(reviewer("rae")), next_for(reviewer("ben"))
    assert one is not None
    assert two is not None
    assert (one.letter_id, two.letter_id) == (first.pk, second.pk)
    assert next_for(reviewer("ida")) is None


def test_expired_lease_is_taken_over() -> None:
    (letter,) = letters(1)
    mine = next_for(reviewer("rae"))
    assert mine is not None
    lease_over(letter.pk)
    theirs = next_for(reviewer("ben"))
    assert theirs is not None
    with pytest.raises(LeaseLost, match="Ben holds this letter"):
        leases.heartbeat(mine)


def test_expired_lease_nobody_took_stands() -> None:
    (letter,) = letters(1)
    mine = claimed(letter, reviewer())
    lease_over(letter.pk)
    leases.heartbeat(mine)
    assert DeadLetter.objects.get().is_held(timezone.now())


def test_cap_per_person_holds() -> None:
    version = approved()
    policy(version, leases_per_person=2)
    made = letters(3, version=version)
    rae = reviewer()
    assert next_for(rae)
    assert next_for(rae)
    with pytest.raises(CapReached, match="hold 2 letters"):
        leases.claim_next(rae)
    with pytest.raises(CapReached):
        leases.claim(made[2].pk, rae)


def test_due_letters_come_first() -> None:
    slow, quick = approved(slug="slow"), approved(slug="quick")
    policy(slow, due_hours=48)
    policy(quick, due_hours=2)
    (early,) = letters(1, version=slow, name="early")
    (late,) = letters(1, version=quick, name="late")
    oldest, due = next_for(reviewer("rae")), next_for(reviewer("ben"), order=Order.DUE)
    assert oldest is not None
    assert oldest.letter_id == early.pk
    assert due is not None
    assert due.letter_id == late.pk
    leases.release(oldest)
    leases.release(due)
    again = next_for(reviewer("rae"), order=Order.DUE)
    assert again is not None
    assert again.letter_id == late.pk


def test_group_order_takes_biggest() -> None:
    version = approved()
    letters(1, version=version, name="one", reply=WRONG_TYPE)
    big = letters(2, version=version, name="two", reply=WRONG_TOTAL)
    got = next_for(reviewer(), order=Order.GROUP)
    assert got is not None
    assert got.letter_id == big[0].pk


def test_snoozed_group_waits() -> None:
    letters(1)
    owner = person("owner", Role.OWNER)
    groups.snooze_group(FailureGroup.objects.get(), timezone.now() + timedelta(hours=1), by=owner)
    assert next_for(reviewer()) is None
    groups.snooze_group(FailureGroup.objects.get(), None, by=owner)
    assert next_for(reviewer()) is not None


def test_skill_is_asked_for() -> None:
    letters(1)
    groups.ask_for_skill(FailureGroup.objects.get(), "dutch", by=person("owner", Role.OWNER))
    rae = reviewer()
    assert next_for(rae) is None
    Skill.objects.create(user=rae, name="dutch")
    assert next_for(rae) is not None


def test_stranger_is_given_nothing() -> None:
    letters(1)
    other = approved(slug="other")
    assert next_for(person("zoe", Role.REVIEWER, envelope=other.envelope)) is None
    assert next_for(manager()) is None


def test_many_busy_groups_are_passed() -> None:
    version = approved()
    made = letters(2, version=version, name="a", reply=WRONG_TYPE) + letters(1, version=version, name="b", reply=WRONG_TOTAL)
    for name, letter in zip(("u1", "u2"), made[:2], strict=True):
        claimed(letter, reviewer(name))
    got = next_for(reviewer())
    assert got is not None
    assert got.letter_id == made[2].pk


def test_hand_over_moves_the_lease() -> None:
    (letter,) = letters(1)
    rae, ben = reviewer("rae"), reviewer("ben")
    mine = claimed(letter, rae)
    given = leases.hand_over(mine, ben, why="Dutch receipt")
    assert given.lease_owner == ben
    with pytest.raises(LeaseLost):
        leases.held(mine)
    leases.heartbeat(Claim(letter.pk, ben, given.fence))


def test_no_hand_over_to_strangers() -> None:
    (letter,) = letters(1)
    with pytest.raises(NotAllowed, match="may not decide"):
        leases.hand_over(claimed(letter, reviewer()), person("sam"), why="please")


def test_manager_releases_absent_person() -> None:
    made = letters(3)
    rae = reviewer()
    for letter in made[:2]:
        claimed(letter, rae)
    assert leases.release_all(rae, by=manager(), why="ill today") == 2
    assert not DeadLetter.objects.exclude(lease_owner=None).exists()
    assert Decision.objects.filter(kind="release").count() == 2


def test_reviewer_releases_nobody() -> None:
    (letter,) = letters(1)
    claimed(letter, reviewer("rae"))
    assert leases.release_all(reviewer("rae"), by=reviewer("ben"), why="mine now") == 0


def test_lunch_is_not_work() -> None:
    (letter,) = letters(1)
    mine = claimed(letter, reviewer())
    DeadLetter.objects.update(beat_at=timezone.now() - timedelta(minutes=40))
    leases.heartbeat(mine)
    assert DeadLetter.objects.get().active_ms == leases.LONGEST_BEAT.total_seconds() * 1000
    assert BatchEffort.objects.get().spent_ms == DeadLetter.objects.get().active_ms


def test_minutes_cap_warns_then_pauses() -> None:
    (letter,) = letters(1)
    effort.set_cap(letter.batch, 2, by=person("owner", Role.OWNER), why="two minutes will do")
    effort.add_worked(letter, 97_000)
    row = BatchEffort.objects.get()
    assert row.warned_at is not None
    assert Batch.objects.get().status == "open"
    effort.add_worked(letter, 23_000)
    made = Batch.objects.get()
    assert made.status == "paused"
    assert "2 minutes" in made.paused_why


def test_deferred_letter_comes_back() -> None:
    (letter,) = letters(1)
    from reviewapp.deadletters.actions.deciding import defer

    defer(claimed(letter, reviewer()), timezone.now() + timedelta(hours=1))
    assert next_for(reviewer("ben")) is None
    assert FailureGroup.objects.get().n_deferred == 1
    assert wake_deferred(timezone.now() + timedelta(hours=2)) == 1
    assert next_for(reviewer("ben")) is not None
    assert_counts_true()
