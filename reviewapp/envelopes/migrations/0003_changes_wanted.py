"""A review can also end with changes wanted. The guards are put back, since SQLite loses them when it alters a table."""

from django.db import migrations, models

from reviewapp.guards import Guard, reinstate

BEFORE = (
    Guard(
        "version_content_frozen",
        "envelopes_version",
        "UPDATE",
        "OLD.status <> 'draft' AND (NEW.source IS DISTINCT FROM OLD.source OR NEW.canonical IS DISTINCT FROM OLD.canonical OR NEW.digest IS DISTINCT FROM OLD.digest OR NEW.number IS DISTINCT FROM OLD.number OR NEW.envelope_id IS DISTINCT FROM OLD.envelope_id OR NEW.author_id IS DISTINCT FROM OLD.author_id OR NEW.based_on_id IS DISTINCT FROM OLD.based_on_id)",
        "the content of a version is frozen once it is not a draft",
    ),
    Guard(
        "version_never_draft_again",
        "envelopes_version",
        "UPDATE",
        "OLD.status <> 'draft' AND NEW.status = 'draft'",
        "a version never becomes a draft again",
    ),
    Guard(
        "version_end_is_final",
        "envelopes_version",
        "UPDATE",
        "OLD.status IN ('retired', 'rejected', 'withdrawn') AND NEW.status <> OLD.status",
        "a retired, rejected or withdrawn version stays so",
    ),
    Guard(
        "version_not_deleted",
        "envelopes_version",
        "DELETE",
        "OLD.status <> 'draft'",
        "only drafts can be deleted",
    ),
)
AFTER = (
    Guard(
        "version_content_frozen",
        "envelopes_version",
        "UPDATE",
        "OLD.status <> 'draft' AND (NEW.source IS DISTINCT FROM OLD.source OR NEW.canonical IS DISTINCT FROM OLD.canonical OR NEW.digest IS DISTINCT FROM OLD.digest OR NEW.number IS DISTINCT FROM OLD.number OR NEW.envelope_id IS DISTINCT FROM OLD.envelope_id OR NEW.author_id IS DISTINCT FROM OLD.author_id OR NEW.based_on_id IS DISTINCT FROM OLD.based_on_id)",
        "the content of a version is frozen once it is not a draft",
    ),
    Guard(
        "version_never_draft_again",
        "envelopes_version",
        "UPDATE",
        "OLD.status <> 'draft' AND NEW.status = 'draft'",
        "a version never becomes a draft again",
    ),
    Guard(
        "version_end_is_final",
        "envelopes_version",
        "UPDATE",
        "OLD.status IN ('retired', 'rejected', 'withdrawn', 'changes_wanted') AND NEW.status <> OLD.status",
        "a version that ended stays so",
    ),
    Guard(
        "version_not_deleted",
        "envelopes_version",
        "DELETE",
        "OLD.status <> 'draft'",
        "only drafts can be deleted",
    ),
)
STATUSES = [
    ("draft", "Draft"),
    ("in_review", "In review"),
    ("approved", "Approved"),
    ("retired", "Retired"),
    ("rejected", "Rejected"),
    ("withdrawn", "Withdrawn"),
    ("changes_wanted", "Changes wanted"),
]


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0002_frozen_content")]

    operations = [
        reinstate(*BEFORE, forwards=False),
        migrations.RemoveConstraint(model_name="version", name="version_status_known"),
        migrations.AlterField(
            model_name="version",
            name="status",
            field=models.CharField(choices=STATUSES, default="draft", max_length=16),
        ),
        migrations.AddConstraint(
            model_name="version",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", [value for value, _ in STATUSES])), name="version_status_known"
            ),
        ),
        reinstate(*AFTER),
    ]
