"""Audit entries are never updated or deleted."""

from django.db import migrations

from reviewapp.guards import Guard, install


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        install(
            Guard(
                "audit_never_updated",
                "audit_entry",
                "UPDATE",
                "OLD.id = OLD.id",
                "audit entries are never updated",
            ),
            Guard(
                "audit_never_deleted",
                "audit_entry",
                "DELETE",
                "OLD.id = OLD.id",
                "audit entries are never deleted",
            ),
        ),
    ]
