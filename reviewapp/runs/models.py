"""Runs: one record under one envelope version, its attempts, its one outcome, and its history."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from controller.machine import RunStatus

LIVE = [RunStatus.READY.value, RunStatus.WAITING.value, RunStatus.CALLING.value, RunStatus.FALLING_BACK.value]
ENDED = [RunStatus.ACCEPTED.value, RunStatus.DEAD_LETTERED.value]


class Run(models.Model):
    """One record's way through the machine. ``state`` is the machine's own state as JSON; the other columns are read from it.

    A worker holds a run by ``lease_until`` and ``fence``: each claim raises the fence, and every write names the fence that
    it was claimed with, so a worker that lost its lease can write nothing.
    """

    record = models.ForeignKey("batches.Record", on_delete=models.PROTECT, related_name="runs")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="runs")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="runs")
    replay = models.PositiveSmallIntegerField(default=0, help_text="0 for the first run of a record, then counts requeues.")
    status = models.CharField(max_length=16, default=RunStatus.READY.value)
    state = models.TextField()
    not_before = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)

    attempts = models.PositiveSmallIntegerField(default=0)
    calls = models.PositiveSmallIntegerField(default=0)
    accepted_on = models.PositiveSmallIntegerField(null=True, blank=True, help_text="The attempt that was accepted.")
    fallback = models.CharField(max_length=64, blank=True, help_text="The fallback that decided the outcome.")
    fuse = models.CharField(max_length=32, blank=True)
    final_class = models.CharField(max_length=32, blank=True)
    tokens_counted = models.PositiveIntegerField(default=0)
    tokens_reported = models.PositiveIntegerField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["record", "replay"], name="run_once_per_replay"),
            models.CheckConstraint(condition=Q(status__in=LIVE + ENDED), name="run_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=ENDED, ended_at__isnull=False) | Q(status__in=LIVE, ended_at__isnull=True),
                name="run_ended_has_time",
            ),
            models.CheckConstraint(condition=Q(calls__gte=F("attempts")), name="run_attempts_are_calls"),
        ]
        indexes = [
            models.Index(fields=["batch", "status", "id"], name="run_batch_status"),
            models.Index(fields=["id"], condition=Q(status__in=LIVE), name="run_live"),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.pk])

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


class AttemptStatus(models.TextChoices):
    STARTED = "started", "Started"
    REPLIED = "replied", "Replied"
    FAILED = "failed", "Failed"
    LOST = "lost", "Lost"


class Attempt(models.Model):
    """One model call, written before the call is made; it counts even if its worker dies."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls_made")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=16)
    plan = models.CharField(max_length=64, blank=True)
    alias = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=AttemptStatus.choices, default=AttemptStatus.STARTED)
    fence = models.PositiveIntegerField()
    request_sha256 = models.CharField(max_length=64)
    prompt_tokens_counted = models.PositiveIntegerField()
    prompt_tokens_reported = models.PositiveIntegerField(null=True, blank=True)
    output_tokens_reported = models.PositiveIntegerField(null=True, blank=True)
    over_cap = models.BooleanField(default=False, help_text="The endpoint reported more tokens than were allowed: an alarm.")
    finish = models.CharField(max_length=32, blank=True)
    fault = models.CharField(max_length=32, blank=True)
    final_class = models.CharField(max_length=32, blank=True)
    passed = models.BooleanField(default=False)
    violations = models.PositiveSmallIntegerField(default=0)
    model_name = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["run", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="attempt_number_once")]

    def __str__(self) -> str:
        return f"attempt {self.number} of run {self.run_id}"


class AttemptPayload(models.Model):
    """What was asked and what came back, apart from the rows that lists read.

    ``prompt`` is a JSON list of blocks ``{"name", "role", "text", "tokens", "cap"}``; the document block has no text: it is the
    record's own. ``directives`` is a JSON list of texts, ``report`` the JSON of the findings.
    """

    attempt = models.OneToOneField(Attempt, on_delete=models.PROTECT, primary_key=True, related_name="payload")
    prompt = models.TextField()
    directives = models.TextField(default="[]")
    reply = models.TextField(blank=True)
    report = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"payload of attempt {self.attempt_id}"


class Outcome(models.Model):
    """The one terminal outcome of a run: the primary key is the run, so there can be no second."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="outcome")
    kind = models.CharField(max_length=16)
    result = models.TextField(help_text="The stable result object as JSON.")
    value = models.TextField(blank=True, help_text="The accepted value, or the best attempt's, as exact JSON.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(kind__in=ENDED), name="outcome_kind_known")]

    def __str__(self) -> str:
        return f"{self.kind} run {self.run_id}"


class Event(models.Model):
    """A step of a run: which status it left, which it reached, and why."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=32)
    from_status = models.CharField(max_length=16)
    to_status = models.CharField(max_length=16)
    why = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["run", "id"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.from_status} → {self.to_status}"


class Worker(models.Model):
    """A process that works runs, known by its heartbeat: readiness is this row, not a process id."""

    name = models.CharField(max_length=100, unique=True)
    threads = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, blank=True)
    finished = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-heartbeat_at"]

    def __str__(self) -> str:
        return self.name
