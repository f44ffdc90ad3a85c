"""Counts that the quality pages read, kept with every acceptance, draw and grade; ``rebuild_rollups`` makes them anew.

Nothing here is a source: every count can be told again from runs, samples and grades.
"""

from __future__ import annotations

from django.db import models


class Kind(models.TextChoices):
    """Which part of a cell a row counts. The three kinds of sampled outputs exclude each other."""

    FRAME = "frame", "Accepted outputs"
    BASE = "base", "Sampled below the base rate"
    DESIGN = "design", "Sampled by the stratum's higher rate"
    TOP_UP = "top_up", "Sampled by the minimum at closing"


class SampleTally(models.Model):
    """One cell (batch, epoch, stratum) in one week of acceptance. ``accepted`` is counted in rows of kind ``frame`` only."""

    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="+")
    epoch = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=16)
    rate_ppm = models.PositiveIntegerField()
    week = models.DateField(help_text="The Monday of the week of acceptance.")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    accepted = models.PositiveIntegerField(default=0)
    sampled = models.PositiveIntegerField(default=0)
    right = models.PositiveIntegerField(default=0)
    wrong = models.PositiveIntegerField(default=0)
    cannot_judge = models.PositiveIntegerField(default=0)

    KEY = ("envelope_id", "version_id", "batch_id", "epoch", "stratum", "rate_ppm", "week", "kind")
    COUNTS = ("accepted", "sampled", "right", "wrong", "cannot_judge")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "version", "epoch", "stratum", "week", "kind", "envelope", "rate_ppm"],
                name="sample_tally_once",
            )
        ]
        indexes = [models.Index(fields=["envelope", "version"], name="sample_tally_envelope")]

    def __str__(self) -> str:
        return f"{self.kind} of batch {self.batch_id}, {self.stratum}, {self.week}"


class FieldTally(models.Model):
    """One field over the graded outputs of one version and batch in which it applies. ``is_base``: the base sample alone."""

    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="+")
    field = models.CharField(max_length=300, help_text="A pointer with * for every index: /items/*/price.")
    is_base = models.BooleanField()
    right = models.PositiveIntegerField(default=0)
    wrong = models.PositiveIntegerField(default=0)
    cannot_judge = models.PositiveIntegerField(default=0)

    KEY = ("envelope_id", "version_id", "batch_id", "field", "is_base")
    COUNTS = ("right", "wrong", "cannot_judge")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "version", "field", "is_base", "envelope"], name="field_tally_once")
        ]
        indexes = [models.Index(fields=["envelope", "version"], name="field_tally_envelope")]

    def __str__(self) -> str:
        return f"{self.field} of batch {self.batch_id}"


class RunTally(models.Model):
    """Finished runs of one version and batch in one week by what ended them.

    ``way`` is attempt, fallback or dead; ``detail`` the attempt's number, the fallback's id, or the fuse (the fallback that
    handed the record on where no fuse did). Calls, tokens (as counted) and milliseconds are sums.
    """

    envelope = models.ForeignKey("envelopes.Envelope", on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey("envelopes.Version", on_delete=models.PROTECT, related_name="+")
    batch = models.ForeignKey("batches.Batch", on_delete=models.PROTECT, related_name="+")
    week = models.DateField()
    way = models.CharField(max_length=8, choices=[("attempt", "attempt"), ("fallback", "fallback"), ("dead", "dead")])
    detail = models.CharField(max_length=64)
    runs = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    duration_ms = models.PositiveBigIntegerField(default=0)

    KEY = ("envelope_id", "version_id", "batch_id", "week", "way", "detail")
    COUNTS = ("runs", "calls", "tokens", "duration_ms")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "version", "week", "way", "detail", "envelope"], name="run_tally_once")
        ]
        indexes = [models.Index(fields=["envelope", "version"], name="run_tally_envelope")]

    def __str__(self) -> str:
        return f"{self.way} {self.detail} of batch {self.batch_id}, {self.week}"


class GradingTime(models.Model):
    """Grades and the active time they took, per envelope: what "minutes for so many grades" is worked out from."""

    envelope = models.OneToOneField("envelopes.Envelope", on_delete=models.PROTECT, primary_key=True, related_name="+")
    grades = models.PositiveIntegerField(default=0)
    active_ms = models.PositiveBigIntegerField(default=0)

    KEY = ("envelope_id",)
    COUNTS = ("grades", "active_ms")

    def __str__(self) -> str:
        return f"grading time of envelope {self.envelope_id}"
