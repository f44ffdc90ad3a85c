from django.conf import settings
from django.db import migrations, models

PROTECT, CASCADE = models.PROTECT, models.CASCADE
USER = settings.AUTH_USER_MODEL


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0007_notice"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Effort",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.ForeignKey(on_delete=CASCADE, related_name="efforts", to="envelopes.version")),
                ("person", models.ForeignKey(on_delete=PROTECT, related_name="+", to=USER)),
                ("kind", models.CharField(choices=[("authoring", "Authoring"), ("reviewing", "Reviewing")], max_length=16)),
                ("seconds", models.PositiveIntegerField(default=0)),
                ("beat_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["version", "kind", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("version", "person", "kind"), name="effort_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["authoring", "reviewing"])), name="effort_kind_known"
                    ),
                ],
            },
        ),
    ]
