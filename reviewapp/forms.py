"""What the forms of all apps share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms


class Accessible(forms.Form):
    """A form whose fields name their errors and help to a screen reader, and that templates/parts/fields.html renders."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)


class Filter(Accessible):
    """A filter in the URL: every field optional, an unknown word is an error and finds nothing rather than everything.

    ``WHERE`` says which lookup each field stands for.
    """

    WHERE: dict[str, str] = {}
    use_required_attribute = False

    def __init__(self, data: Any, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        for field in self.fields.values():
            field.required = False

    def narrow(self, queryset: Any) -> Any:
        """The rows that the filter names; none at all while a field is wrong."""
        if not self.is_valid():
            return queryset.none()
        chosen = {self.WHERE[name]: value for name, value in self.cleaned_data.items() if value and name in self.WHERE}
        return queryset.filter(**chosen)

    @property
    def is_set(self) -> bool:
        return any(self.data.get(name) for name in self.fields)


def choices(any_word: str, values: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Choices of a filter, the first of which means "do not filter"."""
    return [("", any_word), *values]
