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
    require_passkey = models.BooleanField(default=False, help_text="Whether every approval needs its approver's passkey.")
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
    CHANGES_WANTED = "changes_wanted", "Changes wanted"


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
    passkey = models.TextField(blank=True, help_text="The approver's WebAuthn assertion over the statement, as JSON, or empty.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["version", "approver"], name="approval_once_per_person")]

    def __str__(self) -> str:
        return f"{self.version} by {self.approver}"


class Comment(models.Model):
    """What a reader says about one line of a version, or about all of it (line 0)."""

    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="comments")
    line = models.PositiveIntegerField(default=0, help_text="A line of the source, counted from 1; 0 is the whole text.")
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["line", "id"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(text=""), name="comment_not_empty"),
            models.CheckConstraint(
                condition=models.Q(resolved_by=None, resolved_at=None)
                | models.Q(resolved_by__isnull=False, resolved_at__isnull=False),
                name="comment_resolved_by_someone",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.version} line {self.line}"


class SetAside(models.Model):
    """A text of a draft that was not stored, because another one had been stored meanwhile: nothing that was typed is lost."""

    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="set_aside")
    source = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "set aside"

    def __str__(self) -> str:
        return f"text set aside from {self.version}"


class Notice(models.Model):
    """Something that operators must know about a version: it stays in their inbox until one of them has seen to it."""

    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="notices")
    text = models.CharField(max_length=500)
    created_at = models.DateTimeField(auto_now_add=True)
    times = models.PositiveIntegerField(default=1, help_text="How often it happened while nobody had seen to it.")
    seen_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "text"], condition=models.Q(seen_at=None), name="notice_once_until_seen"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.version}: {self.text}"


class EffortKind(models.TextChoices):
    AUTHORING = "authoring", "Authoring"
    REVIEWING = "reviewing", "Reviewing"


class Effort(models.Model):
    """How long one person was active on one version, measured by the heartbeat of the open page."""

    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="efforts")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=16, choices=EffortKind.choices)
    seconds = models.PositiveIntegerField(default=0)
    beat_at = models.DateTimeField()

    class Meta:
        ordering = ["version", "kind", "id"]
        constraints = [
            models.UniqueConstraint(fields=["version", "person", "kind"], name="effort_once"),
            models.CheckConstraint(condition=models.Q(kind__in=EffortKind.values), name="effort_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.person} {self.kind} {self.version}: {self.seconds} s"


class ShadowStatus(models.TextChoices):
    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    STOPPED = "stopped", "Stopped"


class ShadowRun(models.Model):
    """A draft tried on chosen records of an approved version. Nothing of it is ever delivered, sampled or counted as a run.

    ``canonical`` is the text as it was tried: the draft may change afterwards, and the page then says so.
    """

    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="shadow_runs")
    against = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="+")
    canonical = models.TextField()
    digest = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=ShadowStatus.choices, default=ShadowStatus.WAITING)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    max_calls = models.PositiveIntegerField()
    max_tokens = models.PositiveBigIntegerField()
    note = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=ShadowStatus.values), name="shadow_status_known"),
        ]

    def __str__(self) -> str:
        return f"shadow run {self.pk} of {self.version}"

    def get_absolute_url(self) -> str:
        return reverse("shadow", args=[self.version.envelope.slug, self.version.number, self.pk])


class ShadowResult(models.Model):
    """One record of a shadow run beside the run that it is compared with. Claimed by lease and fence, as runs are."""

    shadow = models.ForeignKey(ShadowRun, on_delete=models.CASCADE, related_name="results")
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)
    outcome = models.CharField(
        max_length=16, blank=True, help_text="accepted, dead_lettered, not_run, or empty until it ended."
    )
    change = models.CharField(max_length=16, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    final_class = models.CharField(max_length=32, blank=True)
    failing = models.CharField(max_length=500, blank=True)
    value = models.TextField(blank=True)
    story = models.TextField(
        default="[]", help_text="The calls as JSON: plan, directives, reply, failures, tokens, request hash."
    )
    calls = models.PositiveSmallIntegerField(default=0)
    tokens = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["shadow", "id"]
        constraints = [models.UniqueConstraint(fields=["shadow", "run"], name="shadow_run_once")]

    def __str__(self) -> str:
        return f"{self.shadow_id}: {self.run_id}"
