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


class Pause(models.Model):
    """One time that a batch stood still: which rule or person stopped it, with its numbers, and who let it go on.

    ``rule`` is a ``controller.breaker.Rule``, or empty where a person or the executor paused. ``observed`` and ``limit`` are
    rule's own numbers (hundredths of a record, outputs, or hours). Where the envelope wants a second person, the first
    one's wish to resume stands in ``asked_*`` until another confirms it.
    """

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="pauses")
    rule = models.CharField(max_length=16, blank=True)
    observed = models.IntegerField(null=True, blank=True)
    limit = models.IntegerField(null=True, blank=True)
    why = models.CharField(max_length=500)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    asked_why = models.CharField(max_length=500, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    resumed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    resumed_why = models.CharField(max_length=500, blank=True)
    resumed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["batch"], condition=models.Q(resumed_at=None), name="batch_paused_once_at_a_time"),
        ]

    def __str__(self) -> str:
        return f"pause {self.pk} of batch {self.batch_id}"


class Breaker(models.Model):
    """One rule's state in one batch. ``excess`` is the counter, in hundredths of a record; for ``blind`` it is how many waiting
    outputs the last resume forgave. ``resumed_at`` is when the rule last started anew."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="breakers")
    rule = models.CharField(max_length=16)
    steps = models.PositiveIntegerField(default=0)
    excess = models.PositiveIntegerField(default=0)
    resumed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["batch", "rule"]
        constraints = [models.UniqueConstraint(fields=["batch", "rule"], name="breaker_once_per_rule")]

    def __str__(self) -> str:
        return f"{self.rule} of batch {self.batch_id}"


class BreakerStep(models.Model):
    """What moved a counter, in order: a finished run, a grade, or a person's resume. Append-only; an undone grade is marked.

    The counter is always the fold over the steps that are not undone.
    """

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="breaker_steps")
    rule = models.CharField(max_length=16)
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=[("finished", "finished"), ("graded", "graded"), ("resumed", "resumed")])
    run = models.ForeignKey("runs.Run", null=True, on_delete=models.PROTECT, related_name="+")
    is_bad = models.BooleanField(default=False)
    excess = models.PositiveIntegerField(help_text="After this step, in hundredths of a record.")
    undone = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        ordering = ["batch", "rule", "number"]
        constraints = [models.UniqueConstraint(fields=["batch", "rule", "number"], name="breaker_step_number_once")]

    def __str__(self) -> str:
        return f"{self.rule} step {self.number} of batch {self.batch_id}"


class Delivery(models.Model):
    """Telling one person, or the webhook, about one pause: on the page, by mail, or over HTTP; and what became of it."""

    pause = models.ForeignKey(Pause, on_delete=models.PROTECT, related_name="deliveries")
    channel = models.CharField(max_length=8, choices=[("page", "On the page"), ("mail", "Mail"), ("webhook", "Webhook")])
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    address = models.CharField(max_length=320, blank=True)
    status = models.CharField(
        max_length=8,
        default="waiting",
        choices=[("waiting", "Not sent yet"), ("sent", "Sent"), ("failed", "Failed"), ("seen", "Seen")],
    )
    detail = models.CharField(max_length=200, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["pause", "channel", "user"], name="pause_told_once_per_channel"),
        ]

    def __str__(self) -> str:
        return f"{self.channel} for pause {self.pause_id}"


class EndpointState(models.Model):
    """The breaker of one endpoint alias: apart from every batch, since an endpoint that is down says nothing about outputs.

    See ``controller.endpoint_breaker``: ``state`` is closed, open or half_open; until ``until`` nothing (more) is sent.
    """

    alias = models.CharField(max_length=64, primary_key=True)
    state = models.CharField(max_length=16, default="closed")
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    opened = models.PositiveIntegerField(default=0, help_text="Times in a row that it opened.")
    until = models.DateTimeField(null=True, blank=True)
    last_fault = models.CharField(max_length=32, blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["alias"]

    def __str__(self) -> str:
        return f"endpoint {self.alias}: {self.state}"
