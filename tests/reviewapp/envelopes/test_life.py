from __future__ import annotations

from datetime import timedelta

import pytest
import yaml
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from controller.authoring import NotAnEnvelope
from reviewapp.accounts.models import Role, User
from reviewapp.audit.models import Entry
from reviewapp.envelopes import actions, keys
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.comments import add_comment, resolve_comment
from reviewapp.envelopes.drafting import discard_draft, draft_from, save_draft, token_of
from reviewapp.envelopes.effort import beat, spent
from reviewapp.envelopes.models import Envelope, SetAside, Status, Version
from reviewapp.envelopes.requirements import requirements, stopped_by
from reviewapp.envelopes.verification import verified
from tests.envelopes import data
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db

SOURCE = yaml.safe_dump(data(), sort_keys=False)


@pytest.fixture
def author() -> User:
    keys.make_key()
    return person("author", Role.OWNER)


def drafted(author: User, source: str = SOURCE, **rules: object) -> Version:
    envelope = Envelope.objects.filter(slug="totals").first() or actions.create_envelope("totals", "Totals", by=author, **rules)  # type: ignore[arg-type]
    return actions.draft_version(envelope, source, by=author)


def reviewed(author: User, **rules: object) -> Version:
    return actions.submit_for_review(drafted(author, **rules), by=author)


def test_numbers_versions_in_order(author: User) -> None:
    assert [drafted(author).number, drafted(author).number] == [1, 2]


def test_author_never_approves(author: User) -> None:
    version = reviewed(author)
    with pytest.raises(NotAllowed, match="authors never approve"):
        actions.approve_version(version, by=author, digest=version.digest)


def test_needs_two_different_people(author: User) -> None:
    version = reviewed(author, approvals_needed=2)
    first, second = person("olga", Role.OWNER), person("omar", Role.OWNER)
    assert actions.approve_version(version, by=first, digest=version.digest).status == Status.IN_REVIEW
    with pytest.raises(NotAllowed, match="already"):
        actions.approve_version(version, by=first, digest=version.digest)
    assert actions.approve_version(version, by=second, digest=version.digest).status == Status.APPROVED
    assert verified(Version.objects.get()) is None


def test_invalid_text_stays_draft(author: User) -> None:
    version = drafted(author, SOURCE.replace("start: copy", "start: nowhere"))
    with pytest.raises(NotAnEnvelope):
        actions.submit_for_review(version, by=author)
    assert Version.objects.get().status == Status.DRAFT


@pytest.mark.parametrize("act", [actions.reject_version, actions.send_back_version])
def test_turning_down_ends_review(author: User, act: object) -> None:
    version, other = reviewed(author), person("olga", Role.OWNER)
    with pytest.raises(NotAllowed, match="reason"):
        act(version, by=other, why=" ")  # type: ignore[operator]
    with pytest.raises(NotAllowed, match="withdraw"):
        act(version, by=author, why="no")  # type: ignore[operator]
    ended = act(version, by=other, why="the total is not checked")  # type: ignore[operator]
    assert ended.status in (Status.REJECTED, Status.CHANGES_WANTED)
    with pytest.raises((IntegrityError, DatabaseError)), transaction.atomic():
        Version.objects.filter(pk=version.pk).update(status=Status.IN_REVIEW)


def test_only_author_withdraws(author: User) -> None:
    version = reviewed(author)
    with pytest.raises(NotAllowed):
        actions.withdraw_version(version, by=person("olga", Role.OWNER), why="")
    assert actions.withdraw_version(version, by=author, why="").status == Status.WITHDRAWN


def test_new_draft_keeps_origin(author: User) -> None:
    first = approved()
    draft = draft_from(first, by=person("omar", Role.OWNER))
    assert (draft.source, draft.based_on, draft.number, draft.status) == (first.source, first, 2, Status.DRAFT)


def test_content_frozen_in_review(author: User) -> None:
    version = reviewed(author)
    with pytest.raises(NotAllowed, match="frozen"):
        save_draft(version, "task: x", token_of(version.source), by=author)
    with pytest.raises((IntegrityError, DatabaseError)), transaction.atomic():
        Version.objects.filter(pk=version.pk).update(source="task: x")


