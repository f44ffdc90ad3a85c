from __future__ import annotations

from django.apps import AppConfig


class InsightsConfig(AppConfig):
    name = "reviewapp.insights"
    label = "insights"
