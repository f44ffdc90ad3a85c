"""How the queue of an envelope is run, who can do what kind of work, saved views, the search index, and minutes spent."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from reviewapp.deadletters.models.letter import DeadLetter


class QueuePolicy(models.Model):
    """Set by an owner or manager of the envelope; without a row the defaults hold."""

    envelope = models.OneToOneField("envelopes.Envelope", on_delete=models.CASCADE, related_name="queue_policy")
    lease_minutes = models.PositiveSmallIntegerField(default=10)
    leases_per_person = models.PositiveSmallIntegerField(default=5)
    due_hours = models.PositiveSmallIntegerField(default=24, help_text="When a letter is due after it arrived.")
    undo_seconds = models.PositiveIntegerField(default=60, help_text="How long effects wait, so that they can be taken back.")
    replays = models.PositiveSmallIntegerField(default=3, help_text="Requeues after which a record is quarantined.")

    class Meta:
        verbose_name_plural = "queue policies"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(lease_minutes__gte=1, leases_per_person__gte=1, due_hours__gte=1),
                name="queue_policy_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"queue of {self.envelope_id}"


class Skill(models.Model):
    """What kind of groups a person is given beside those that ask for no skill."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="skills")
    name = models.CharField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="skill_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.name}"


class SavedView(models.Model):
    """A filter by name. Personal unless its owner shares it; nobody else ever changes it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    query = models.TextField(blank=True, help_text="The filter as a query string in its canonical order.")
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name_once")]

    def __str__(self) -> str:
        return self.name


class SearchEntry(models.Model):
    """Says that a letter's words are in the full-text index: a tsvector column of this table on PostgreSQL, an FTS5 table with
    the same row ids on SQLite. A migration makes both; ``reviewapp.deadletters.search`` writes and reads them."""

    letter = models.OneToOneField(DeadLetter, on_delete=models.CASCADE, primary_key=True, related_name="+")

    class Meta:
        verbose_name_plural = "search entries"

    def __str__(self) -> str:
        return f"words of {self.letter_id}"


class BatchEffort(models.Model):
    """Minutes that people spend on a batch's dead letters, and the cap that an owner set beforehand (empty: none)."""

    batch = models.OneToOneField("batches.Batch", on_delete=models.CASCADE, related_name="effort")
    cap_minutes = models.PositiveIntegerField(null=True, blank=True)
    spent_ms = models.PositiveBigIntegerField(default=0)
    warned_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"effort of batch {self.batch_id}"
