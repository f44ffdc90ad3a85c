from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from controller.authoring import MAX_BYTES, NotAnEnvelope, is_json, read, write
from reviewapp.batches.models import Record
from reviewapp.envelopes.comments import MOST_CHARS
from reviewapp.envelopes.models import Envelope, Version
from reviewapp.envelopes.shadow import Choices
from reviewapp.forms import Accessible


class ReasonForm(Accessible):
    """Why a person decides so; it goes to the audit log."""

    why = forms.CharField(label="Reason", max_length=500, strip=True)


class WithdrawForm(Accessible):
    why = forms.CharField(label="Reason", max_length=500, strip=True, required=False)


class ApproveForm(Accessible):
    """Approving names the digest that the page showed. The two texts of a passkey are filled in by the browser."""

    digest = forms.CharField(widget=forms.HiddenInput, min_length=64, max_length=64)
    statement = forms.CharField(widget=forms.HiddenInput, required=False, max_length=4_000)
    credential = forms.CharField(widget=forms.HiddenInput, required=False, max_length=20_000)


class CommentForm(Accessible):
    line = forms.IntegerField(label="Line", min_value=0, required=False, help_text="Empty: about the whole text.")
    text = forms.CharField(label="Comment", max_length=MOST_CHARS, widget=forms.Textarea(attrs={"rows": 3}))

    def clean_line(self) -> int:
        return self.cleaned_data["line"] or 0


class RulesForm(Accessible):
    approvals_needed = forms.IntegerField(label="Approvals needed", min_value=1, max_value=9)
    require_passkey = forms.BooleanField(label="Every approval by passkey", required=False)
    why = forms.CharField(label="Reason", max_length=500, strip=True)


def text_of(file: UploadedFile) -> str:
    """An uploaded envelope as the text of a draft: YAML as it is; JSON is written as YAML, which keeps its digest."""
    if file.size is None or file.size > MAX_BYTES:
        raise ValidationError(f"The file is larger than {MAX_BYTES:,} bytes.")
    try:
        text = file.read().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValidationError("The file is not UTF-8 text.") from None
    if "\x00" in text:
        raise ValidationError("The file contains a NUL character.")
    if not is_json(text):
        return text
    try:
        return write(read(text))
    except NotAnEnvelope:
        return text


class ImportForm(Accessible):
    """The next draft from a file."""

    file = forms.FileField(label="YAML or JSON file")

    def clean_file(self) -> str:
        return text_of(self.cleaned_data["file"])


class NewEnvelopeForm(Accessible):
    slug = forms.RegexField(
        r"^[a-z][a-z0-9-]{0,63}$",
        label="Task",
        help_text="Small letters, digits and hyphens. The text says the same under task:.",
        error_messages={"invalid": "Small letters, digits and hyphens, beginning with a letter."},
    )
    title = forms.CharField(label="Title", max_length=200)
    file = forms.FileField(
        label="YAML or JSON file", required=False, help_text="Without one, the draft begins as a small valid envelope."
    )

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if Envelope.objects.filter(slug=slug).exists():
            raise ValidationError("There is an envelope for this task already.")
        return slug

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        return text_of(file) if file else ""


class PreviewForm(Accessible):
    """A record of the envelope, by its id, or any text."""

    record = forms.CharField(label="Record id", max_length=200, required=False)
    document = forms.CharField(
        label="Or paste a document", required=False, strip=False, max_length=200_000, widget=forms.Textarea(attrs={"rows": 6})
    )

    def __init__(self, *args: Any, version: Version, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.version = version

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not data.get("document") and not data.get("record"):
            raise ValidationError("Name a record, or paste a document.")
        if not data.get("document"):
            rows = Record.objects.filter(batch__version__envelope=self.version.envelope, key=data["record"])
            found = rows.select_related("payload").order_by("-pk").first()
            if found is None:
                raise ValidationError("No record of this envelope has this id.")
            data["document"] = found.payload.document
        data["document"] = data["document"].replace("\r\n", "\n") if not data.get("record") else data["document"]
        return data


class TryForm(Accessible):
    """Which records a draft is tried on."""

    signatures = forms.MultipleChoiceField(
        label="Dead letters that failed so", required=False, widget=forms.CheckboxSelectMultiple
    )
    per_signature = forms.IntegerField(label="Newest of each", min_value=1, max_value=50, initial=10)
    accepted = forms.IntegerField(label="Accepted ones, at random", min_value=0, max_value=100, initial=10)

    def __init__(self, *args: Any, choices: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        options = [(group.signature, f"{group.failing} ({group.count:,})") for group in choices.groups]
        self.fields["signatures"].choices = options  # type: ignore[attr-defined]
        self.initial.setdefault("signatures", [signature for signature, _ in options[:5]])
