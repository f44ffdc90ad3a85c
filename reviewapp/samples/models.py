"""Samples of accepted outputs: who was drawn, by which committed seed, and what people said about them.

A grade never changes an output. What was drawn is never drawn again: places, strata and rates are fixed by trigger.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q

from controller.draw import Stratum

HALF = 2**63
"""Places are 0 .. 2**64 - 1; the databases' whole numbers are signed, so a place is stored less this."""


class BatchSeed(models.Model):
    """A batch's secret seed, sealed with a key that is not in the database; in the clear once the batch is closed.

    Apart from the batch, so that no query over batches or runs brings it along.
    """

    batch = models.OneToOneField("batches.Batch", on_delete=models.PROTECT, primary_key=True, related_name="seed")
    sealed = models.TextField()
    commitment = models.CharField(max_length=64)
    opened_at = models.DateTimeField()
    disclosed = models.CharField(max_length=64, blank=True, help_text="The seed in hex, once the batch is closed.")
    disclosed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"seed of batch {self.batch_id}"


class Epoch(models.Model):
    """The sampling plan of a batch from some moment on. ``plan`` is the canonical JSON that the commitment covers."""

    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="epochs")
    number = models.PositiveSmallIntegerField()
    plan = models.TextField()
    began_at = models.DateTimeField()

    class Meta:
        ordering = ["batch", "number"]
        constraints = [models.UniqueConstraint(fields=["batch", "number"], name="epoch_number_once")]

    def __str__(self) -> str:
        return f"epoch {self.number} of batch {self.batch_id}"


class Accepted(models.Model):
    """An accepted output in the frame of the draw: its stratum and epoch, frozen in the transaction that accepted it."""

    run = models.OneToOneField("runs.Run", on_delete=models.PROTECT, primary_key=True, related_name="in_frame")
    record = models.OneToOneField("batches.Record", on_delete=models.PROTECT, related_name="+")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    epoch = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=16, choices=[(s.value, s.value.replace("_", " ")) for s in Stratum])
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "accepted"
        indexes = [models.Index(fields=["batch", "epoch", "stratum"], name="accepted_cell")]

    def __str__(self) -> str:
        return f"accepted run {self.run_id}"


class SampleStatus(models.TextChoices):
    WAITING = "waiting", "Waiting for a grade"
    DISPUTED = "disputed", "Graders differ"
    SETTLED = "settled", "Graded"


class Verdict(models.TextChoices):
    RIGHT = "right", "Right"
    WRONG = "wrong", "Wrong"
    CANNOT_JUDGE = "cannot_judge", "Cannot be judged"


class Sample(models.Model):
    """A drawn output. ``rate_ppm`` is its design probability; ``verdict`` and the two graders' verdicts come later."""

    run = models.OneToOneField("runs.Run", on_delete=models.PROTECT, primary_key=True, related_name="sample")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="samples")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="+")
    epoch = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=16)
    place = models.BigIntegerField(help_text="u less 2**63.")
    rate_ppm = models.PositiveIntegerField()
    in_base = models.BooleanField()
    topped_up = models.BooleanField(default=False)
    seats = models.PositiveSmallIntegerField(help_text="How many people grade it, each without seeing the other.")
    accepted_at = models.DateTimeField()
    drawn_at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=SampleStatus.choices, default=SampleStatus.WAITING)
    verdict = models.CharField(max_length=16, choices=Verdict.choices, blank=True)
    first_verdict = models.CharField(max_length=16, choices=Verdict.choices, blank=True)
    second_verdict = models.CharField(max_length=16, choices=Verdict.choices, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=SampleStatus.values), name="sample_status_known"),
            models.CheckConstraint(
                condition=(Q(status="settled") & ~Q(verdict="")) | (~Q(status="settled") & Q(verdict="")),
                name="sample_settled_has_verdict",
            ),
        ]
        indexes = [
            models.Index(fields=["batch", "status", "drawn_at"], name="sample_waiting"),
            models.Index(fields=["envelope", "status"], name="sample_envelope"),
            models.Index(fields=["version", "status"], name="sample_version"),
            models.Index(fields=["version", "verdict"], name="sample_verdict", condition=Q(verdict="wrong")),
        ]

    def __str__(self) -> str:
        return f"sample {self.run_id}"

    @property
    def u(self) -> int:
        """The place in 0 .. 2**64 - 1."""
        return self.place + HALF


