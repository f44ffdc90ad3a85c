from __future__ import annotations

from django import forms

from reviewapp.forms import Filter


class EntryFilter(Filter):
    """Which entries are listed. All three are exact words, as the entries show them; ``subject`` may carry an id."""

    WHERE = {"action": "action", "actor": "actor_name", "subject": "subject", "subject_id": "subject_id"}

    action = forms.CharField(label="Action", max_length=64)
    actor = forms.CharField(label="Who", max_length=200)
    subject = forms.CharField(label="Subject", max_length=64)
    subject_id = forms.CharField(label="Subject id", max_length=64)
