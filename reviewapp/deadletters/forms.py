from __future__ import annotations

from typing import Any

from django import forms

from controller.fuse import Fuse
from controller.report import FailureClass
from reviewapp.access import visible_envelopes
from reviewapp.deadletters.models import DeadLetterStatus
from reviewapp.forms import Filter, choices


class LetterFilter(Filter):
    """Which dead letters are listed. Without a word about the state: the open ones."""

    WHERE = {
        "envelope": "envelope__slug",
        "fuse": "fuse",
        "class": "final_class",
        "signature": "signature",
        "batch": "batch_id",
        "status": "status",
    }

    status = forms.ChoiceField(label="State", choices=[*DeadLetterStatus.choices, ("any", "Open and resolved")])
    envelope = forms.ChoiceField(label="Envelope")
    fuse = forms.ChoiceField(
        label="Stopped by", choices=choices("Any fuse", [(f.value, f.value.replace("_", " ")) for f in Fuse])
    )
    signature = forms.RegexField(
        r"^[0-9a-f]{32}$", label="Signature", error_messages={"invalid": "A signature is 32 hex digits."}
    )
    batch = forms.IntegerField(label="Batch", min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, data: Any, *, user: Any, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        slugs = list(visible_envelopes(user).values_list("slug", flat=True))
        self.fields["envelope"].choices = choices("All my envelopes", [(slug, slug) for slug in slugs])  # type: ignore[attr-defined]
        classes = [(c.value, c.value.replace("_", " ")) for c in FailureClass]
        self.fields["class"] = forms.ChoiceField(label="Class", required=False, choices=choices("Any class", classes))
        self.order_fields(["status", "envelope", "fuse", "class", "signature", "batch"])

    def clean_status(self) -> str:
        chosen = self.cleaned_data["status"] or DeadLetterStatus.OPEN.value
        return "" if chosen == "any" else str(chosen)

    @property
    def scope(self) -> str:
        """What the count beside the list counts, in words."""
        if not self.is_valid():
            return "none: a filter is wrong"
        chosen = self.cleaned_data
        words = [chosen["status"] or "open and resolved"]
        words.append(f"in {chosen['envelope']}" if chosen["envelope"] else "in all envelopes that you may see")
        if chosen["batch"]:
            words.append(f"of batch {chosen['batch']}")
        if chosen["fuse"]:
            words.append(f"stopped by {chosen['fuse'].replace('_', ' ')}")
        if chosen["class"]:
            words.append(f"of class {chosen['class'].replace('_', ' ')}")
        if chosen["signature"]:
            words.append("with this signature")
        return ", ".join(words)
