"""The document prints this number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from controller.checks.base import MAX_SPANS, PATH_FACT, Check, CheckSpec, Pattern, Reporter, Subject, reporter, require_named
from controller.checks.folding import find_text
from controller.checks.numbers import Locale, NumberIndex, NumberText, number_index, number_text, printed_numbers, significant
from controller.document import Document
from controller.pointer import resolve
from controller.report import JSON, Finding, Span

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``locale`` is how the document prints numbers, ``value_locale`` how the reply writes them as strings (the same unless
    named). ``affixes`` are letters that may be glued to a printed number besides currencies, such as ``pcs`` or a tax flag.
    """

    kind: Literal["number_in_document"] = "number_in_document"
    at: Pattern
    locale: Locale = Locale.AUTO
    value_locale: Locale | None = None
    affixes: tuple[str, ...] = Field(default=(), max_length=50)


@dataclass(frozen=True, slots=True)
class NumberFound:
    """``match`` is ``exact``, ``number`` (same number, other print), ``ambiguous`` (only one of several readings) or empty."""

    match: str
    spans: tuple[Span, ...] = ()


def find_number(
    document: Document, value: JSON, locale: Locale, value_locale: Locale, affixes: frozenset[str] = frozenset()
) -> NumberFound:
    """How the document prints the number; the surest kind of match wins."""
    if locale is Locale.VERBATIM:
        return _verbatim(document, value)
    number, wanted = _wanted(value, value_locale)
    if not wanted:
        return NumberFound("")
    index = number_index(document, locale)
    if number and (exact := _exact(index, number, wanted, locale, value_locale, affixes)):
        return NumberFound("exact", exact)
    key = number.key if number else significant(format(abs(next(iter(wanted))), "f"))
    sure: list[Span] = []
    ambiguous: list[Span] = []
    for core in index.cores.get(key, ()):
        for printed in printed_numbers(index, core, affixes):
            readings = printed.number.readings(locale)
            if wanted & readings:
                (sure if _is_sure(wanted, readings, printed.number) else ambiguous).append(printed.span)
    if sure:
        return NumberFound("number", tuple(sorted(sure, key=_start)[:MAX_SPANS]))
    return NumberFound("ambiguous" if ambiguous else "", tuple(sorted(ambiguous, key=_start)[:MAX_SPANS]))


def _start(span: Span) -> int:
    return span.start


def _exact(
    index: NumberIndex,
    number: NumberText,
    wanted: Set[Decimal],
    locale: Locale,
    value_locale: Locale,
    affixes: frozenset[str],
) -> tuple[Span, ...]:
    """Where the document prints it with the same marks and sign. The print must be a number in the document's locale too."""
    if number.core not in index.cores.get(number.key, ()):
        return ()
    if value_locale is not locale and not wanted & number.readings(locale):
        return ()
    same = (place.span for place in printed_numbers(index, number.core, affixes) if place.number.negative == number.negative)
    return tuple(islice(same, MAX_SPANS))


def _is_sure(wanted: Set[Decimal], readings: Set[Decimal], printed: NumberText) -> bool:
    return len(wanted | readings) == 1 or (printed.enclosed and len({abs(number) for number in wanted | readings}) == 1)


def _wanted(value: JSON, locale: Locale) -> tuple[NumberText | None, Set[Decimal]]:
    if isinstance(value, bool):
        return None, frozenset()
    if isinstance(value, int | Decimal):
        return None, {Decimal(value)}
    number = number_text(value) if isinstance(value, str) else None
    return number, number.readings(locale) if number else frozenset()


def _verbatim(document: Document, value: JSON) -> NumberFound:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return NumberFound("")
    text = value.strip() if isinstance(value, str) else format(Decimal(value), "f")
    number = number_text(text)
    if number is None:
        return NumberFound("")
    printed = find_text(document, text, frozenset(), MAX_SPANS)
    spans = printed.spans if printed and printed.match == "exact" else ()
    signed = tuple(s for s in spans if number.negative or not _minus_before(document.text, s.start))
    return NumberFound("exact", signed) if signed else NumberFound("")


def _minus_before(text: str, start: int) -> bool:
    return text[start - 1 : start] in ("-", "\u2212") and not text[start - 2 : start - 1].isalpha() if start else False


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "at", spec.at)
    say = reporter(spec, contract)
    affixes = frozenset(affix.upper() for affix in spec.affixes)
    value_locale = spec.value_locale or spec.locale

    def check(subject: Subject) -> Iterable[Finding]:
        return _findings(subject, spec, say, value_locale, affixes)

    return check


def _findings(subject: Subject, spec: Spec, say: Reporter, value_locale: Locale, affixes: frozenset[str]) -> Iterator[Finding]:
    for pointer, value in resolve(subject.value, spec.at):
        if value is None:
            continue
        found = find_number(subject.document, value, spec.locale, value_locale, affixes)
        if found.match in ("exact", "number"):
            yield say.passed(pointer, spans=found.spans, match=found.match)
        elif found.match == "ambiguous":
            yield say.failed(
                pointer, "the printed number can be read in two ways", aspect="ambiguous", spans=found.spans, match="ambiguous"
            )
        else:
            yield say.failed(pointer, "a number that the document prints")
