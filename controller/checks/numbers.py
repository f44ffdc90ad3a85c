"""Printed numbers: conventions, readings, and the numbers that a document prints.

A convention says which mark groups digits and which one begins decimals. Nothing is guessed: a token that a convention cannot
have printed has no reading under it (``27,80`` is no number in ``en``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from enum import StrEnum
from functools import lru_cache
from itertools import islice

from controller.document import Document
from controller.report import Span

EXACT = Context(prec=4_000, Emax=999_999, Emin=-999_999, traps=[Inexact, InvalidOperation, Overflow, DivisionByZero])
"""Arithmetic that raises instead of rounding."""


class Locale(StrEnum):
    """How numbers are printed. ``auto`` tries ``en``, ``de``, ``fr`` and ``ch``; ``verbatim`` allows the very print only."""

    VERBATIM = "verbatim"
    PLAIN = "plain"  # 1234.50
    EN = "en"  # 1,234.50
    DE = "de"  # 1.234,50
    FR = "fr"  # 1 234,50
    CH = "ch"  # 1'234.50
    AUTO = "auto"


_NARROW = "\u00a0"  # stands for every space that does not break a line, and so may group digits in any convention
_CONVENTIONS: Mapping[Locale, re.Pattern[str]] = {
    convention: re.compile(
        rf"(?:(?P<whole>\d{{1,3}}(?P<mark>[{group}])\d{{3}}(?:(?P=mark)\d{{3}})*|\d+)?)(?:{point}(?P<part>\d+))?"
    )
    for convention, group, point in (
        (Locale.EN, f",'{_NARROW}", r"\."),
        (Locale.DE, f".'{_NARROW}", ","),
        (Locale.FR, f" {_NARROW}", ","),
        (Locale.CH, f"'{_NARROW}", r"\."),
    )
}
_PLAIN = re.compile(r"(?P<whole>\d+)(?:\.(?P<part>\d+))?")
_AUTO = tuple(_CONVENTIONS)

_WIDE = {
    **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
    "\uff0e": ".",
    "\uff0c": ",",
    "\uff08": "(",
    "\uff09": ")",
    "\uff0b": "+",
    **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2018\u2019\u02bc\u2032\uff07\u00b4\u0060", "'"),
    **dict.fromkeys("\u202f\u2009\u2007", _NARROW),
}
_WIDE_MARKS = re.compile("[" + "".join(_WIDE) + "]")
_DIGIT = frozenset("0123456789")
_MARKS = f".,'{_NARROW}"
_MARK = frozenset(_MARKS)
_NO_MARKS = str.maketrans("", "", f".,' {_NARROW}")

# fmt: off
CURRENCIES = frozenset({
    "AED", "ARS", "AUD", "BAHT", "BDT", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR",
    "EURO", "FR", "FT", "GBP", "GS", "HK", "HKD", "HRK", "HUF", "IDR", "ILS", "INR", "JPY", "KC", "KES", "KR", "KRW",
    "LEI", "LKR", "MXN", "MYR", "NGN", "NIS", "NOK", "NT", "NTD", "NZD", "PEN", "PHP", "PKR", "PLN", "QAR", "R", "RM",
    "RMB", "RON", "RP", "RS", "RSD", "RUB", "SAR", "SEK", "SFR", "SGD", "THB", "TL", "TRY", "TWD", "UAH", "US", "USD",
    "VND", "YEN", "ZAR", "ZL"
})
# fmt: on
"""Letters that may be glued to an amount. Symbols may be glued always."""
_SYMBOLS = frozenset("$€£¥₩₹₽₺₫฿₱₴₪¢")
_TIMES = frozenset({"X", "×"})


def flatten_marks(text: str) -> str:
    """One character for one: wide digits and marks, dashes, apostrophes and narrow spaces in their plain form."""
    return text if text.isascii() else _WIDE_MARKS.sub(lambda mark: _WIDE[mark.group()], text)


def conventions(locale: Locale) -> tuple[Locale, ...]:
    """The single conventions that a declared locale tries."""
    return _AUTO if locale is Locale.AUTO else (locale,)


def _read(core: str, convention: Locale) -> Decimal | None:
    """The unsigned digits with marks under one convention."""
    pattern = _PLAIN if convention in (Locale.PLAIN, Locale.VERBATIM) else _CONVENTIONS[convention]
    read = pattern.fullmatch(core)
    if read is None or not core:
        return None
    whole, part = read["whole"] or "0", read["part"] or "0"
    return Decimal(f"{whole if whole.isdigit() else whole.translate(_NO_MARKS)}.{part}")


_SIGNED = re.compile(
    rf"(?P<open>\()?\s*(?P<before>[-+])?\s?(?P<left>[^\W\d_]{{1,4}}\.?|[$€£¥₩₹₽₺₫฿₱₴₪¢]|[A-Za-z]{{1,3}}\$)?\s*(?P<inner>[-+])?"
    rf"(?P<core>[.,]?\d[\d.,' {_NARROW}]*)\s*(?P<right>[^\W\d_]{{1,4}}\.?|[$€£¥₩₹₽₺₫฿₱₴₪¢%])?(?P<after>-)?(?P<close>\))?"
)


_BARE = re.compile(r"[0-9]{1,60}(?:[.,][0-9]{1,60})?")


@dataclass(frozen=True, slots=True)
class NumberText:
    """A text that is a number: digits with their marks, and its sign."""

    core: str
    negative: bool
    enclosed: bool = False

    @property
    def key(self) -> str:
        """The significant digits: equal numbers have equal keys, whatever the convention."""
        return significant(self.core)

    def readings(self, locale: Locale) -> frozenset[Decimal]:
        """Signed values under the locale; parentheses may mean a minus, so that they read both ways."""
        unsigned = _unsigned(self.core, locale)
        if self.enclosed:
            return unsigned | {-value for value in unsigned}
        return frozenset(-value for value in unsigned) if self.negative else unsigned


@lru_cache(maxsize=2_048)
def _unsigned(core: str, locale: Locale) -> frozenset[Decimal]:
    """Digits and marks only, never other text: the same few prints come back on every attempt."""
    if core.isdigit():
        return frozenset({Decimal(core)})
    return frozenset(value for convention in conventions(locale) if (value := _read(core, convention)) is not None)


def significant(core: str) -> str:
    return (core if core.isdigit() else core.translate(_NO_MARKS)).strip("0")


def number_text(text: str) -> NumberText | None:
    """The text as one number with sign and currency, or ``None`` where it is something else."""
    plain = flatten_marks(text.strip())
    if _BARE.fullmatch(plain):
        return NumberText(plain, False)
    if len(plain) > 200 or (signed := _SIGNED.fullmatch(plain)) is None:
        return None
    core = signed["core"].strip(f" {_NARROW}")
    if not core[-1].isdigit() or bool(signed["open"]) != bool(signed["close"]):
        return None
    if any(side and not _is_affix(side.rstrip("."), CURRENCIES) for side in (signed["left"], signed["right"])):
        return None
    return NumberText(core, "-" in (signed["before"], signed["inner"], signed["after"]), bool(signed["open"]))


def _is_affix(side: str, known: frozenset[str]) -> bool:
    return not side.isalpha() or side.upper() in known


def readings(token: str, locale: str | Locale) -> set[Decimal]:
    """Every number that the text can mean under the locale: empty, one, or several (``60.000`` under ``auto`` is 60 and 60000).

    The sign may stand on either side, a currency may be glued on; parentheses read both ways.
    """
    number = number_text(token)
    return set() if number is None else set(number.readings(Locale(locale)))


def value_readings(value: object, locale: Locale) -> set[Decimal]:
    """The readings of a JSON value: a JSON number has one, a string those of its locale, anything else none."""
    if isinstance(value, bool):
        return set()
    if isinstance(value, int | Decimal):
        return {Decimal(value)}
    return readings(value, locale) if isinstance(value, str) else set()


def read_together(values: Sequence[object], locale: Locale) -> list[tuple[Decimal, ...]]:
    """All values under one convention at a time, each convention that can read every one of them; without repetitions.

    Parentheses are a minus here: a value that is written so is an accountant's.
    """
    ways: dict[tuple[Decimal, ...], None] = {}
    for convention in conventions(locale):
        numbers = [value_readings(value, convention) for value in values]
        if all(len(number) >= 1 for number in numbers):
            ways[tuple(min(number) for number in numbers)] = None
    return list(ways)


# --- the numbers of a document --------------------------------------------------------------------------------------------

_CORE = re.compile(rf"[0-9]+(?:[.,'{_NARROW}][0-9]+)*")
_CORE_SPACED = re.compile(rf"[0-9]{{1,3}}(?: [0-9]{{3}}(?![0-9]))+(?:,[0-9]+)?(?![.,']?[0-9])|[0-9]+(?:[.,'{_NARROW}][0-9]+)*")


@dataclass(frozen=True, slots=True)
class NumberIndex:
    """The numbers that a document prints. ``text`` is the document with plain marks, ``cores`` the distinct printed digits
    with their marks by their significant digits. Places are looked up when a number is asked for.
    """

    text: str
    spaced: frozenset[tuple[int, int]]  # all places, only where digits are joined across spaces
    cores: Mapping[str, Sequence[str]]
    known: dict[tuple[str, frozenset[str]], tuple[PrintedNumber, ...]]  # filled by ``printed_numbers``

    def places(self, core: str) -> Iterator[tuple[int, int]]:
        """Where the document prints exactly these digits and marks, as a whole token."""
        start = self.text.find(core)
        while start >= 0:
            end = start + len(core)
            if self._is_token(start, end):
                yield start, end
            start = self.text.find(core, end)

    def _is_token(self, start: int, end: int) -> bool:
        """Whether digits and marks end here on both sides."""
        if self.spaced:
            return (start, end) in self.spaced
        text = self.text
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        continues_left = before[-1:] in _DIGIT or (before[-1:] in _MARK and before[:-1] in _DIGIT)
        continues_right = after[:1] in _DIGIT or (after[:1] in _MARK and after[1:] in _DIGIT)
        return not (continues_left or continues_right)


def _index(text: str, pattern: re.Pattern[str]) -> NumberIndex:
    plain = flatten_marks(text)
    cores: dict[str, list[str]] = {}
    for core in dict.fromkeys(pattern.findall(plain)):
        cores.setdefault(significant(core), []).append(core)
    places = (token.span() for token in pattern.finditer(plain)) if pattern is _CORE_SPACED else ()
    return NumberIndex(plain, frozenset(places), cores, {})


def number_index(document: Document, locale: Locale) -> NumberIndex:
    """The index of a document; only ``fr`` joins digits across plain spaces."""
    pattern = _CORE_SPACED if locale is Locale.FR else _CORE
    return document.derived(("numbers", pattern), lambda text: _index(text, pattern))


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A number in the document, with sign and place."""

    number: NumberText
    span: Span


