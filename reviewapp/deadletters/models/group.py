"""Dead letters that failed alike, counted when they are written, so that no page ever has to count them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from controller.report import SIGNATURE_VERSION
from reviewapp.deadletters.models.letter import DeadLetterStatus


class FailureGroup(models.Model):
    """One failure signature under one envelope. ``n_<status>`` count its letters and change with them, in one transaction.

    ``samples`` are the ids of the first three letters. A merged group keeps its row and hands its letters to ``merged_into``;
    the letters keep their signature, which is what splitting goes by.
    """

    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="failure_groups")
    signature = models.CharField(max_length=32)
    signature_version = models.PositiveSmallIntegerField(default=SIGNATURE_VERSION)
    title = models.CharField(max_length=500, blank=True, help_text="The failing checks and places without array positions.")
    fuse = models.CharField(max_length=32)
    final_class = models.CharField(max_length=32)
    directive = models.TextField(blank=True, help_text="What the last attempt of the first letter had been told in vain.")
    samples = models.JSONField(default=list)

    n_open = models.PositiveIntegerField(default=0)
    n_deferred = models.PositiveIntegerField(default=0)
    n_asked = models.PositiveIntegerField(default=0)
    n_escalated = models.PositiveIntegerField(default=0)
    n_quarantined = models.PositiveIntegerField(default=0)
    n_resolved = models.PositiveIntegerField(default=0)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    oldest_waiting = models.DateTimeField(null=True, blank=True)

    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    snoozed_until = models.DateTimeField(null=True, blank=True)
    skill = models.CharField(max_length=32, blank=True, help_text="Only people with this skill are given its letters.")
    note = models.TextField(blank=True)
    merged_into = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="merged")

    class Meta:
        ordering = ["oldest_waiting", "id"]
        constraints = [
            models.UniqueConstraint(fields=["envelope", "signature", "signature_version"], name="failure_group_once"),
        ]
        indexes = [
            models.Index(fields=["envelope", "oldest_waiting", "id"], name="failure_group_oldest"),
            models.Index(fields=["oldest_waiting", "id"], name="failure_group_all_oldest"),
        ]

    def __str__(self) -> str:
        return self.title or f"{self.final_class} / {self.fuse}".replace("_", " ")

    def get_absolute_url(self) -> str:
        return reverse("failure-group", args=[self.pk])

    @property
    def n_waiting(self) -> int:
        return self.n_open + self.n_deferred + self.n_asked + self.n_escalated + self.n_quarantined

    @property
    def total(self) -> int:
        return self.n_waiting + self.n_resolved


def counter_of(status: str) -> str:
    """The column that counts letters of this status."""
    return f"n_{DeadLetterStatus(status).value}"


class GroupVersion(models.Model):
    """How many letters of a group each envelope version made."""

    group = models.ForeignKey(FailureGroup, on_delete=models.CASCADE, related_name="versions")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    arrived = models.PositiveIntegerField(default=0)
    cleared = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "version"], name="group_version_once")]

    def __str__(self) -> str:
        return f"{self.group_id} under {self.version_id}: {self.arrived}"


class GroupDay(models.Model):
    """Arrivals and clearances of a group on one day (UTC): the trend."""

    group = models.ForeignKey(FailureGroup, on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    arrived = models.PositiveIntegerField(default=0)
    cleared = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "day"], name="group_day_once")]

    def __str__(self) -> str:
        return f"{self.group_id} on {self.day}: +{self.arrived} −{self.cleared}"


class GroupDraft(models.Model):
    """An envelope draft that was opened because of a group, with the letters that are its evidence."""

    group = models.ForeignKey(FailureGroup, on_delete=models.CASCADE, related_name="drafts")
    version = models.ForeignKey("envelopes.Version", on_delete=models.CASCADE, related_name="evidence")
    letters = models.JSONField(default=list)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.version} for group {self.group_id}"
