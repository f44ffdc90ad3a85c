"""What people do with a whole group: assign, snooze, note, ask for a skill, merge, split, and answer it with a new version."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from reviewapp.access import has_role
from reviewapp.accounts.models import Role, User
from reviewapp.audit.actions import append
from reviewapp.deadletters.actions.counting import recount
from reviewapp.deadletters.models import DeadLetter, FailureGroup, GroupDraft
from reviewapp.deadletters.rules import NotAllowed
from reviewapp.envelopes.actions import draft_version
from reviewapp.envelopes.models import Version

EVIDENCE = 500
"""Letters that are kept as the evidence of a draft."""


def _change(group: FailureGroup, what: str, by: User, **columns: object) -> FailureGroup:
    """Writes the columns and says so in the audit log; nothing where nothing changes."""
    group = FailureGroup.objects.select_for_update(of=("self",)).select_related("envelope", "assignee").get(pk=group.pk)
    before = {name: getattr(group, name) for name in columns}
    if before == columns:
        return group
    for name, value in columns.items():
        setattr(group, name, value)
    group.save(update_fields=list(columns))
    after = {name: getattr(group, name) for name in columns}
    append(f"failure group {what}", "failure group", group.pk, by=by, before=before, after=after)
    return group


@transaction.atomic
def assign_group(group: FailureGroup, to: User | None, *, by: User) -> FailureGroup:
    """Only this person is given the group's letters; ``None`` gives it back to everyone."""
    if to is not None and not has_role(to, group.envelope, Role.REVIEWER):
        raise NotAllowed(f"{to} is no reviewer of {group.envelope}")
    return _change(group, "assigned", by, assignee=to)


@transaction.atomic
def snooze_group(group: FailureGroup, until: datetime | None, *, by: User) -> FailureGroup:
    """The queue gives out none of its letters until then; ``None`` ends it."""
    if until is not None and until <= timezone.now():
        raise NotAllowed("snooze to a time ahead")
    return _change(group, "snoozed", by, snoozed_until=until)


@transaction.atomic
def note_group(group: FailureGroup, note: str, *, by: User) -> FailureGroup:
    return _change(group, "noted", by, note=note)


@transaction.atomic
def ask_for_skill(group: FailureGroup, skill: str, *, by: User) -> FailureGroup:
    """Only people with the skill are given the group's letters; empty asks for none."""
    return _change(group, "skill set", by, skill=skill.strip()[:32])


def merge_groups(source: FailureGroup, target: FailureGroup, *, by: User) -> FailureGroup:
    """The source's letters, and those that will still come, go to the target. ``split_group`` takes it back."""
    with transaction.atomic():
        # Ids in order: two merges at once wait for each other instead of locking each other out.
        rows = FailureGroup.objects.select_for_update().filter(pk__in=[source.pk, target.pk]).order_by("pk")
        found = {group.pk: group for group in rows}
        source, target = found[source.pk], found[target.pk]
        if source.pk == target.pk or source.envelope_id != target.envelope_id:
            raise NotAllowed("choose another group of the same envelope")
        if source.merged_into_id or target.merged_into_id:
            raise NotAllowed("one of them is merged into another already: split it first")
        if source.merged.exists():
            raise NotAllowed("others are merged into it: split them first, or merge the other way round")
        source.merged_into = target
        source.save(update_fields=["merged_into"])
        append("failure groups merged", "failure group", source.pk, by=by, after={"merged_into": target.pk})
    # From here on new letters go to the target. The letters move before the numbers: decisions lock in that order too.
    with transaction.atomic():
        DeadLetter.objects.filter(group=source).update(group=target)
        recount(sorted([source.pk, target.pk]))
    return FailureGroup.objects.get(pk=target.pk)


def split_group(source: FailureGroup, *, by: User) -> FailureGroup:
    """Takes a merge back: every letter of the source's signature returns to it, later ones included."""
    with transaction.atomic():
        source = FailureGroup.objects.select_for_update(of=("self",)).get(pk=source.pk)
        target_id = source.merged_into_id
        if target_id is None:
            raise NotAllowed("the group is not merged into another")
        source.merged_into = None
        source.save(update_fields=["merged_into"])
        append("failure groups split", "failure group", source.pk, by=by, before={"merged_into": target_id})
    with transaction.atomic():
        DeadLetter.objects.filter(group_id=target_id, signature=source.signature).update(group=source)
        recount(sorted([source.pk, target_id]))
    return FailureGroup.objects.get(pk=source.pk)


@transaction.atomic
def draft_from_group(group: FailureGroup, *, by: User) -> Version:
    """A new draft of the envelope, starting from its newest version, with the group's letters as evidence.

    "This needs a version, not 400 corrections." Where the person has an unfinished draft for this group, that one is meant.
    """
    if not has_role(by, group.envelope, Role.OWNER):
        raise NotAllowed("only owners of the envelope draft versions")
    open_draft = (
        GroupDraft.objects.select_related("version__envelope")
        .filter(group=group, version__author=by, version__status="draft")
        .first()
    )
    if open_draft is not None:
        return open_draft.version
    newest = Version.objects.filter(envelope=group.envelope).exclude(status="draft").order_by("-number").first()
    if newest is None:
        raise NotAllowed("the envelope has no version to start from")
    version = draft_version(group.envelope, newest.source, by=by, based_on=newest)
    letters = list(DeadLetter.objects.filter(group=group).order_by("-pk").values_list("pk", flat=True)[:EVIDENCE])
    GroupDraft.objects.create(group=group, version=version, letters=letters, created_by=by, created_at=timezone.now())
    append("draft opened for failure group", "failure group", group.pk, by=by, after={"version": str(version)})
    return version
