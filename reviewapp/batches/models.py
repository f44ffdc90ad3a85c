"""Batches of records submitted together under one envelope version."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse


class BatchStatus(models.TextChoices):
    OPEN = "open", "Open"
    PAUSED = "paused", "Paused"
    CLOSED = "closed", "Closed"


class Batch(models.Model):
    """Records under one version. ``paused`` stops every next attempt until a person resumes."""

    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="batches")
    name = models.CharField(max_length=200)
    status = models.CharField(max_length=16, choices=BatchStatus.choices, default=BatchStatus.OPEN)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_why = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["version", "name"], name="batch_name_once_per_version"),
            models.CheckConstraint(condition=models.Q(status__in=BatchStatus.values), name="batch_status_known"),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("batch", args=[self.pk])


class Record(models.Model):
    """One submitted document by its submitter's own id. The id makes a resubmission change nothing."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="records")
    key = models.CharField(max_length=200, help_text="The submitter's id: the idempotency key inside its batch.")
    document_sha256 = models.CharField(max_length=64)
    document_bytes = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "key"], name="record_key_once_per_batch"),
            models.CheckConstraint(condition=~models.Q(key=""), name="record_key_not_empty"),
        ]

    def __str__(self) -> str:
        return self.key


class RecordPayload(models.Model):
    """The document itself, apart from the rows that lists read; ``reference`` is a JSON text or empty."""

    record = models.OneToOneField(Record, on_delete=models.PROTECT, primary_key=True, related_name="payload")
    document = models.TextField()
    reference = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"payload of {self.record_id}"
