"""Envelopes, their numbered versions, and the signed approvals that bind to a version's bytes."""

from __future__ import annotations

from functools import cached_property

from django.conf import settings
from django.db import models
from django.urls import reverse

import controller.envelope


class Envelope(models.Model):
    """A task that people sign versions for. ``slug`` is the task's name inside the signed content."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    approvals_needed = models.PositiveSmallIntegerField(default=1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(condition=models.Q(approvals_needed__gte=1), name="envelope_needs_an_approval"),
        ]

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("envelope", args=[self.slug])


class Status(models.TextChoices):
    DRAFT = "draft", "Draft"
    IN_REVIEW = "in_review", "In review"
    APPROVED = "approved", "Approved"
    RETIRED = "retired", "Retired"
    REJECTED = "rejected", "Rejected"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Version(models.Model):
    """One numbered version. Content is frozen from *in review* on, by trigger; ``digest`` is the SHA-256 of ``canonical``."""

    envelope = models.ForeignKey(Envelope, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.DRAFT)
    source = models.TextField(help_text="The YAML as its author wrote it.")
    canonical = models.TextField(blank=True, help_text="RFC 8785 JSON: what approvals bind to.")
    digest = models.CharField(max_length=64, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    based_on = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["envelope", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["envelope", "number"], name="version_number_once"),
            models.CheckConstraint(condition=models.Q(status__in=Status.values), name="version_status_known"),
            models.CheckConstraint(
                condition=models.Q(status="draft") | (~models.Q(digest="") & ~models.Q(canonical="")),
                name="version_frozen_has_digest",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.envelope.slug} v{self.number}"

    def get_absolute_url(self) -> str:
        return reverse("version", args=[self.envelope.slug, self.number])

    @cached_property
    def content(self) -> controller.envelope.Envelope:
        """The signed content, read from the canonical bytes."""
        return controller.envelope.from_canonical(self.canonical.encode())


class Approval(models.Model):
    """One person's signed statement over one version's digest. Never updated or deleted, by trigger."""

    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="approvals")
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    statement = models.TextField()
    signature = models.CharField(max_length=128)
    key_id = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["version", "approver"], name="approval_once_per_person")]

    def __str__(self) -> str:
        return f"{self.version} by {self.approver}"
