"""People and what they may do where."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person who signs in. Staff and superuser flags open the admin; they give no role in the product."""

    def __str__(self) -> str:
        return self.get_full_name() or self.username


class Role(models.TextChoices):
    REVIEWER = "reviewer", "Reviewer"
    OWNER = "owner", "Owner"
    MANAGER = "manager", "Manager"
    OPERATOR = "operator", "Operator"


class Membership(models.Model):
    """One role of one person, for one envelope or, without one, for all of them."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)
    envelope = models.ForeignKey(
        "envelopes.Envelope", null=True, blank=True, on_delete=models.CASCADE, related_name="memberships"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "role", "envelope"], name="membership_once", nulls_distinct=False),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.role} · {self.envelope or 'every envelope'}"
