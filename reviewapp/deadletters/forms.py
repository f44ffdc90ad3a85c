from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms

from controller.fuse import Fuse
from controller.report import FailureClass
from reviewapp.access import visible_envelopes
from reviewapp.deadletters import search
from reviewapp.deadletters.models import DeadLetterStatus
from reviewapp.forms import Filter, choices

WAITING_WORD = "waiting"
"""Every state but resolved."""


class LetterFilter(Filter):
    """Which dead letters are listed. Without a word about the state: the open ones."""

    WHERE = {
        "envelope": "envelope__slug",
        "version": "version__number",
        "fuse": "fuse",
        "class": "final_class",
        "signature": "signature",
        "group": "group_id",
        "batch": "batch_id",
        "resolution": "resolution",
        "status": "status",
    }
    COUNTED = frozenset({"envelope", "signature", "group", "status"})
    """What the groups' own numbers can answer, without counting a letter."""

    q = forms.CharField(label="Words", max_length=200, strip=True)
    status = forms.ChoiceField(
        label="State", choices=[*DeadLetterStatus.choices, (WAITING_WORD, "Waiting, whatever for"), ("any", "Any state")]
    )
    envelope = forms.ChoiceField(label="Envelope")
    fuse = forms.ChoiceField(
        label="Stopped by", choices=choices("Any fuse", [(f.value, f.value.replace("_", " ")) for f in Fuse])
    )
    signature = forms.RegexField(
        r"^[0-9a-f]{32}$",
        label="Signature",
        error_messages={"invalid": "A signature is 32 hex digits."},
        widget=forms.HiddenInput,
    )
    group = forms.IntegerField(label="Group", min_value=1, max_value=2**62, widget=forms.HiddenInput)
    version = forms.IntegerField(label="Version", min_value=1, max_value=2**31 - 1)
    batch = forms.IntegerField(label="Batch", min_value=1, max_value=2**62, widget=forms.HiddenInput)
    resolution = forms.CharField(max_length=16, widget=forms.HiddenInput)

    def __init__(self, data: Any, *, user: Any, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        slugs = list(visible_envelopes(user).values_list("slug", flat=True))
        self.fields["envelope"].choices = choices("All my envelopes", [(slug, slug) for slug in slugs])  # type: ignore[attr-defined]
        classes = [(c.value, c.value.replace("_", " ")) for c in FailureClass]
        self.fields["class"] = forms.ChoiceField(label="Class", required=False, choices=choices("Any class", classes))
        self.order_fields(["q", "status", "envelope", "version", "fuse", "class", "signature", "group", "batch"])

    def clean_status(self) -> str:
        chosen = self.cleaned_data["status"] or DeadLetterStatus.OPEN.value
        return "" if chosen == "any" else str(chosen)

    def narrow(self, queryset: Any) -> Any:
        if not self.is_valid():
            return queryset.none()
        chosen = {self.WHERE[name]: value for name, value in self.cleaned_data.items() if value and name in self.WHERE}
        if chosen.get("status") == WAITING_WORD:
            del chosen["status"]
            queryset = queryset.exclude(status=DeadLetterStatus.RESOLVED)
        return search.matching(queryset.filter(**chosen), self.cleaned_data["q"])

    @property
    def is_counted(self) -> bool:
        """Whether the groups' numbers say how many letters the filter names."""
        return self.is_valid() and {name for name, value in self.cleaned_data.items() if value} <= self.COUNTED

    @property
    def query(self) -> str:
        """The filter as a query string, always in the same order: equal filters have equal ones."""
        return urlencode([(name, self.data[name]) for name in self.fields if self.data.get(name)])

    @property
    def scope(self) -> str:
        """What the count beside the list counts, in words."""
        if not self.is_valid():
            return "none: a filter is wrong"
        chosen = self.cleaned_data
        words = [chosen["status"] or "of any state"]
        words.append(f"in {chosen['envelope']}" if chosen["envelope"] else "in all envelopes that you may see")
        told = [
            ("version", "made under version {}"),
            ("batch", "of batch {}"),
            ("fuse", "stopped by {}"),
            ("class", "of class {}"),
            ("resolution", "{}"),
            ("q", "with the words “{}”"),
        ]
        words += [text.format(str(chosen[name]).replace("_", " ")) for name, text in told if chosen[name]]
        if chosen["signature"]:
            words.append("with this signature")
        if chosen["group"]:
            words.append("in this group")
        return ", ".join(words)
