from django.conf import settings
from django.db import migrations, models

PROTECT, CASCADE = models.PROTECT, models.CASCADE
USER = settings.AUTH_USER_MODEL


class Migration(migrations.Migration):
    dependencies = [("envelopes", "0005_comment"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="SetAside",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.ForeignKey(on_delete=CASCADE, related_name="set_aside", to="envelopes.version")),
                ("source", models.TextField()),
                ("by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=USER)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"ordering": ["-id"], "verbose_name_plural": "set aside"},
        ),
    ]
