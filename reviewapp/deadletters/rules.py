"""Who may do what in the queue, what a policy says, and why an act is refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from reviewapp.access import grants_of
from reviewapp.accounts.models import Role
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus, QueuePolicy

SENIOR_STATES = (DeadLetterStatus.ESCALATED, DeadLetterStatus.QUARANTINED)
SENIORS = (Role.OWNER, Role.MANAGER)
STEERING = (Role.OWNER, Role.MANAGER)
"""Roles that set policies, caps, assignments and skills, and that release other people's leases."""


class NotAllowed(Exception):
    """The act breaks a rule; the message says which, for the person who tried."""


class LeaseLost(NotAllowed):
    """The person no longer holds the letter. ``letter`` is how it stands now; what they typed is theirs and is kept."""

    def __init__(self, letter: DeadLetter) -> None:
        super().__init__(why_lost(letter))
        self.letter = letter


class CapReached(NotAllowed):
    """The person holds as many letters as the policy lets one hold."""


def why_lost(letter: DeadLetter) -> str:
    if letter.is_resolved:
        return f"someone else has finished this letter: {letter.get_resolution_display().lower()}"
    if letter.lease_owner_id is not None:
        return f"{letter.lease_owner} holds this letter now"
    return "you do not hold this letter any more: claim it again"


def policy_of(envelope_id: int) -> QueuePolicy:
    """The envelope's policy, or the defaults."""
    return QueuePolicy.objects.filter(envelope_id=envelope_id).first() or QueuePolicy(envelope_id=envelope_id)


def lease_end(policy: QueuePolicy, now: datetime) -> datetime:
    return now + timedelta(minutes=policy.lease_minutes)


def roles_for(status: str) -> tuple[Role, ...]:
    """The roles that may decide a letter in this state. What was escalated or quarantined is no longer a reviewer's."""
    return SENIORS if status in SENIOR_STATES else (Role.REVIEWER,)


def may_decide(user: Any, letter: DeadLetter) -> bool:
    return bool(grants_of(user).on(letter.envelope_id) & set(roles_for(letter.status)))


def may_steer(user: Any, envelope_id: int) -> bool:
    return bool(grants_of(user).on(envelope_id) & set(STEERING))