MAX_PLACES = 2_000
"""Places of one print that are looked at: a document must not decide how long it is searched."""


def printed_numbers(index: NumberIndex, core: str, affixes: frozenset[str]) -> tuple[PrintedNumber, ...]:
    """The document's numbers with exactly these digits and marks that stand alone.

    Digits that belong to a code, a date, a time or a phone number do not stand alone; a currency, a multiplication sign or a
    declared affix may be glued on.
    """
    if (core, affixes) not in index.known:
        tokens = (_printed(index.text, start, end, affixes) for start, end in islice(index.places(core), MAX_PLACES))
        index.known[core, affixes] = tuple(token for token in tokens if token is not None)
    return index.known[core, affixes]


_JOINERS = "/:-"


def _printed(text: str, start: int, end: int, affixes: frozenset[str]) -> PrintedNumber | None:
    left, right = _left_edge(text, start, affixes), _right_edge(text, end, affixes)
    if left is None or right is None:
        return None
    if left > 0 and text[left - 1] in ".," and _begins_decimals(text, left):
        left -= 1
        start = left
    core = text[start:end]
    negative = left > 0 and text[left - 1] == "-" and not _continues(text[left - 2 : left - 1])
    left -= negative
    trailing = text[right : right + 1] == "-" and not _continues(text[right + 1 : right + 2])
    right += trailing
    enclosed = left > 0 and text[left - 1] == "(" and text[right : right + 1] == ")"
    span = Span(left - enclosed, right + enclosed)
    return PrintedNumber(NumberText(core, negative or trailing, enclosed), span)


