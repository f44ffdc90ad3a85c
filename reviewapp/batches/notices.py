"""Telling people that a rule stopped a batch: on the page, by mail, to a webhook. Every delivery is a row with its outcome.

The rows are written with the pause; mail and webhook go out after the commit, so that nobody is told of what did not happen.
"""

from __future__ import annotations

import json
import smtplib
from datetime import timedelta

import urllib3
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone

from controller.breaker import Rule
from reviewapp.accounts.models import Membership, Role, User
from reviewapp.batches.models import Delivery, Pause

TOLD = (Role.OWNER, Role.MANAGER)
TRIES = 3
WEBHOOK_SECONDS = 5.0
RULES = {Rule.DEAD_LETTERS: "dead letters", Rule.SILENT_FAILURES: "silent failures", Rule.BLIND: "too few grades"}


def tell(pause: Pause) -> None:
    """Owners and managers of the envelope, each on the page and, with an address, by mail; the webhook where one is set."""
    now = timezone.now()
    rows = []
    for user in people_to_tell(pause):
        rows.append(Delivery(pause=pause, channel="page", user=user, status="sent", created_at=now, done_at=now))
        if user.email:
            rows.append(Delivery(pause=pause, channel="mail", user=user, address=user.email, created_at=now))
    if settings.COUNTERSIGN_WEBHOOK:
        rows.append(Delivery(pause=pause, channel="webhook", address=settings.COUNTERSIGN_WEBHOOK[:320], created_at=now))
    Delivery.objects.bulk_create(rows)
    transaction.on_commit(deliver_waiting)


def people_to_tell(pause: Pause) -> list[User]:
    """Each once, by sign-in name."""
    holders = Membership.objects.filter(role__in=TOLD).filter(envelope_id__in=[pause.batch.version.envelope_id])
    everywhere = Membership.objects.filter(role__in=TOLD, envelope=None)
    ids = {*holders.values_list("user_id", flat=True), *everywhere.values_list("user_id", flat=True)}
    return list(User.objects.filter(pk__in=ids, is_active=True).order_by("username"))


def deliver_waiting() -> int:
    """Sends what has not gone out yet, failed ones again up to three tries a minute apart. How many went out."""
    due = timezone.now() - timedelta(minutes=1)
    waiting = Delivery.objects.filter(status="waiting") | Delivery.objects.filter(
        status="failed", tries__lt=TRIES, done_at__lt=due
    )
    return sum(_send(row) for row in waiting.select_related("pause__batch__version__envelope", "user").order_by("pk"))


def _send(row: Delivery) -> bool:
    # Taken by compare-and-set, so that two workers do not both send it.
    if not Delivery.objects.filter(pk=row.pk, tries=row.tries).update(tries=row.tries + 1, done_at=timezone.now()):
        return False
    problem = _mail(row) if row.channel == "mail" else _post(row)
    Delivery.objects.filter(pk=row.pk).update(
        status="failed" if problem else "sent", detail=problem[:200], done_at=timezone.now()
    )
    return not problem


def subject_of(pause: Pause) -> str:
    return f"Paused: {pause.batch.name} ({pause.batch.version.envelope.slug})"


def body_of(pause: Pause) -> str:
    """Rule, numbers and since when; no document, no value."""
    rule = RULES.get(Rule(pause.rule), pause.rule) if pause.rule else "the executor"
    return (
        f"The batch {pause.batch.name} of {pause.batch.version} was paused at {pause.at:%Y-%m-%d %H:%M} UTC.\n"
        f"Stopped by: {rule}\n{pause.why}\n\n"
        "No further attempt starts until a manager resumes it with a reason.\n"
    )


def _mail(row: Delivery) -> str:
    try:
        send_mail(subject_of(row.pause), body_of(row.pause), None, [row.address])
    except (OSError, smtplib.SMTPException) as error:
        return f"{type(error).__name__}: mail was not taken"
    return ""


def _post(row: Delivery) -> str:
    pause = row.pause
    body = {
        "event": "batch.paused",
        "batch": pause.batch_id,
        "name": pause.batch.name,
        "envelope": pause.batch.version.envelope.slug,
        "version": pause.batch.version.number,
        "rule": pause.rule or None,
        "observed": pause.observed,
        "limit": pause.limit,
        "since": pause.at.isoformat(timespec="seconds"),
        "why": pause.why,
    }
    try:
        answer = urllib3.request(
            "POST",
            row.address,
            body=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
            timeout=urllib3.Timeout(total=WEBHOOK_SECONDS),
            retries=False,
            redirect=False,
        )
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        return f"{type(error).__name__}: the webhook could not be reached"
    return "" if 200 <= answer.status < 300 else f"the webhook answered {answer.status}"
