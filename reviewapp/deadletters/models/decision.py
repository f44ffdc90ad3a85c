"""What people decided, what was delivered because of it, and what was taken back."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from reviewapp.deadletters.models.letter import DeadLetter


class Kind(models.TextChoices):
    CORRECT = "correct", "Corrected and accepted"
    REQUEUE = "requeue", "Requeued"
    REJECT = "reject", "Rejected"
    ASK = "ask", "Submitter asked"
    DEFER = "defer", "Deferred"
    ESCALATE = "escalate", "Escalated"
    SKIP = "skip", "Skipped: not mine"
    RETURN = "return", "Back to the queue"
    UNDO = "undo", "Undone"
    REOPEN = "reopen", "Reopened"
    WAKE = "wake", "Deferral over"
    HAND_OVER = "hand_over", "Handed over"
    RELEASE = "release", "Released by a manager"


class Decision(models.Model):
    """One step in a dead letter's life, by a person or (``by`` empty) by the clock.

    Its effects leave the system at ``effective_at``; until then it can be undone. ``fence_after`` is the letter's fence right
    after it: an undo goes through only while that still stands, that is, while nobody did anything else since.
    """

    letter = models.ForeignKey(DeadLetter, on_delete=models.PROTECT, related_name="decisions")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    before = models.CharField(max_length=16)
    after = models.CharField(max_length=16)
    reason = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True)
    details = models.JSONField(default=dict)
    effective_at = models.DateTimeField()
    fence_after = models.PositiveIntegerField()
    undone_at = models.DateTimeField(null=True, blank=True)
    job = models.ForeignKey("deadletters.BulkJob", null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["letter", "id"]
        indexes = [models.Index(fields=["by", "-id"], name="decision_by_person")]

    def __str__(self) -> str:
        return f"{self.kind} {self.letter_id}"

    def can_be_undone(self, now: datetime) -> bool:
        return self.undone_at is None and now < self.effective_at and self.kind in UNDOABLE


UNDOABLE = {kind.value for kind in (Kind.CORRECT, Kind.REQUEUE, Kind.REJECT, Kind.ASK, Kind.DEFER, Kind.ESCALATE, Kind.SKIP)}


class Correction(models.Model):
    """A person's value, beside the original, which stays in the run's outcome. ``overrides`` are the checks it was let through
    with: a JSON list of ``{"check", "pointer", "reason"}``."""

    decision = models.OneToOneField(Decision, on_delete=models.PROTECT, primary_key=True, related_name="correction")
    value = models.TextField(help_text="Exact JSON.")
    report = models.TextField(help_text="What the checks said about it, as JSON.")
    overrides = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"correction {self.decision_id}"


class Requeue(models.Model):
    """A record sent through again. Once per record and version, unless it was undone."""

    decision = models.OneToOneField(Decision, on_delete=models.PROTECT, primary_key=True, related_name="requeue")
    record = models.ForeignKey("batches.Record", on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    run = models.ForeignKey("runs.Run", null=True, on_delete=models.SET_NULL, related_name="+")
    undone = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["record", "version"], condition=Q(undone=False), name="requeue_once_per_version"),
        ]

    def __str__(self) -> str:
        return f"record {self.record_id} under {self.version_id}"


class DeliveryKind(models.TextChoices):
    HUMAN_CORRECTED = "human_corrected", "Corrected by a person"
    REJECTED = "rejected", "Rejected"
    ASKED = "asked", "Data asked for"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Delivery(models.Model):
    """What the submitter gets for a record because of a person's decision. It leaves the system at ``effective_at``, not
    before; ``cancelled_at`` says that it was taken back in time. What has left is only ever compensated by a later row."""

    record = models.ForeignKey("batches.Record", on_delete=models.PROTECT, related_name="deliveries")
    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, related_name="deliveries")
    kind = models.CharField(max_length=16, choices=DeliveryKind.choices)
    value = models.TextField(blank=True, help_text="Exact JSON where a value is delivered.")
    reason = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()
    effective_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["record", "id"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["effective_at", "id"], name="delivery_effective")]

    def __str__(self) -> str:
        return f"{self.kind} for {self.record_id}"
