"""The document prints this text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from controller.checks.base import MAX_SPANS, PATH_FACT, Check, CheckSpec, Pattern, Reporter, Subject, reporter, require_named
from controller.checks.folding import Fold, Folds, find_text
from controller.pointer import resolve
from controller.report import Finding

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``fold`` names the differences that do not matter; a text found only under other differences fails as ``<id>.gap``."""

    kind: Literal["text_in_document"] = "text_in_document"
    at: Pattern
    fold: Folds = ()


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    say = reporter(spec, contract)
    folds = frozenset(spec.fold)

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, folds, say)

    return check


def _findings(subject: Subject, spec: Spec, folds: frozenset[Fold], say: Reporter) -> Iterator[Finding]:
    for pointer, value in resolve(subject.value, spec.at):
        if value is None:
            continue
        printed = find_text(subject.document, value, folds, MAX_SPANS) if isinstance(value, str) else None
        if printed is None:
            yield say.failed(pointer, "text that the document prints")
        elif printed.match == "gap":
            yield say.failed(
                pointer,
                "the text as printed, with its capitals, spaces and punctuation",
                aspect="gap",
                spans=printed.spans,
                match="gap",
            )
        else:
            yield say.passed(pointer, spans=printed.spans, match=printed.match)
