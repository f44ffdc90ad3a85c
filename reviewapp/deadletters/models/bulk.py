"""Decisions over many dead letters at once: the frozen set, and what became of each."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse


class JobStatus(models.TextChoices):
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    CANCELLED = "cancelled", "Cancelled"
    DONE = "done", "Done"
    UNDOING = "undoing", "Being undone"
    UNDONE = "undone", "Undone"


class BulkJob(models.Model):
    """One confirmed act over the letters that a filter named at that moment. A worker holds it by lease and fence."""

    kind = models.CharField(max_length=16)
    params = models.JSONField(default=dict)
    filter = models.TextField(blank=True, help_text="The query string that named the letters.")
    scope = models.TextField(blank=True, help_text="The same in words.")
    status = models.CharField(max_length=16, choices=JobStatus.choices, default=JobStatus.RUNNING)
    total = models.PositiveIntegerField(default=0)
    n_done = models.PositiveIntegerField(default=0)
    n_refused = models.PositiveIntegerField(default=0)
    n_undone = models.PositiveIntegerField(default=0)
    n_kept = models.PositiveIntegerField(default=0, help_text="Letters that an undo could not take back.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bulk_jobs")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["id"], condition=Q(status__in=["running", "undoing"]), name="bulk_job_live"),
        ]

    def __str__(self) -> str:
        return f"bulk {self.kind} {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("bulk-job", args=[self.pk])

    @property
    def n_handled(self) -> int:
        return self.n_done + self.n_refused


class ItemStatus(models.TextChoices):
    WAITING = "waiting", "Waiting"
    DONE = "done", "Done"
    REFUSED = "refused", "Refused"
    UNDONE = "undone", "Undone"
    KEPT = "kept", "Could not be undone"


class BulkItem(models.Model):
    """One letter of a job. Its status flips in the very transaction that carries out the decision: exactly once."""

    job = models.ForeignKey(BulkJob, on_delete=models.PROTECT, related_name="items")
    letter = models.ForeignKey("deadletters.DeadLetter", on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=16, choices=ItemStatus.choices, default=ItemStatus.WAITING)
    detail = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["job", "id"]
        constraints = [models.UniqueConstraint(fields=["job", "letter"], name="bulk_item_once")]
        indexes = [models.Index(fields=["job", "status", "id"], name="bulk_item_status")]

    def __str__(self) -> str:
        return f"{self.letter_id} in {self.job_id}"