def _continues(character: str) -> bool:
    return character.isalnum() or character == "_"


def _begins_decimals(text: str, start: int) -> bool:
    """Whether the mark before ``start`` begins the decimals of ``.50``, and is no dotted leader or end of ``Rp.``"""
    before = text[start - 2 : start - 1] if start > 1 else ""
    return before not in (".", ",") and not before.isalnum()


def _letters_before(text: str, end: int) -> str:
    start = end
    while start > 0 and end - start < 8 and text[start - 1].isalpha():
        start -= 1
    return text[start:end]


def _letters_after(text: str, start: int) -> str:
    end = start
    while end < len(text) and end - start < 8 and text[end].isalpha():
        end += 1
    return text[start:end]


def _left_edge(text: str, start: int, affixes: frozenset[str]) -> int | None:
    """Where the number begins including a glued currency with its own sign outside; ``None`` where it does not stand alone."""
    before = text[start - 1 : start] if start else ""
    if not before or before.isspace():
        return start
    if before == "_" or (before in _JOINERS and text[start - 2 : start - 1].isdigit() and start > 1):
        return None
    if before in _SYMBOLS:
        return start - 1 if text[start - 2 : start - 1] == "-" and start > 1 else start
    if not before.isalpha():
        return start
    run = _letters_before(text, start)
    outer = text[start - len(run) - 1 : start - len(run)] if start > len(run) else ""
    if run.upper() in _TIMES:
        return start if not outer.isalpha() else None
    if (run.upper() in CURRENCIES or run.upper() in affixes) and not _continues(outer):
        return start - len(run) if outer == "-" else start
    return None


def _right_edge(text: str, end: int, affixes: frozenset[str]) -> int | None:
    after = text[end : end + 1]
    if not after or after.isspace():
        return end
    if after == "_" or (after in _JOINERS and text[end + 1 : end + 2].isdigit()):
        return None
    if not after.isalpha():
        return end
    run = _letters_after(text, end)
    outer = text[end + len(run) : end + len(run) + 1]
    if run.upper() in _TIMES:
        return end
    known = run.upper() in CURRENCIES or run.upper() in affixes
    return end if known and not _continues(outer) else None
