"""One dead letter: where it stands, who holds it, and how long people have worked on it."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.urls import reverse


class DeadLetterStatus(models.TextChoices):
    """Only ``resolved`` is an end; everything else still waits for someone."""

    OPEN = "open", "Open"
    DEFERRED = "deferred", "Deferred"
    ASKED = "asked", "Submitter asked"
    ESCALATED = "escalated", "Escalated"
    QUARANTINED = "quarantined", "Quarantined"
    RESOLVED = "resolved", "Resolved"


WAITING = [status.value for status in DeadLetterStatus if status is not DeadLetterStatus.RESOLVED]


class Resolution(models.TextChoices):
    CORRECTED = "corrected", "Corrected by a person"
    REQUEUED = "requeued", "Requeued"
    REJECTED = "rejected", "Rejected"


class DeadLetter(models.Model):
    """One run that nobody but a person can finish. Written together with the run's outcome.

    A reviewer holds it by ``lease_owner``, ``lease_until`` and ``fence``: each claim and each decision raises the fence, and
    every write names the fence it was made under, so someone who lost the lease can change nothing. ``waiting_since`` is
    ``created_at`` until it is resolved and empty afterwards: what "oldest" is read from.
    """

    run = models.OneToOneField("runs.Run", on_delete=models.PROTECT, related_name="dead_letter")
    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="dead_letters")
    version = models.ForeignKey("envelopes.Version", null=True, on_delete=models.PROTECT, related_name="dead_letters")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="dead_letters")
    group = models.ForeignKey("deadletters.FailureGroup", null=True, on_delete=models.PROTECT, related_name="letters")
    status = models.CharField(max_length=16, choices=DeadLetterStatus.choices, default=DeadLetterStatus.OPEN)
    fuse = models.CharField(max_length=32)
    final_class = models.CharField(max_length=32)
    signature = models.CharField(max_length=32, help_text="Hash of the index-free failure signature.")
    failing = models.CharField(max_length=500, blank=True, help_text="The failing checks and places, in words.")
    request = models.TextField(blank=True, help_text="What the submitter is asked for, as JSON, when the fallback asks.")
    replay = models.PositiveSmallIntegerField(default=0, help_text="How often the record had been requeued before.")
    created_at = models.DateTimeField()
    waiting_since = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    deferred_until = models.DateTimeField(null=True, blank=True)

    lease_owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="leases"
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)
    active_ms = models.PositiveBigIntegerField(default=0, help_text="Time that people were seen to work on it.")

    resolution = models.CharField(max_length=16, choices=Resolution.choices, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=DeadLetterStatus.values), name="dead_letter_status_known"),
            models.CheckConstraint(
                condition=models.Q(status="resolved", waiting_since=None) | ~models.Q(status="resolved"),
                name="dead_letter_resolved_waits_no_more",
            ),
        ]
        indexes = [
            models.Index(fields=["envelope", "status", "id"], name="dead_letter_queue"),
            models.Index(fields=["batch", "status", "id"], name="dead_letter_batch"),
            models.Index(fields=["signature", "status", "id"], name="dead_letter_signature"),
            models.Index(fields=["status", "id"], name="dead_letter_status"),
            models.Index(fields=["group", "status", "id"], name="dead_letter_group"),
            models.Index(fields=["group", "waiting_since"], name="dead_letter_oldest"),
            models.Index(fields=["group", "-resolved_at"], name="dead_letter_cleared"),
            models.Index(fields=["lease_owner", "lease_until"], name="dead_letter_lease"),
            models.Index(
                fields=["deferred_until"], condition=models.Q(deferred_until__isnull=False), name="dead_letter_deferred"
            ),
        ]

    def __str__(self) -> str:
        return f"dead letter {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("deadletter", args=[self.pk])

    @property
    def is_resolved(self) -> bool:
        return self.status == DeadLetterStatus.RESOLVED

    def is_held(self, now: datetime) -> bool:
        """Whether someone's lease on it is still running."""
        return self.lease_owner_id is not None and self.lease_until is not None and self.lease_until > now


class Draft(models.Model):
    """What one person has typed into the workspace of one dead letter and not yet submitted; survives the loss of the lease."""

    letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    fields = models.TextField(help_text="The fields of the form by name, as JSON.")
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["letter", "user"], name="draft_once_per_person")]

    def __str__(self) -> str:
        return f"draft of {self.letter_id} by {self.user_id}"


class Skip(models.Model):
    """ "Not mine": the queue does not give this letter to this person again, until they take it back."""

    letter = models.ForeignKey(DeadLetter, on_delete=models.CASCADE, related_name="skips")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="skips")
    reason = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["letter", "user"], name="skip_once_per_person")]

    def __str__(self) -> str:
        return f"{self.user_id} skips {self.letter_id}"
