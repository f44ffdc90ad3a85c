"""What moved a counter stays as it was: only an undone grade is marked so. A pause that was lifted stays lifted."""

from django.db import migrations

from reviewapp.guards import Guard, install


class Migration(migrations.Migration):
    dependencies = [("batches", "0003_breaker")]

    operations = [
        install(
            Guard(
                "breaker_step_fixed",
                "batches_breakerstep",
                "UPDATE",
                "NEW.batch_id <> OLD.batch_id OR NEW.rule <> OLD.rule OR NEW.number <> OLD.number OR NEW.kind <> OLD.kind "
                "OR NEW.run_id IS DISTINCT FROM OLD.run_id OR NEW.is_bad <> OLD.is_bad OR NEW.excess <> OLD.excess",
                "the steps of a breaker are never changed",
            ),
            Guard(
                "breaker_step_kept",
                "batches_breakerstep",
                "DELETE",
                "OLD.id = OLD.id",
                "the steps of a breaker are never deleted",
            ),
            Guard(
                "pause_ends_once",
                "batches_pause",
                "UPDATE",
                "OLD.resumed_at IS NOT NULL OR NEW.rule <> OLD.rule OR NEW.why <> OLD.why OR NEW.at <> OLD.at",
                "a pause stays as it was, and ends once",
            ),
            Guard("pause_kept", "batches_pause", "DELETE", "OLD.id = OLD.id", "pauses are never deleted"),
        ),
    ]
