from __future__ import annotations

import pytest

from reviewapp.accounts.models import Role
from reviewapp.audit.models import Entry
from reviewapp.deadletters.actions import groups
from reviewapp.deadletters.models import DeadLetter, FailureGroup
from reviewapp.deadletters.rules import NotAllowed
from tests.reviewapp.deadletters.cases import NO_JSON, WRONG_TOTAL, WRONG_TYPE, assert_counts_true, letters, next_for, reviewer
from tests.reviewapp.factories import approved, batch, person

pytestmark = pytest.mark.django_db


def test_counts_what_failed_alike() -> None:
    replies = {f"batch-{n:04}": (WRONG_TOTAL, WRONG_TYPE, NO_JSON)[n % 3] for n in range(8)}
    letters(8, reply=replies)
    found = {group.title: group.n_open for group in FailureGroup.objects.all()}
    assert found == {"total-printed /total": 3, "schema /qty": 3, "": 2}
    assert_counts_true()


def test_group_keeps_three_samples() -> None:
    made = letters(5)
    group = FailureGroup.objects.get()
    assert group.samples == [letter.pk for letter in made[:3]]
    assert (group.first_seen, group.last_seen, group.oldest_waiting) == (
        made[0].created_at,
        made[-1].created_at,
        made[0].created_at,
    )


def test_group_names_vain_directive() -> None:
    letters(1)
    assert FailureGroup.objects.get().directive == "/total: copy the number as printed."


def test_array_positions_make_no_groups() -> None:
    contract = {"type": "array", "items": {"type": "object", "properties": {"qty": {"type": "integer"}}}}
    replies = {"batch-0000": '[{"qty":"x"}]', "batch-0001": '[{"qty":1},{"qty":"x"}]'}
    letters(2, reply=replies, contract=contract, checks=[], templates=[])
    assert FailureGroup.objects.get().title == "schema /*/qty"


def test_versions_are_counted_apart() -> None:
    first, second = approved(), approved(reminder="Copy exactly as printed.")
    letters(2, version=first, name="one")
    letters(3, version=second, name="two")
    group = FailureGroup.objects.get()
    assert {row.version.number: row.arrived for row in group.versions.all()} == {1: 2, 2: 3}
    assert [day.arrived for day in group.days.all()] == [5]


def test_merge_moves_and_split_returns() -> None:
    version = approved()
    letters(2, version=version, name="one", reply=WRONG_TOTAL)
    letters(3, version=version, name="two", reply=WRONG_TYPE)
    totals, types = FailureGroup.objects.get(title="total-printed /total"), FailureGroup.objects.get(title="schema /qty")
    owner = person("owner", Role.OWNER)
    merged = groups.merge_groups(types, totals, by=owner)
    assert merged.n_open == 5
    letters(1, version=version, name="three", reply=WRONG_TYPE)
    assert FailureGroup.objects.get(pk=totals.pk).n_open == 6
    assert_counts_true()
    back = groups.split_group(types, by=owner)
    assert (back.n_open, FailureGroup.objects.get(pk=totals.pk).n_open) == (4, 2)
    assert_counts_true()


def test_merged_group_merges_no_further() -> None:
    version = approved()
    for name, reply in (("one", WRONG_TOTAL), ("two", WRONG_TYPE), ("three", NO_JSON)):
        letters(1, version=version, name=name, reply=reply)
    first, second, third = FailureGroup.objects.order_by("pk")
    owner = person("owner", Role.OWNER)
    groups.merge_groups(first, second, by=owner)
    with pytest.raises(NotAllowed, match="already"):
        groups.merge_groups(first, third, by=owner)
    with pytest.raises(NotAllowed, match="others are merged"):
        groups.merge_groups(second, third, by=owner)


def test_assigned_group_is_one_persons() -> None:
    letters(1)
    group = FailureGroup.objects.get()
    rae, ben = reviewer("rae"), reviewer("ben")
    groups.assign_group(group, ben, by=person("owner", Role.OWNER))
    assert next_for(rae) is None
    assert next_for(ben) is not None
    assert Entry.objects.filter(action="failure group assigned").exists()


def test_no_assignment_to_strangers() -> None:
    letters(1)
    with pytest.raises(NotAllowed, match="no reviewer"):
        groups.assign_group(FailureGroup.objects.get(), person("sam"), by=person("owner", Role.OWNER))


def test_draft_takes_letters_as_evidence() -> None:
    made = letters(3)
    group = FailureGroup.objects.get()
    owner = person("owner", Role.OWNER)
    draft = groups.draft_from_group(group, by=owner)
    assert draft.status == "draft"
    assert draft.based_on == made[0].version
    assert sorted(group.drafts.get().letters) == [letter.pk for letter in made]
    assert groups.draft_from_group(group, by=owner) == draft, "a second click opens the same draft"


def test_reviewers_draft_no_versions() -> None:
    letters(1)
    with pytest.raises(NotAllowed, match="owners"):
        groups.draft_from_group(FailureGroup.objects.get(), by=reviewer())


def test_accepted_run_has_no_letter() -> None:
    letters(1, reply='{"total":"15.00","qty":3}')
    assert not DeadLetter.objects.exists()
    assert not FailureGroup.objects.exists()
    batch(approved(), {"x": "later"}, name="other")
