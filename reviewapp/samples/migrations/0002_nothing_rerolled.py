"""What was drawn stays drawn: seeds, strata, places and rates never change. A grade that was given is only ever taken back."""

from django.db import migrations

from reviewapp.guards import Guard, install

NEVER = "OLD.batch_id = OLD.batch_id"


class Migration(migrations.Migration):
    dependencies = [("samples", "0001_initial")]

    operations = [
        install(
            Guard(
                "seed_fixed",
                "samples_batchseed",
                "UPDATE",
                "NEW.sealed <> OLD.sealed OR NEW.commitment <> OLD.commitment "
                "OR (OLD.disclosed <> '' AND NEW.disclosed <> OLD.disclosed)",
                "the seed of a batch never changes",
            ),
            Guard("seed_kept", "samples_batchseed", "DELETE", NEVER, "the seed of a batch is never deleted"),
            Guard("epoch_fixed", "samples_epoch", "UPDATE", NEVER, "a sampling plan is never changed: a new epoch begins"),
            Guard("epoch_kept", "samples_epoch", "DELETE", NEVER, "a sampling plan is never deleted"),
            Guard("frame_fixed", "samples_accepted", "UPDATE", NEVER, "the frame of a draw never changes"),
            Guard("frame_kept", "samples_accepted", "DELETE", NEVER, "the frame of a draw never loses an output"),
            Guard(
                "sample_fixed",
                "samples_sample",
                "UPDATE",
                "NEW.run_id <> OLD.run_id OR NEW.batch_id <> OLD.batch_id OR NEW.version_id <> OLD.version_id "
                "OR NEW.epoch <> OLD.epoch OR NEW.stratum <> OLD.stratum OR NEW.place <> OLD.place "
                "OR NEW.rate_ppm <> OLD.rate_ppm OR NEW.in_base <> OLD.in_base OR NEW.topped_up <> OLD.topped_up "
                "OR NEW.seats <> OLD.seats",
                "a draw is never rolled again",
            ),
            Guard("sample_kept", "samples_sample", "DELETE", NEVER, "a sampled output stays in the sample"),
            Guard(
                "grade_given",
                "samples_grade",
                "UPDATE",
                "OLD.status IN ('done', 'skipped', 'undone') AND (NEW.marks <> OLD.marks OR NEW.verdict <> OLD.verdict "
                "OR NEW.grader_id <> OLD.grader_id OR NEW.comment <> OLD.comment "
                "OR (NEW.status <> OLD.status AND NEW.status <> 'undone'))",
                "a grade that was given is only ever taken back",
            ),
            Guard(
                "grade_kept",
                "samples_grade",
                "DELETE",
                "OLD.status <> 'draft'",
                "a grade that was given is never deleted",
            ),
        ),
    ]
