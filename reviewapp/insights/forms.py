from __future__ import annotations

from typing import Any

from django import forms

from reviewapp.forms import Accessible, Filter, choices
from reviewapp.samples.models import SampleStatus, Verdict


class PlannerForm(Accessible):
    """A breaker rule to look at before it is signed. Percent throughout."""

    use_required_attribute = False

    limit = forms.IntegerField(label="Limit, in %", min_value=1, max_value=99, initial=10)
    h = forms.IntegerField(label="h: pauses this far above", min_value=1, max_value=50, initial=4)
    normal = forms.FloatField(label="Normal rate, in %", min_value=0, max_value=99, initial=3)
    bad = forms.FloatField(label="Rate when it goes wrong, in %", min_value=0.5, max_value=100, initial=30)
    records = forms.IntegerField(label="Records, or grades, in a batch", min_value=1, max_value=5_000, initial=1_000)


class SizeForm(Accessible):
    """How many must be graded to say "at most x %"."""

    use_required_attribute = False

    at_most = forms.FloatField(label="At most, in %", min_value=0.1, max_value=50, initial=5)
    wrong = forms.IntegerField(label="If so many turn out wrong", min_value=0, max_value=100, initial=0)
    accepted = forms.IntegerField(
        label="Accepted outputs in the closed batch", min_value=1, max_value=10_000_000, required=False
    )


class RowFilter(Filter):
    """Which sampled outputs are listed."""

    WHERE = {
        "version": "version__number",
        "batch": "batch_id",
        "stratum": "stratum",
        "verdict": "verdict",
        "status": "status",
        "base": "in_base",
    }

    verdict = forms.ChoiceField(label="Verdict", choices=choices("Any verdict", Verdict.choices))
    status = forms.ChoiceField(label="State", choices=choices("Any state", SampleStatus.choices))
    stratum = forms.ChoiceField(
        label="Stratum",
        choices=choices("Any stratum", [(s, s.replace("_", " ")) for s in ("fallback", "retried", "low_judge", "rest")]),
    )
    version = forms.IntegerField(label="Version", min_value=1, max_value=2**31 - 1)
    batch = forms.IntegerField(label="Batch", min_value=1, max_value=2**62, widget=forms.HiddenInput)
    base = forms.BooleanField(label="Base sample only")

    def __init__(self, data: Any, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.order_fields(["verdict", "status", "stratum", "version", "base", "batch"])


class DecisionForm(Accessible):
    """An owner's answer to a wish for a correction."""

    why = forms.CharField(label="Reason", max_length=500)
