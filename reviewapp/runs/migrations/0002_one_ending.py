"""A run ends once; its outcome is never changed."""

from django.db import migrations

from reviewapp.guards import Guard, install


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        install(
            Guard(
                "run_ends_once",
                "runs_run",
                "UPDATE",
                "OLD.status IN ('accepted', 'dead_lettered') AND (NEW.status <> OLD.status OR NEW.state <> OLD.state)",
                "a run that has ended does not change",
            ),
            Guard(
                "run_never_deleted",
                "runs_run",
                "DELETE",
                "OLD.status IN ('accepted', 'dead_lettered')",
                "a run that has ended is never deleted",
            ),
            Guard(
                "outcome_only_purged",
                "runs_outcome",
                "UPDATE",
                "NEW.kind <> OLD.kind OR NEW.result <> OLD.result OR (NEW.value <> OLD.value AND NEW.value <> '')",
                "an outcome is never changed, its value only purged",
            ),
            Guard(
                "outcome_never_deleted",
                "runs_outcome",
                "DELETE",
                "OLD.run_id = OLD.run_id",
                "outcomes are never deleted",
            ),
        ),
    ]
