"""Claiming, holding and giving back: at any moment at most one person works on a letter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from reviewapp.access import limit
from reviewapp.accounts.models import Role, User
from reviewapp.audit.actions import append
from reviewapp.deadletters.actions import effort
from reviewapp.deadletters.actions.waking import wake_deferred
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus, Decision, FailureGroup, Kind, QueuePolicy, Skill, Skip
from reviewapp.deadletters.rules import (
    CapReached,
    LeaseLost,
    NotAllowed,
    lease_end,
    may_decide,
    may_steer,
    policy_of,
    roles_for,
)

MOST_GROUPS = 500
"""Groups looked at for the next letter, the longest waiting first."""
PROBED = 3
"""Groups asked one by one, in order, before all the others are asked together: most often the first has a free letter."""
LONGEST_BEAT = timedelta(seconds=45)
"""Between two heartbeats at most this much counts as worked: who comes back after lunch has not worked through it."""


class Order(StrEnum):
    """Which letter is next: the one that waits longest, the one due first, or the biggest group to its end."""

    OLDEST = "oldest"
    DUE = "due"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a person's writes must name: the letter, themselves, and the fence of the claim."""

    letter_id: int
    user: User
    fence: int


def free(letters: QuerySet[DeadLetter], now: datetime) -> QuerySet[DeadLetter]:
    """Those that nobody holds."""
    return letters.filter(Q(lease_until=None) | Q(lease_until__lt=now))


def held_by(user: Any, now: datetime | None = None) -> QuerySet[DeadLetter]:
    """The letters that the person holds now."""
    return DeadLetter.objects.filter(lease_owner_id=user.pk, lease_until__gt=now or timezone.now())


def claim_next(
    user: User, *, order: Order = Order.OLDEST, envelope_id: int | None = None, group_id: int | None = None
) -> DeadLetter | None:
    """The next open letter for this person, now theirs; ``None`` where nothing waits for them.

    Left out are letters that they skipped, groups that are snoozed, assigned to someone else or ask for a skill that they lack,
    and whatever someone holds. Two people never get the same one: the row is locked past those that others are just taking
    (PostgreSQL) or all of it is one immediate transaction (SQLite), and the write names the state it was read in.
    Raises ``CapReached``.
    """
    wake_deferred()
    with transaction.atomic():
        now = timezone.now()
        User.objects.select_for_update().filter(pk=user.pk).values_list("pk").first()
        groups = list(_groups(user, now, order, envelope_id, group_id))
        for these in [*([group] for group in groups[:PROBED]), groups[PROBED:]]:
            letter = _first_free(user, now, [group.pk for group in these])
            if letter is not None:
                return _take(letter, user, now, policy_of(letter.envelope_id))
    return None


def _first_free(user: User, now: datetime, groups: list[int]) -> DeadLetter | None:
    if not groups:
        return None
    skipped = Skip.objects.filter(letter=OuterRef("pk"), user=user)
    where = {"group_id": groups[0]} if len(groups) == 1 else {"group_id__in": groups}
    letters = DeadLetter.objects.filter(~Exists(skipped), status=DeadLetterStatus.OPEN, **where)
    rows = free(letters, now).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True, of=("self",))
    return rows.first()


def _groups(user: User, now: datetime, order: Order, envelope_id: int | None, group_id: int | None) -> Iterator[FailureGroup]:
    rows = limit(FailureGroup.objects.filter(n_open__gt=0), user, "envelope", Role.REVIEWER)
    rows = rows.filter(Q(snoozed_until=None) | Q(snoozed_until__lte=now)).filter(Q(assignee=None) | Q(assignee=user))
    if envelope_id is not None:
        rows = rows.filter(envelope_id=envelope_id)
    if group_id is not None:
        rows = rows.filter(pk=group_id)
    found = list(
        rows.only("pk", "envelope_id", "oldest_waiting", "n_open", "skill").order_by("oldest_waiting", "pk")[:MOST_GROUPS]
    )
    if any(group.skill for group in found):
        skills = {"", *Skill.objects.filter(user=user).values_list("name", flat=True)}
        found = [group for group in found if group.skill in skills]
    yield from _ordered(found, order)


def _ordered(groups: list[FailureGroup], order: Order) -> list[FailureGroup]:
    if order is Order.GROUP:
        return sorted(groups, key=lambda group: (-group.n_open, group.pk))
    if order is Order.DUE:
        hours = dict(QueuePolicy.objects.values_list("envelope_id", "due_hours"))
        default = QueuePolicy().due_hours

        def due(group: FailureGroup) -> tuple[datetime, int]:
            assert group.oldest_waiting is not None
            return group.oldest_waiting + timedelta(hours=hours.get(group.envelope_id, default)), group.pk

        return sorted(groups, key=due)
    return groups


