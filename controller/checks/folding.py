"""Declared foldings of text, the same on both sides, with the way back to places in the original."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

from controller.document import Document
from controller.report import Span


class Fold(StrEnum):
    """A difference that an envelope may declare not to matter."""

    NFKC = "nfkc"  # compatibility forms: full-width letters and digits, ligatures, composed and decomposed accents
    CASE = "case"
    SPACE = "space"  # any run of blanks, line ends and no-break spaces is one space
    PUNCTUATION = "punctuation"  # the many dashes, apostrophes and quotation marks


EVERY_FOLD = frozenset(Fold)
Folds = Annotated[tuple[Fold, ...], AfterValidator(lambda folds: tuple(sorted(set(folds))))]
"""As written in a spec: sorted, so that equal envelopes have equal bytes."""

_PUNCTUATION = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02", '"'),
}
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """Folded text. ``starts[i]`` (folded) corresponds to ``origins[i]`` (original); a stretch of ``widths[i]`` original
    characters was rewritten there, 0 where characters stand one to one until the next entry.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    widths: tuple[int, ...]

    def span(self, start: int, end: int) -> Span:
        """The original stretch behind ``text[start:end]``; rewritten characters are taken whole."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begin = self.origins[first] + (0 if self.widths[first] else start - self.starts[first])
        if self.widths[last]:
            return Span(begin, self.origins[last] + self.widths[last])
        return Span(begin, self.origins[last] + end - self.starts[last])


@lru_cache(maxsize=32)
def _changed(folds: frozenset[Fold]) -> re.Pattern[str] | None:
    """What these folds rewrite piece by piece. ASCII letters are not in it: lower-casing them moves nothing."""
    pieces = [r"\s{2,}"] if Fold.SPACE in folds else []
    if folds:
        pieces.append(r"[^\x00-\x7f]")
    return re.compile("|".join(pieces)) if pieces else None


def _changed_in(text: str, folds: frozenset[Fold]) -> re.Pattern[str] | None:
    """As ``_changed``, for a long text: only those of its characters that the folds really rewrite."""
    changing = sorted(c for c in set(text) if c > "\x7f" and _rewritten(c, folds) != c)
    pieces = [r"\s{2,}"] if Fold.SPACE in folds else []
    if changing:
        pieces.append("[" + "".join(re.escape(c) for c in changing) + "]")
    return re.compile("|".join(pieces)) if pieces else None


_LONG = 4_000
_ONE_FOR_ONE = str.maketrans("\t\n\r\x0b\x0c", "     ")


def _rewritten(piece: str, folds: frozenset[Fold]) -> str:
    if Fold.SPACE in folds and piece.isspace():
        return " "
    if Fold.PUNCTUATION in folds and piece in _PUNCTUATION:
        return _PUNCTUATION[piece]
    if Fold.NFKC in folds:
        if piece in _INVISIBLE:
            return ""
        # Decomposed, not composed: that needs no look at the neighbours, and two texts are equal so exactly when they are
        # equal under NFKC.
        piece = unicodedata.normalize("NFKD", piece)
    if Fold.CASE in folds:
        piece = piece.casefold()
    return piece


def fold(text: str, folds: frozenset[Fold]) -> FoldedText:
    """The text under the folds, with the way back."""
    text = _plain_ascii(text, folds)
    pattern = _changed_in(text, folds) if len(text) > _LONG else _changed(folds)
    parts: list[str] = []
    starts, origins, widths = [0], [0], [0]
    written = position = 0
    for change in pattern.finditer(text) if pattern else ():
        new = _rewritten(change.group(), folds)
        if new == change.group():
            continue
        literal = text[position : change.start()]
        written += len(literal)
        parts += (literal, new)
        if new:
            starts.append(written)
            origins.append(change.start())
            widths.append(change.end() - change.start())
            written += len(new)
        position = change.end()
        starts.append(written)
        origins.append(position)
        widths.append(0)
    parts.append(text[position:])
    folded = "".join(parts)
    if Fold.CASE in folds:
        folded = _lower_ascii(folded)
    return FoldedText(folded, tuple(starts), tuple(origins), tuple(widths))


def _plain_ascii(text: str, folds: frozenset[Fold]) -> str:
    """The rewritings of single ASCII characters, which move nothing."""
    if Fold.SPACE in folds:
        text = text.translate(_ONE_FOR_ONE) if text.isascii() else _LINE_ENDS.sub(" ", text)
    return text.replace("`", "'") if Fold.PUNCTUATION in folds else text


_LINE_ENDS = re.compile(r"[\t\n\r\x0b\x0c]")
_ASCII_UPPER = re.compile("[A-Z]+")


def _lower_ascii(text: str) -> str:
    """Lower case where it cannot change the length; everything else was rewritten piece by piece."""
    return text.lower() if text.isascii() else _ASCII_UPPER.sub(lambda run: run.group().lower(), text)


def folded_document(document: Document, folds: frozenset[Fold]) -> FoldedText:
    return document.derived(("fold", folds), lambda text: fold(text, folds))


def is_word(character: str) -> bool:
    """Letters, digits, underscore and combining marks: what must not continue past a found token."""
    return character == "_" or character.isalnum() or unicodedata.category(character)[0] == "M"


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether ``text[start:end]`` ends where words and numbers end: ``5.000`` does not stand alone in ``15.000``."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start : start + 1], text[end - 1 : end]
    if before and is_word(before) and is_word(first):
        return False
    if after and ((is_word(after) and is_word(last)) or unicodedata.combining(after)):
        return False
    if first.isdigit() and before and before in ".," and text[start - 2 : start - 1].isdigit():
        return False
    return not (last.isdigit() and after and after in ".," and text[end + 1 : end + 2].isdigit())


MAX_LOOKS = 2_000
"""Candidate places looked at for one text: a document must not decide how long it is searched."""


def occurrences(text: str, wanted: str, most: int) -> list[tuple[int, int]]:
    """Where ``wanted`` stands alone in the text, at most ``most`` places."""
    found: list[tuple[int, int]] = []
    start = text.find(wanted) if wanted else -1
    looked = 0
    while start >= 0 and len(found) < most and looked < MAX_LOOKS:
        looked += 1
        if stands_alone(text, start, start + len(wanted)):
            found.append((start, start + len(wanted)))
        start = text.find(wanted, start + 1)
    return found


@dataclass(frozen=True, slots=True)
class Printed:
    """How a document prints a text: ``exact``, ``folded`` under the declared folds, or only under undeclared ones (``gap``)."""

    match: str
    spans: tuple[Span, ...]


def find_text(document: Document, wanted: str, folds: frozenset[Fold], most: int) -> Printed | None:
    """The places where the document prints the text, nearest kind of match first; ``None`` where it does not."""
    return document.derived(("text", wanted, folds, most), lambda _: _find_text(document, wanted, folds, most))


def _find_text(document: Document, wanted: str, folds: frozenset[Fold], most: int) -> Printed | None:
    if exact := occurrences(document.text, wanted, most):
        return Printed("exact", tuple(Span(*place) for place in exact))
    for kind, chosen in (("folded", folds), ("gap", EVERY_FOLD)):
        target = folded_document(document, chosen)
        sought = fold(wanted, chosen).text
        if Fold.SPACE in chosen:
            sought = sought.strip()
        if sought and (found := occurrences(target.text, sought, most)):
            return Printed(kind, tuple(target.span(*place) for place in found))
    return None
