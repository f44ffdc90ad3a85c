"""The content of a version is immutable from in review on; approvals are never changed."""

from django.db import migrations

from reviewapp.guards import Guard, install


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0001_initial")]

    operations = [
        install(
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
        ),
    ]
