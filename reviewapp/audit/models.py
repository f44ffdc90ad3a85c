"""The audit log: append-only in the database itself, each entry chained to the one before by hash."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Entry(models.Model):
    """One human or system act. ``before``/``after`` are JSON texts of what changed; ``hash`` covers every other column."""

    at = models.DateTimeField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    actor_name = models.CharField(max_length=200)
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=64)
    before = models.TextField(blank=True)
    after = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "entries"
        indexes = [
            models.Index(fields=["subject", "subject_id", "-id"], name="audit_subject"),
            models.Index(fields=["actor", "-id"], name="audit_actor"),
            models.Index(fields=["action", "-id"], name="audit_action"),
        ]
        constraints = [
            # One successor per entry: a fork of the chain cannot be stored.
            models.UniqueConstraint(fields=["previous_hash"], name="audit_one_successor"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.action} {self.subject} {self.subject_id}"