def test_save_gives_new_token(author: User) -> None:
    version = drafted(author)
    saved = save_draft(version, "task: totals\r\n", token_of(SOURCE), by=author)
    assert saved.changed
    assert Version.objects.get().source == "task: totals\n"
    assert saved.token == token_of("task: totals\n")


def test_conflict_keeps_both_texts(author: User) -> None:
    version = drafted(author)
    save_draft(version, "from one tab", token_of(SOURCE), by=author)
    saved = save_draft(version, "from the other tab", token_of(SOURCE), by=author)
    assert Version.objects.get().source == "from one tab"
    assert SetAside.objects.get(pk=saved.kept).source == "from the other tab"
    again = save_draft(version, "from the other tab", token_of(SOURCE), by=author)
    assert (again.kept, SetAside.objects.count()) == (saved.kept, 1)


def test_autosaves_are_one_entry(author: User) -> None:
    version, token = drafted(author), token_of(SOURCE)
    for number in range(4):
        token = save_draft(version, f"text {number}", token, by=author).token
    assert Entry.objects.filter(action="draft edited").count() == 1


def test_stranger_never_writes_draft(author: User) -> None:
    with pytest.raises(NotAllowed, match="only its author"):
        save_draft(drafted(author), "mine", token_of(SOURCE), by=person("olga", Role.OWNER))


def test_discards_untouched_draft_only(author: User) -> None:
    version = drafted(author)
    child = actions.draft_version(version.envelope, SOURCE, by=author, based_on=version)
    with pytest.raises(NotAllowed, match="it stays"):
        discard_draft(version, by=author)
    discard_draft(child, by=author)
    assert list(Version.objects.all()) == [version]


def test_comment_names_its_line(author: User) -> None:
    version, other = reviewed(author), person("olga", Role.OWNER)
    comment = add_comment(version, 3, "Why 0.0?", by=other)
    with pytest.raises(NotAllowed, match="lines 1 to"):
        add_comment(version, 100_000, "?", by=other)
    with pytest.raises(NotAllowed, match="resolved by"):
        resolve_comment(comment, by=person("omar", Role.OWNER))
    assert resolve_comment(comment, by=author).resolved_by == author


def test_says_whose_turn_it_is(author: User) -> None:
    person("olga", Role.OWNER)
    draft = drafted(author, approvals_needed=2)
    assert [(r.id, r.met, r.whose) for r in requirements(draft)][1] == ("submitted", False, "Author")
    version = actions.submit_for_review(draft, by=author)
    missing = [r for r in requirements(version) if not r.met]
    assert [(r.id, r.whose, r.since) for r in missing] == [
        ("missing-1", "Olga", version.submitted_at),
        ("missing-2", "Olga", version.submitted_at),
    ]
    actions.approve_version(version, by=person("olga"), digest=version.digest)
    last = requirements(Version.objects.get())[-1]
    assert (last.id, last.met, last.whose) == ("missing-2", False, "nobody: no other person is an owner of this envelope")


def test_invalid_draft_counts_problems(author: User) -> None:
    first = requirements(drafted(author, "task: totals\n"))[0]
    assert (first.id, first.met) == ("valid", False)
    assert "problems" in first.words


def test_more_approvals_stop_versions(author: User) -> None:
    version = approved()
    assert stopped_by(version.envelope, approvals_needed=1, require_passkey=False) == []
    assert stopped_by(version.envelope, approvals_needed=2, require_passkey=False) == [version]
    assert stopped_by(version.envelope, approvals_needed=1, require_passkey=True) == [version]
    actions.change_rules(version.envelope, approvals_needed=2, require_passkey=False, by=author, why="more eyes")
    invalid = verified(Version.objects.select_related("envelope", "author").get())
    assert invalid is not None
    assert "1 of 2" in invalid.why


def test_idle_time_is_not_effort(author: User) -> None:
    version, start = drafted(author), timezone.now()
    for after in (0, 15, 30, 300, 315):
        beat(version, author, now=start + timedelta(seconds=after))
    assert spent(version) == {"authoring": 45, "reviewing": None}
