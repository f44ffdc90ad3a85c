from django.conf import settings
from django.db import migrations, models

PROTECT, CASCADE = models.PROTECT, models.CASCADE
USER = settings.AUTH_USER_MODEL


class Migration(migrations.Migration):
    dependencies = [
        ("envelopes", "0008_effort"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("runs", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="ShadowRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.ForeignKey(on_delete=PROTECT, related_name="shadow_runs", to="envelopes.version")),
                ("against", models.ForeignKey(on_delete=PROTECT, related_name="+", to="envelopes.version")),
                ("canonical", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                (
                    "status",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("running", "Running"), ("done", "Done"), ("stopped", "Stopped")],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("started_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=USER)),
                ("max_calls", models.PositiveIntegerField()),
                ("max_tokens", models.PositiveBigIntegerField()),
                ("note", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["waiting", "running", "done", "stopped"])),
                        name="shadow_status_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ShadowResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("shadow", models.ForeignKey(on_delete=CASCADE, related_name="results", to="envelopes.shadowrun")),
                ("run", models.ForeignKey(on_delete=PROTECT, related_name="+", to="runs.run")),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("fence", models.PositiveIntegerField(default=0)),
                (
                    "outcome",
                    models.CharField(
                        blank=True, help_text="accepted, dead_lettered, not_run, or empty until it ended.", max_length=16
                    ),
                ),
                ("change", models.CharField(blank=True, max_length=16)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("final_class", models.CharField(blank=True, max_length=32)),
                ("failing", models.CharField(blank=True, max_length=500)),
                ("value", models.TextField(blank=True)),
                (
                    "story",
                    models.TextField(
                        default="[]", help_text="The calls as JSON: plan, directives, reply, failures, tokens, request hash."
                    ),
                ),
                ("calls", models.PositiveSmallIntegerField(default=0)),
                ("tokens", models.PositiveIntegerField(default=0)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["shadow", "id"],
                "constraints": [models.UniqueConstraint(fields=("shadow", "run"), name="shadow_run_once")],
            },
        ),
    ]
