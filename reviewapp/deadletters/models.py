"""Dead letters: runs that go to a person."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class DeadLetterStatus(models.TextChoices):
    OPEN = "open", "Open"
    RESOLVED = "resolved", "Resolved"


class DeadLetter(models.Model):
    """One run that nobody but a person can finish. Written together with the run's outcome."""

    run = models.OneToOneField("runs.Run", on_delete=models.PROTECT, related_name="dead_letter")
    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="dead_letters")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="dead_letters")
    status = models.CharField(max_length=16, choices=DeadLetterStatus.choices, default=DeadLetterStatus.OPEN)
    fuse = models.CharField(max_length=32)
    final_class = models.CharField(max_length=32)
    signature = models.CharField(max_length=32, help_text="Hash of the index-free failure signature.")
    failing = models.CharField(max_length=500, blank=True, help_text="The failing checks and places, in words.")
    request = models.TextField(blank=True, help_text="What the submitter is asked for, as JSON, when the fallback asks.")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=DeadLetterStatus.values), name="dead_letter_status_known"),
        ]
        indexes = [
            models.Index(fields=["envelope", "status", "id"], name="dead_letter_queue"),
            models.Index(fields=["batch", "status", "id"], name="dead_letter_batch"),
            models.Index(fields=["signature", "status", "id"], name="dead_letter_signature"),
        ]

    def __str__(self) -> str:
        return f"dead letter {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.run_id])
