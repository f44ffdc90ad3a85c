"""A record's id and document never change; a payload may only be purged."""

from django.db import migrations

from reviewapp.guards import Guard, install


class Migration(migrations.Migration):
    dependencies = [("batches", "0001_initial")]

    operations = [
        install(
            Guard(
                "record_identity_fixed",
                "batches_record",
                "UPDATE",
                "NEW.key <> OLD.key OR NEW.batch_id <> OLD.batch_id OR NEW.document_sha256 <> OLD.document_sha256",
                "the id and document of a record are fixed at submission",
            ),
            Guard(
                "payload_only_purged",
                "batches_recordpayload",
                "UPDATE",
                "NEW.document <> OLD.document AND NEW.document <> ''",
                "a document is never changed, only purged",
            ),
        ),
    ]
