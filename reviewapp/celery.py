"""The Celery application, for many machines. One machine needs none of it: ``manage.py controller`` works from the database.

``CELERY_BROKER_URL`` names a Redis or RabbitMQ broker. ``celery -A reviewapp.celery worker`` works what ``manage.py dispatch``
hands out.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewapp.settings")

app = Celery("countersign")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
