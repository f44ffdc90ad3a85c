from __future__ import annotations

from django.apps import AppConfig


class EnvelopesConfig(AppConfig):
    name = "reviewapp.envelopes"
    label = "envelopes"
