from django.conf import settings
from django.db import migrations, models

PROTECT, CASCADE = models.PROTECT, models.CASCADE
USER = settings.AUTH_USER_MODEL


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0004_passkeys"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.ForeignKey(on_delete=PROTECT, related_name="comments", to="envelopes.version")),
                (
                    "line",
                    models.PositiveIntegerField(
                        default=0, help_text="A line of the source, counted from 1; 0 is the whole text."
                    ),
                ),
                ("text", models.TextField()),
                ("author", models.ForeignKey(on_delete=PROTECT, related_name="+", to=USER)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("resolved_by", models.ForeignKey(blank=True, null=True, on_delete=PROTECT, related_name="+", to=USER)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["line", "id"],
                "constraints": [
                    models.CheckConstraint(condition=~models.Q(("text", "")), name="comment_not_empty"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("resolved_at", None), ("resolved_by", None)),
                            models.Q(("resolved_at__isnull", False), ("resolved_by__isnull", False)),
                            _connector="OR",
                        ),
                        name="comment_resolved_by_someone",
                    ),
                ],
            },
        ),
    ]
