from django.conf import settings
from django.db import migrations, models

PROTECT, CASCADE = models.PROTECT, models.CASCADE
USER = settings.AUTH_USER_MODEL


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0006_set_aside"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.ForeignKey(on_delete=PROTECT, related_name="notices", to="envelopes.version")),
                ("text", models.CharField(max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "times",
                    models.PositiveIntegerField(default=1, help_text="How often it happened while nobody had seen to it."),
                ),
                ("seen_by", models.ForeignKey(blank=True, null=True, on_delete=PROTECT, related_name="+", to=USER)),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("seen_at", None)), fields=("version", "text"), name="notice_once_until_seen"
                    ),
                ],
            },
        ),
    ]
