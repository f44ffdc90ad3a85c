"""Letters from before there were groups get theirs; search entries follow when a letter is next written."""

from typing import Any

from django.db import migrations
from django.db.models import Count, F, Max, Min, OuterRef, Q, Subquery


def group(apps: Any, editor: Any) -> None:
    Letter = apps.get_model("deadletters", "DeadLetter")
    Group = apps.get_model("deadletters", "FailureGroup")
    GroupVersion = apps.get_model("deadletters", "GroupVersion")
    Run = apps.get_model("runs", "Run")
    run = Run.objects.filter(pk=OuterRef("run_id"))
    Letter.objects.filter(version=None).update(
        version=Subquery(run.values("version_id")[:1]), replay=Subquery(run.values("replay")[:1])
    )
    Letter.objects.filter(status="open", waiting_since=None).update(waiting_since=F("created_at"))
    alike = Letter.objects.filter(group=None).order_by().values("envelope_id", "signature")
    for row in alike.annotate(first=Min("created_at"), last=Max("created_at"), one=Min("pk")):
        letters = Letter.objects.filter(envelope_id=row["envelope_id"], signature=row["signature"])
        one = letters.get(pk=row["one"])
        counts = letters.aggregate(
            n_open=Count("pk", filter=Q(status="open")),
            n_resolved=Count("pk", filter=Q(status="resolved")),
            oldest_waiting=Min("waiting_since"),
        )
        made = Group.objects.create(
            envelope_id=row["envelope_id"],
            signature=row["signature"],
            title=one.failing,
            fuse=one.fuse,
            final_class=one.final_class,
            samples=list(letters.order_by("pk").values_list("pk", flat=True)[:3]),
            first_seen=row["first"],
            last_seen=row["last"],
            **counts,
        )
        for version in letters.order_by().values("version_id").annotate(n=Count("pk")):
            GroupVersion.objects.create(group=made, version_id=version["version_id"], arrived=version["n"])
        letters.update(group=made)


class Migration(migrations.Migration):
    dependencies = [("deadletters", "0003_search_index")]

    operations = [migrations.RunPython(group, migrations.RunPython.noop)]
