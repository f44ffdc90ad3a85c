"""Who may see and do what, decided on the server for every request.

A stranger to an envelope gets 404, so that not even its existence is told; a member without the role gets 403.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from reviewapp.accounts.models import Membership, Role
from reviewapp.envelopes.models import Envelope

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Grants:
    """All roles of one person: those that hold for every envelope, and those for single ones by envelope id."""

    everywhere: frozenset[Role] = frozenset()
    single: tuple[tuple[int, Role], ...] = ()

    def on(self, envelope_id: int) -> frozenset[Role]:
        return self.everywhere | {role for known, role in self.single if known == envelope_id}

    @property
    def anywhere(self) -> frozenset[Role]:
        return self.everywhere | {role for _, role in self.single}

    def envelopes(self, roles: Iterable[Role] = Role) -> set[int] | None:
        """The envelope ids on which one of ``roles`` is held; ``None`` stands for all of them."""
        wanted = set(roles)
        return None if self.everywhere & wanted else {known for known, role in self.single if role in wanted}


def grants_of(user: Any) -> Grants:
    """The person's roles, read once per request: they are kept on the request's own user object."""
    known = getattr(user, "_grants", None)
    if known is None:
        rows = list(Membership.objects.filter(user_id=user.pk).values_list("envelope_id", "role"))
        known = Grants(
            frozenset(Role(role) for envelope, role in rows if envelope is None),
            tuple((envelope, Role(role)) for envelope, role in rows if envelope is not None),
        )
        user._grants = known
    return known


def visible_envelopes(user: Any, *roles: Role) -> QuerySet[Envelope]:
    """The envelopes that the person is a member of; with ``roles``, those where one of them is held."""
    ids = grants_of(user).envelopes(roles or Role)
    return Envelope.objects.all() if ids is None else Envelope.objects.filter(pk__in=ids)


def limit(queryset: QuerySet[Row], user: Any, path: str, *roles: Role) -> QuerySet[Row]:
    """The rows whose envelope, reached by ``path``, the person may see (or holds one of ``roles`` on)."""
    ids = grants_of(user).envelopes(roles or Role)
    return queryset if ids is None else queryset.filter(**{f"{path}__in": ids})


def load(queryset: QuerySet[Row], user: Any, path: str, **where: Any) -> Row:
    """The one row for this person, or 404: missing and not yours look the same."""
    return get_object_or_404(limit(queryset, user, path), **where)


def roles_on(user: Any, envelope: Envelope) -> set[Role]:
    return set(grants_of(user).on(envelope.pk))


def has_role(user: Any, envelope: Envelope, *roles: Role) -> bool:
    return bool(grants_of(user).on(envelope.pk) & set(roles))


def require(user: Any, envelope: Envelope, *roles: Role) -> None:
    """Raises ``Http404`` for a stranger to the envelope, ``PermissionDenied`` for a member without any of ``roles``."""
    held = grants_of(user).on(envelope.pk)
    if not held:
        raise Http404
    if roles and not held & set(roles):
        raise PermissionDenied


def require_somewhere(user: Any, *roles: Role) -> None:
    """The same for pages that belong to no single envelope: one of the roles on any envelope will do; none named: any role."""
    _require(grants_of(user).anywhere, grants_of(user).anywhere, roles)


def require_everywhere(user: Any, *roles: Role) -> None:
    """The same for pages that show all envelopes at once: the role must hold for every envelope."""
    _require(grants_of(user).anywhere, grants_of(user).everywhere, roles)


def _require(known: frozenset[Role], held: frozenset[Role], roles: Iterable[Role]) -> None:
    if not known:
        raise Http404
    if roles and not held & set(roles):
        raise PermissionDenied
