from __future__ import annotations

from django.apps import AppConfig


class SamplesConfig(AppConfig):
    name = "reviewapp.samples"
    label = "samples"
