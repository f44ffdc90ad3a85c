"""Trying a draft on chosen records before anyone signs it. Nothing of a shadow run is delivered, sampled or counted as a run.

The draft is unsigned by nature, so only a named owner starts it, after seeing what it may cost at most; each record is run in
memory with the machine, the checks and the endpoint that a signed version would have.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Max
from django.utils import timezone

from controller.authoring import NotAnEnvelope, read
from controller.budget import bound
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.deadletters.models import DeadLetter
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.models import Envelope, ShadowResult, ShadowRun, ShadowStatus, Status, Version
from reviewapp.runs.models import Run

MOST_RECORDS = 200


@dataclass(frozen=True, slots=True)
class Group:
    """Dead letters of one failure signature under the version that is compared with."""

    signature: str
    failing: str
    count: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What a draft can be tried on: the version in force, its dead letters by signature, the number of accepted runs."""

    against: Version
    groups: tuple[Group, ...]
    accepted: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen runs and the most that trying them may cost. What is confirmed is exactly this."""

    runs: tuple[int, ...]
    max_calls: int
    max_tokens: int
    max_ms: int

    @property
    def confirmation(self) -> str:
        """Names the plan: starting asks for it, so that nothing but what was shown is started."""
        return f"{len(self.runs)}-{self.max_calls}-{self.max_tokens}"


def in_force(envelope: Envelope, but: Version | None = None) -> Version | None:
    """The approved version that ran last, else the newest approved one."""
    rows = Version.objects.filter(envelope=envelope, status__in=[Status.APPROVED, Status.RETIRED])
    if but is not None:
        rows = rows.exclude(pk=but.pk)
    return rows.annotate(last=Max("runs__id")).filter(last__isnull=False).order_by("-number").first()


def choices(version: Version) -> Choices | None:
    """``None`` where no signed version of the envelope ever ran."""
    against = in_force(version.envelope, version)
    if against is None:
        return None
    rows = (
        DeadLetter.objects.filter(run__version=against)
        .order_by()
        .values("signature")
        .annotate(count=Count("pk"), failing=Max("failing"))
        .order_by("-count", "signature")[:50]
    )
    groups = tuple(
        Group(row["signature"], row["failing"] or "no check: " + "the run stopped before", row["count"]) for row in rows
    )
    return Choices(against, groups, Run.objects.filter(version=against, status="accepted").count())


def plan(
    version: Version, against: Version, signatures: Iterable[str], *, per_signature: int, accepted: int, seed: int
) -> Plan:
    """The newest dead letters of each signature, and accepted runs at random (``seed`` makes the draw repeatable).

    Raises ``NotAllowed`` where nothing or too much is chosen, ``NotAnEnvelope`` where the text is not valid yet.
    """
    content = read(version.source)
    chosen: list[int] = []
    for signature in signatures:
        rows = DeadLetter.objects.filter(run__version=against, signature=signature).order_by("-id")
        chosen += list(rows.values_list("run_id", flat=True)[:per_signature])
    ids = list(Run.objects.filter(version=against, status="accepted").order_by("pk").values_list("pk", flat=True))
    chosen += sorted(random.Random(seed).sample(ids, min(accepted, len(ids))))  # noqa: S311 - a draw to look at, not a secret
    runs = tuple(dict.fromkeys(chosen))
    if not runs:
        raise NotAllowed("no record is chosen")
    if len(runs) > MOST_RECORDS:
        raise NotAllowed(f"{len(runs)} records are chosen; {MOST_RECORDS} at most")
    most = bound(content)
    return Plan(runs, most.calls * len(runs), most.tokens * len(runs), most.milliseconds * len(runs))


@transaction.atomic
def start(version: Version, against: Version, chosen: Plan, *, confirmed: str, by: User) -> ShadowRun:
    """Puts the shadow run into the queue. ``confirmed`` must be the plan's own confirmation: what the person saw."""
    version = Version.objects.select_for_update(of=("self",)).select_related("envelope").get(pk=version.pk)
    if version.status not in (Status.DRAFT, Status.IN_REVIEW):
        raise NotAllowed(f"{version} is {version.get_status_display().lower()}: drafts and versions in review are tried")
    if confirmed != chosen.confirmation:
        raise NotAllowed("the choice or the text changed since its cost was shown: look at it again")
    if ShadowRun.objects.filter(version=version, status__in=[ShadowStatus.WAITING, ShadowStatus.RUNNING]).exists():
        raise NotAllowed("a shadow run of this version is under way")
    content = read(version.source)
    shadow = ShadowRun.objects.create(
        version=version,
        against=against,
        canonical=content.canonical().decode("utf-8"),
        digest=content.digest,
        started_by=by,
        max_calls=chosen.max_calls,
        max_tokens=chosen.max_tokens,
    )
    ShadowResult.objects.bulk_create([ShadowResult(shadow=shadow, run_id=run) for run in chosen.runs])
    after = {
        "digest": content.digest,
        "records": len(chosen.runs),
        "max_calls": chosen.max_calls,
        "max_tokens": chosen.max_tokens,
    }
    append("shadow run started", "version", version, by=by, after=after)
    return shadow


@transaction.atomic
def stop(shadow: ShadowRun, *, by: User) -> ShadowRun:
    """No further record is tried; what is in flight comes to its end."""
    shadow = ShadowRun.objects.select_for_update(of=("self",)).select_related("version__envelope").get(pk=shadow.pk)
    if shadow.status in (ShadowStatus.DONE, ShadowStatus.STOPPED):
        return shadow
    shadow.status, shadow.ended_at, shadow.note = ShadowStatus.STOPPED, timezone.now(), f"stopped by {by}"
    shadow.save(update_fields=["status", "ended_at", "note"])
    append("shadow run stopped", "version", shadow.version, by=by, after={"shadow": shadow.pk})
    return shadow


def current_digest(version: Version) -> str:
    """The digest of the text as it is now; empty where it is no valid envelope."""
    if version.digest:
        return version.digest
    try:
        return read(version.source).digest
    except NotAnEnvelope:
        return ""


def attached(version: Version) -> Sequence[Any]:
    """The shadow runs of a version, newest first."""
    rows = ShadowRun.objects.filter(version=version).select_related("against__envelope", "started_by")
    return list(rows.defer("canonical", "against__source", "against__canonical"))