class GoldItem(models.Model):
    """An output with a known answer, graded among the others and never counted in a rate.

    ``value`` is what the grader sees: the output of ``run``, for a known-wrong item with one field altered. ``answer`` is the
    known verdict, ``altered`` the pointer of the field and ``truth`` what it said before.
    """

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="+")
    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="+")
    value = models.TextField()
    answer = models.CharField(max_length=16, choices=[("right", "Right"), ("wrong", "Wrong")])
    altered = models.CharField(max_length=300, blank=True)
    truth = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "answer"], name="gold_once_per_run_and_answer")]

    def __str__(self) -> str:
        return f"gold item {self.pk}"


def _token() -> str:
    return secrets.token_urlsafe(12)


class TaskKind(models.TextChoices):
    GRADE = "grade", "Grade"
    ADJUDICATE = "adjudicate", "Adjudicate"


class Task(models.Model):
    """One seat in the grading queue. ``token`` names it in URLs: it tells nothing, neither order nor origin.

    ``order_place`` is the committed random order (u of purpose "order", less 2**63). A person holds a seat by lease;
    ``fence`` rises with every claim, so that a late answer over a lost lease is refused.
    """

    token = models.CharField(max_length=24, unique=True, default=_token)
    kind = models.CharField(max_length=16, choices=TaskKind.choices, default=TaskKind.GRADE)
    sample = models.ForeignKey(Sample, null=True, on_delete=models.PROTECT, related_name="tasks")
    gold = models.ForeignKey(GoldItem, null=True, on_delete=models.PROTECT, related_name="tasks")
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="+")
    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="+")
    seat = models.PositiveSmallIntegerField(default=1)
    order_place = models.BigIntegerField()
    is_open = models.BooleanField(default=True)
    holder = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(sample__isnull=False, gold__isnull=True) | Q(sample__isnull=True, gold__isnull=False),
                name="task_has_one_subject",
            ),
            models.UniqueConstraint(fields=["sample", "kind", "seat"], name="task_seat_once"),
        ]
        indexes = [
            models.Index(fields=["kind", "order_place"], condition=Q(is_open=True), name="task_open_in_order"),
            models.Index(fields=["envelope", "kind", "order_place"], condition=Q(is_open=True), name="task_open_of_envelope"),
            models.Index(fields=["holder"], condition=Q(is_open=True), name="task_held"),
        ]

    def __str__(self) -> str:
        return f"task {self.token}"


class GradeStatus(models.TextChoices):
    DRAFT = "draft", "Draft"
    DONE = "done", "Done"
    SKIPPED = "skipped", "Skipped"
    UNDONE = "undone", "Taken back"


class Grade(models.Model):
    """One person's marks on one output. Once done it only ever changes to taken back; what counts is a new row.

    ``marks`` is a JSON object, field pointer → ``{"mark", "type", "value"}``. ``active_ms`` is the time worked on it.
    """

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="grades")
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="+", help_text="Nobody grades one output twice.")
    grader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=16, choices=GradeStatus.choices, default=GradeStatus.DRAFT)
    marks = models.TextField(default="{}")
    comment = models.TextField(blank=True)
    verdict = models.CharField(max_length=16, choices=Verdict.choices, blank=True)
    skip_reason = models.CharField(max_length=300, blank=True)
    active_ms = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "grader"], condition=~Q(status="undone"), name="grade_once_per_person_and_task"
            ),
        ]
        indexes = [
            models.Index(fields=["grader", "-done_at"], name="grade_of_person"),
            models.Index(fields=["run", "grader"], name="grade_of_run"),
        ]

    def __str__(self) -> str:
        return f"grade {self.pk}"


class CorrectionRequest(models.Model):
    """A wish to have a delivered output put right, after a grade found it wrong: an act of its own, decided by an owner."""

    sample = models.OneToOneField(Sample, on_delete=models.PROTECT, related_name="correction_request")
    fields = models.TextField(help_text="JSON: pointer → the right value as the grader gave it.")
    why = models.CharField(max_length=500)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    status = models.CharField(
        max_length=16, default="open", choices=[("open", "Open"), ("taken", "Taken up"), ("refused", "Refused")]
    )
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    decided_why = models.CharField(max_length=500, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"correction request for run {self.sample_id}"
