from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from reviewapp.access import require, require_everywhere, roles_on, visible_envelopes
from reviewapp.accounts.models import Role
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db


def test_sees_only_own_envelopes() -> None:
    mine = approved(slug="mine").envelope
    approved(slug="theirs")
    user = person("someone", Role.REVIEWER, envelope=mine)
    assert list(visible_envelopes(user)) == [mine]
    assert list(visible_envelopes(user, Role.OWNER)) == []


def test_sees_all_without_envelope() -> None:
    approved(slug="one")
    approved(slug="two")
    assert visible_envelopes(person("someone", Role.MANAGER)).count() == 2


def test_joins_roles_of_both_kinds() -> None:
    envelope = approved().envelope
    person("someone", Role.MANAGER)
    user = person("someone", Role.REVIEWER, envelope=envelope)
    assert roles_on(user, envelope) == {Role.MANAGER, Role.REVIEWER}


def test_hides_from_strangers() -> None:
    envelope = approved().envelope
    with pytest.raises(Http404):
        require(person("stranger"), envelope, Role.OWNER)


def test_forbids_members_without_role() -> None:
    envelope = approved().envelope
    user = person("someone", Role.REVIEWER, envelope=envelope)
    require(user, envelope)
    with pytest.raises(PermissionDenied):
        require(user, envelope, Role.OWNER, Role.MANAGER)


def test_single_role_is_not_everywhere() -> None:
    user = person("someone", Role.OPERATOR, envelope=approved().envelope)
    with pytest.raises(PermissionDenied):
        require_everywhere(user, Role.OPERATOR)


def test_superuser_flag_gives_no_role() -> None:
    user = person("root")
    user.is_superuser = user.is_staff = True
    user.save()
    assert not visible_envelopes(user).exists()
