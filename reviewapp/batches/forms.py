from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat

from controller.fuse import Fuse
from controller.machine import RunStatus
from controller.report import FailureClass
from reviewapp import states
from reviewapp.access import limit
from reviewapp.accounts.models import Role
from reviewapp.batches.models import Batch
from reviewapp.envelopes.models import Status, Version
from reviewapp.forms import Accessible, Filter, choices

SUBMITTERS = (Role.OWNER, Role.MANAGER)


class RunFilter(Filter):
    """Which runs of a batch are listed."""

    WHERE = {"status": "status", "fuse": "fuse", "class": "final_class", "record": "record__key"}

    status = forms.ChoiceField(
        label="State", choices=choices("Any state", [(s.value, states.look("run", s.value).word) for s in RunStatus])
    )
    fuse = forms.ChoiceField(
        label="Stopped by", choices=choices("Any fuse", [(f.value, f.value.replace("_", " ")) for f in Fuse])
    )
    record = forms.CharField(label="Record id", max_length=200)

    def __init__(self, data: Any, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        # "class" is the word in the URL, but no name for an attribute.
        classes = [(c.value, c.value.replace("_", " ")) for c in FailureClass]
        self.fields["class"] = forms.ChoiceField(label="Class", required=False, choices=choices("Any class", classes))
        self.order_fields(["status", "fuse", "class", "record"])


class ReasonForm(Accessible):
    """Why a person pauses or resumes; it goes to the audit log."""

    why = forms.CharField(label="Reason", max_length=Batch._meta.get_field("paused_why").max_length, strip=True)


class RateForm(Accessible):
    """A higher sampling rate for a batch that is open."""

    rate = forms.FloatField(label="Base rate, in %", min_value=0, max_value=100)
    why = forms.CharField(label="Reason", max_length=500)


class VersionChoice(forms.ModelChoiceField):
    def label_from_instance(self, obj: Version) -> str:
        return f"{obj.envelope.slug} v{obj.number}"


class UploadForm(Accessible):
    """A file of records for an approved version. The lines themselves are judged by the action, not here."""

    version = VersionChoice(
        label="Envelope version", queryset=Version.objects.none(), empty_label=None, help_text="Only approved versions can run."
    )
    name = forms.CharField(
        label="Batch name",
        max_length=200,
        help_text="Use the name of an earlier batch to add to it: records whose id it has already are left alone.",
    )
    file = forms.FileField(
        label="Records",
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,application/x-ndjson"}),
        help_text="JSONL: one object per line, with an id and a document.",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        approved = Version.objects.filter(status=Status.APPROVED).select_related("envelope").defer("source", "canonical")
        self.fields["version"].queryset = limit(approved, user, "envelope", *SUBMITTERS)  # type: ignore[attr-defined]

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > settings.COUNTERSIGN_UPLOAD_BYTES:
            raise ValidationError(f"The file is larger than {filesizeformat(settings.COUNTERSIGN_UPLOAD_BYTES)}.")
        return file
