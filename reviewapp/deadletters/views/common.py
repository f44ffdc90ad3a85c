"""What the pages of the queue share: the tools beside every list, and how an act's refusal is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone

from reviewapp.access import grants_of
from reviewapp.accounts.models import Role, User
from reviewapp.deadletters.actions.leases import Order, held_by
from reviewapp.deadletters.models import Decision
from reviewapp.deadletters.rules import NotAllowed
from reviewapp.envelopes.actions import NotAllowed as EnvelopeRule

ORDERS = {Order.OLDEST: "longest waiting", Order.DUE: "due first", Order.GROUP: "biggest group"}


def tools(request: HttpRequest) -> dict[str, Any]:
    """The claim button's order, what the person holds, and their last decision while it can be undone."""
    now = timezone.now()
    is_reviewer = Role.REVIEWER in grants_of(request.user).anywhere
    last = Decision.objects.filter(by_id=request.user.pk).order_by("-pk").first()
    return {
        "now": now,
        "is_reviewer": is_reviewer,
        "order": order_of(request),
        "orders": [(order.value, words) for order, words in ORDERS.items()],
        "held": list(held_by(request.user, now).select_related("run__record").only("pk", "run__record__key", "lease_until")),
        "undoable": last if last is not None and last.can_be_undone(now) else None,
    }


def person_of(request: HttpRequest) -> User:
    """Who asks. Every page of the queue needs a person who is signed in."""
    assert isinstance(request.user, User)
    return request.user


def order_of(request: HttpRequest) -> Order:
    """The order that the person chose last in this session."""
    try:
        return Order(request.session.get("queue_order", Order.OLDEST))
    except ValueError:
        return Order.OLDEST


def attempt(request: HttpRequest, act: Callable[[], Any], done: str = "") -> Any:
    """What the act gives, with a word of success; where a rule forbids it ``None``, and the rule in words."""
    try:
        result = act()
    except (NotAllowed, EnvelopeRule) as rule:
        messages.error(request, sentence(rule))
        return None
    if done:
        messages.success(request, done)
    return result


def sentence(rule: Exception) -> str:
    text = str(rule)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
