"""An approval can carry its approver's passkey assertion; an envelope can require one."""

from django.db import migrations, models

from reviewapp.guards import Guard, reinstate

APPROVALS = (
    Guard(
        "approval_never_updated",
        "envelopes_approval",
        "UPDATE",
        "OLD.id = OLD.id",
        "approvals are never updated",
    ),
    Guard(
        "approval_never_deleted",
        "envelopes_approval",
        "DELETE",
        "OLD.id = OLD.id",
        "approvals are never deleted",
    ),
)


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0003_changes_wanted")]

    operations = [
        reinstate(*APPROVALS, forwards=False),
        migrations.AddField(
            model_name="envelope",
            name="require_passkey",
            field=models.BooleanField(default=False, help_text="Whether every approval needs its approver's passkey."),
        ),
        migrations.AddField(
            model_name="approval",
            name="passkey",
            field=models.TextField(
                blank=True, default="", help_text="The approver's WebAuthn assertion over the statement, as JSON, or empty."
            ),
            preserve_default=False,
        ),
        reinstate(*APPROVALS),
    ]
