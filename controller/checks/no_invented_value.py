"""Every text and number in the reply occurs somewhere in the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from controller.checks.base import MAX_SPANS, PATH_FACT, Check, CheckSpec, Pattern, Reporter, Subject, reporter, require_named
from controller.checks.folding import Fold, Folds, find_text
from controller.checks.number_in_document import NumberFound, find_number
from controller.checks.numbers import Locale
from controller.document import Document
from controller.pointer import join, resolve
from controller.report import JSON, Finding, Span

FACTS = PATH_FACT


class Spec(CheckSpec):
    """Looks at every leaf under ``at`` but those under ``ignore``. Truth values and nulls are left out: they invent nothing."""

    kind: Literal["no_invented_value"] = "no_invented_value"
    at: Pattern = ""
    ignore: tuple[Pattern, ...] = Field(default=(), max_length=50)
    fold: Folds = (Fold.CASE, Fold.NFKC, Fold.PUNCTUATION, Fold.SPACE)
    locale: Locale = Locale.AUTO


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    require_named(contract, "ignore", *spec.ignore)
    say = reporter(spec, contract)
    folds = frozenset(spec.fold)

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, folds, say)

    return check


def leaves(pointer: str, value: JSON, ignored: frozenset[str]) -> Iterator[tuple[str, str | int | Decimal]]:
    """The texts and numbers under a value, with their pointers, in document order."""
    if pointer in ignored or value is None or isinstance(value, bool):
        return
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(pointer + join((key,)), child, ignored)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from leaves(f"{pointer}/{index}", child, ignored)
    else:
        yield pointer, value


def _findings(subject: Subject, spec: Spec, folds: frozenset[Fold], say: Reporter) -> Iterator[Finding]:
    ignored = frozenset(pointer for pattern in spec.ignore for pointer, _ in resolve(subject.value, pattern))
    for pointer, value in resolve(subject.value, spec.at):
        for place, leaf in leaves(pointer, value, ignored):
            match, spans = _printed(subject.document, leaf, folds, spec.locale)
            if match:
                yield say.passed(place, spans=spans, match=match)
            else:
                yield say.failed(place, "a value that the document prints")


def _printed(
    document: Document, leaf: str | int | Decimal, folds: frozenset[Fold], locale: Locale
) -> tuple[str, tuple[Span, ...]]:
    if isinstance(leaf, str):
        if not leaf.strip():
            return "empty", ()
        text = find_text(document, leaf, folds, MAX_SPANS)
        if text is not None and text.match != "gap":
            return text.match, text.spans
    number: NumberFound = find_number(document, leaf, locale, locale)
    return ("", ()) if number.match == "ambiguous" else (number.match, number.spans)