@transaction.atomic
def claim(letter_id: int, user: User) -> DeadLetter:
    """This very letter, in whatever state it waits. Claiming what one holds already renews the lease."""
    User.objects.select_for_update().filter(pk=user.pk).values_list("pk").first()
    letter = _locked(letter_id)
    now = timezone.now()
    if letter.is_resolved:
        raise NotAllowed("this letter is resolved; reopen it to work on it again")
    if not may_decide(user, letter):
        who = " or ".join(role.label.lower() for role in roles_for(letter.status))
        raise NotAllowed(f"a letter that is {letter.get_status_display().lower()} is for a person who is {who} here")
    if letter.is_held(now):
        if letter.lease_owner_id == user.pk:
            return _renewed(letter, now)
        raise NotAllowed(f"{letter.lease_owner} holds this letter until {timezone.localtime(letter.lease_until):%H:%M}")
    return _take(letter, user, now, policy_of(letter.envelope_id))


def _take(letter: DeadLetter, user: User, now: datetime, policy: QueuePolicy) -> DeadLetter:
    held = held_by(user, now).count()
    if held >= policy.leases_per_person:
        raise CapReached(f"you hold {held} letters already, as many as one person may: finish or give back one of them")
    until = lease_end(policy, now)
    rows = free(DeadLetter.objects.filter(pk=letter.pk, fence=letter.fence), now)
    if not rows.update(lease_owner=user, lease_until=until, beat_at=now, fence=F("fence") + 1):
        raise LeaseLost(_locked(letter.pk))
    letter.lease_owner, letter.lease_until, letter.beat_at, letter.fence = user, until, now, letter.fence + 1
    return letter


def _renewed(letter: DeadLetter, now: datetime) -> DeadLetter:
    letter.lease_until = lease_end(policy_of(letter.envelope_id), now)
    letter.beat_at = now
    letter.save(update_fields=["lease_until", "beat_at"])
    return letter


def _locked(letter_id: int) -> DeadLetter:
    return DeadLetter.objects.select_for_update(of=("self",)).select_related("lease_owner").get(pk=letter_id)


def held(claim: Claim) -> DeadLetter:
    """The letter, locked for the rest of the transaction, while the claim stands; ``LeaseLost`` where it does not.

    A lease that ran out still stands as long as nobody else took the letter: the fence says so.
    """
    letter = _locked(claim.letter_id)
    if letter.is_resolved or letter.lease_owner_id != claim.user.pk or letter.fence != claim.fence:
        raise LeaseLost(letter)
    return letter


@transaction.atomic
def heartbeat(claim: Claim) -> DeadLetter:
    """The person is at work: the lease goes on, and the time since the last sign of life counts as worked."""
    letter = held(claim)
    now = timezone.now()
    worked = min(now - (letter.beat_at or now), LONGEST_BEAT)
    milliseconds = max(0, int(worked.total_seconds() * 1000))
    letter = _renewed(letter, now)
    effort.add_worked(letter, milliseconds)
    return letter


@transaction.atomic
def release(claim: Claim) -> None:
    """Gives the letter back; what was typed stays as a draft. Nothing happens where it is no longer held."""
    try:
        letter = held(claim)
    except LeaseLost:
        return
    _free(letter)


def _free(letter: DeadLetter) -> None:
    letter.lease_owner, letter.lease_until, letter.beat_at, letter.fence = None, None, None, letter.fence + 1
    letter.save(update_fields=["lease_owner", "lease_until", "beat_at", "fence"])


@transaction.atomic
def hand_over(claim: Claim, to: User, *, why: str) -> DeadLetter:
    """The lease goes to a colleague who may decide the letter; their cap counts."""
    letter = held(claim)
    if to.pk == claim.user.pk:
        raise NotAllowed("you hold it already")
    if not may_decide(to, letter):
        raise NotAllowed(f"{to} may not decide this letter")
    _free(letter)
    letter = _take(letter, to, timezone.now(), policy_of(letter.envelope_id))
    _note(letter, Kind.HAND_OVER, by=claim.user, note=why, details={"to": to.username})
    append("dead letter handed over", "dead letter", letter.pk, by=claim.user, after={"to": to.username}, reason=why)
    return letter


@transaction.atomic
def release_all(person: User, *, by: User, why: str) -> int:
    """What an absent person holds goes back to the queue, as far as ``by`` steers those envelopes. Their drafts stay."""
    if not why.strip():
        raise NotAllowed("a reason is needed")
    released = []
    for letter in DeadLetter.objects.select_for_update(of=("self",)).filter(lease_owner=person).order_by("pk"):
        if not may_steer(by, letter.envelope_id):
            continue
        _free(letter)
        _note(letter, Kind.RELEASE, by=by, note=why, details={"from": person.username})
        released.append(letter.pk)
    if released:
        append("leases released", "person", person.username, by=by, after={"dead_letters": released}, reason=why)
    return len(released)


def _note(letter: DeadLetter, kind: Kind, *, by: User, note: str, details: dict[str, Any]) -> None:
    now = timezone.now()
    Decision.objects.create(
        letter=letter,
        kind=kind,
        by=by,
        at=now,
        before=letter.status,
        after=letter.status,
        note=note,
        details=details,
        effective_at=now,
        fence_after=letter.fence,
    )


def people_for(letter: DeadLetter, but: User) -> list[User]:
    """Colleagues to whom the letter can be handed."""
    roles = [role.value for role in roles_for(letter.status)]
    on = Q(memberships__envelope=None) | Q(memberships__envelope=letter.envelope_id)
    rows = User.objects.filter(on, memberships__role__in=roles, is_active=True).exclude(pk=but.pk)
    return list(rows.distinct().order_by("username"))
