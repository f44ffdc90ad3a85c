"""Reading a reply as exactly one JSON value (RFC 8259), and writing values back without losing a digit.

Stricter than ``json.loads``: no NaN or Infinity, no duplicate key, no lone surrogate, no byte order mark, bounded depth, digits
and exponents. Numbers are ``int`` or ``Decimal``. Nothing is repaired: text around a value is a failure with its own class.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, NoReturn

from controller.pointer import join
from controller.report import JSON, FailureClass

MAX_DEPTH = 128
"""Arrays and objects inside each other."""
MAX_DIGITS = 1_000
"""Characters of one number."""
MAX_EXPONENT = 308
"""Largest power of ten of a number, either way: what an IEEE double can hold, so that other readers can follow."""
MAX_CANDIDATES = 64
"""Openings looked at when deciding whether a refused text holds one JSON value, several or none."""

_BLANK = " \t\n\r"


class Malformed(ValueError):
    """The text is not exactly one JSON value. ``detail`` is a fixed phrase and never quotes the text.

    ``pointer`` is the place of a duplicate key (it holds model-made keys: cut it before showing it), else empty;
    ``at`` is a code point offset into the text that was given, 0 where no place is known.
    """

    def __init__(self, failure_class: FailureClass, pointer: str, detail: str, at: int) -> None:
        super().__init__(f"{failure_class.value}: {detail}")
        self.failure_class = failure_class
        self.pointer = pointer
        self.detail = detail
        self.at = at


class _Refused(ValueError):
    """Raised inside the decoder's hooks, which do not know their offset."""


class _DuplicateKey(_Refused):
    pass


def _constant(_: str) -> NoReturn:
    raise _Refused("NaN and Infinity are not JSON")


def _integer(text: str) -> int | Decimal:
    if len(text) > MAX_DIGITS:
        raise _Refused("number out of range")
    return Decimal("-0") if text == "-0" else int(text)


def _decimal(text: str) -> Decimal:
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent or 0)) > MAX_DIGITS:
        raise _Refused("number out of range")
    number = Decimal(text)
    if not -MAX_EXPONENT <= number.adjusted() <= MAX_EXPONENT:
        raise _Refused("number out of range")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise _DuplicateKey("the same key twice in one object")
    return built


_STRICT = json.JSONDecoder(
    parse_float=_decimal, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object, strict=True
)
_LENIENT = json.JSONDecoder(parse_float=str, parse_int=str)


def parse(text: str) -> JSON:
    """The one JSON value in ``text``, blanks around it allowed. Raises ``Malformed`` and nothing else."""
    if not text.strip():
        raise Malformed(FailureClass.EMPTY_OUTPUT, "", "nothing but blanks", 0)
    if text.startswith("\ufeff"):
        raise Malformed(FailureClass.SYNTAX, "", "byte order mark", 0)
    if (deep := _too_deep_at(text)) is not None:
        raise Malformed(FailureClass.SYNTAX, "", "nested too deeply", deep)
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = _STRICT.raw_decode(text, start)
    except _DuplicateKey as error:
        raise _duplicate(text, start, error) from None
    except _Refused as error:
        raise Malformed(FailureClass.SYNTAX, "", str(error), start) from None
    except json.JSONDecodeError as error:
        raise Malformed(_class_of_refused(text), "", error.msg.lower(), error.pos) from None
    except RecursionError:
        raise Malformed(FailureClass.SYNTAX, "", "nested too deeply", start) from None
    rest = text[end:].strip(_BLANK)
    if rest:
        raise Malformed(_class_of_extra(text, rest), "", "more than one JSON value or text around it", end)
    if _has_lone_surrogate(text, value):
        raise Malformed(FailureClass.SYNTAX, "", "lone surrogate", start)
    result: JSON = value
    return result


def parse_bytes(data: bytes) -> JSON:
    """As ``parse``, from UTF-8; any other encoding is ``SYNTAX``."""
    try:
        text = data.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        raise Malformed(FailureClass.SYNTAX, "", "not UTF-8", error.start) from None
    return parse(text)


# --- what kind of refusal -------------------------------------------------------------------------------------------------


def _class_of_extra(text: str, rest: str) -> FailureClass:
    try:
        _LENIENT.decode(rest)
    except (ValueError, RecursionError):
        return _class_of_refused(text)
    return FailureClass.AMBIGUOUS_JSON


def _class_of_refused(text: str) -> FailureClass:
    """One object or array with text around it, several of them, or nothing that was JSON."""
    found = sum(1 for _ in _values_in(text))
    if found > 1:
        return FailureClass.AMBIGUOUS_JSON
    return FailureClass.EXTRA_TEXT if found else FailureClass.SYNTAX


_OPENING = re.compile(r"[{\[]")


def _values_in(text: str) -> Iterator[int]:
    """Offsets of the objects and arrays that stand in the text side by side.

    Stops at an opening that began as JSON and then broke: what lies behind it is its inside, not another value.
    """
    position, tried = 0, 0
    while (opening := _OPENING.search(text, position)) and tried < MAX_CANDIDATES:
        tried += 1
        start = opening.start()
        try:
            _, position = _LENIENT.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if text[start + 1 : error.pos].strip(_BLANK) or error.pos >= len(text):
                return
            position = start + 1
        except (ValueError, RecursionError):
            return
        else:
            yield start


# A string that never ends is taken to the end of the text: looking for its end from each of its quotes would be quadratic.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)


def _too_deep_at(text: str) -> int | None:
    """Where the nesting passes the limit. Few openings cannot, so that ordinary replies are not scanned."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return None
    depth = 0
    for bracket in _BRACKET.finditer(text):
        mark = bracket.group()
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return bracket.start()
        elif mark in "]}":
            depth = max(0, depth - 1)
    return None


@dataclass(frozen=True, slots=True)
class _Doubled:
    key: str


def _duplicate(text: str, start: int, error: _DuplicateKey) -> Malformed:
    """Reads once more, keeping doubled objects as marks, to say where the first one is."""

    def keep(pairs: list[tuple[str, Any]]) -> Any:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                return _Doubled(key)
            seen.add(key)
        return dict(pairs)

    try:
        tree, end = json.JSONDecoder(parse_float=str, parse_int=str, object_pairs_hook=keep).raw_decode(text, start)
    except (ValueError, RecursionError):
        return Malformed(FailureClass.SYNTAX, "", "not JSON behind a doubled key", start)
    if text[end:].strip(_BLANK):
        return Malformed(_class_of_extra(text, text[end:].strip(_BLANK)), "", "text around the JSON value", end)
    return Malformed(FailureClass.DUPLICATE_KEY, _first_doubled(tree), str(error), start)


def _first_doubled(tree: Any) -> str:
    waiting: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    while waiting:
        tokens, node = waiting.pop()
        if isinstance(node, _Doubled):
            return join((*tokens, node.key))
        if isinstance(node, dict):
            waiting.extend(((*tokens, key), child) for key, child in reversed(node.items()))
        elif isinstance(node, list):
            waiting.extend(((*tokens, str(index)), child) for index, child in reversed(list(enumerate(node))))
    return ""


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _has_lone_surrogate(text: str, value: Any) -> bool:
    if text.isascii() and not _ESCAPED_SURROGATE.search(text):
        return False
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            if not _encodes(node):
                return True
        elif isinstance(node, dict):
            waiting.extend(node.keys())
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# --- writing --------------------------------------------------------------------------------------------------------------


def dumps(value: JSON) -> str:
    """Compact JSON text of a parsed value: keys in their order, Decimals unrounded, control characters escaped.

    ``parse(dumps(value)) == value`` for everything that ``parse`` returns. Raises ``ValueError`` for what JSON cannot hold
    (a lone surrogate, a Decimal NaN) and ``TypeError`` for a foreign type such as ``float``.
    """
    parts: list[str] = []
    _write(value, parts)
    text = "".join(parts)
    if not _encodes(text):
        raise ValueError("a lone surrogate cannot be written as JSON")
    return text


def _write(value: JSON, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int):
        parts.append(int.__repr__(value))
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError("NaN and Infinity are not JSON")
        parts.append(str(value))
    elif isinstance(value, dict):
        _write_object(value, parts)
    elif isinstance(value, list):
        _write_array(value, parts)
    else:
        raise TypeError(f"{type(value).__name__} is not a JSON type here")


def _write_object(value: dict[str, JSON], parts: list[str]) -> None:
    separator = "{"
    for key, child in value.items():
        parts.append(f"{separator}{encode_basestring(key)}:")
        _write(child, parts)
        separator = ","
    parts.append("}" if value else "{}")


def _write_array(value: list[JSON], parts: list[str]) -> None:
    separator = "["
    for child in value:
        parts.append(separator)
        _write(child, parts)
        separator = ","
    parts.append("]" if value else "[]")


# --- around the value -----------------------------------------------------------------------------------------------------

_FENCE_OPEN = re.compile(r"(`{3,}|~{3,})[A-Za-z0-9_+-]*[ \t]*\Z")


def unfence(text: str) -> str | None:
    """The inside of the one code fence that wraps the whole trimmed text, or ``None``. Only for a signed tolerant mode."""
    lines = text.strip().split("\n")
    opening = _FENCE_OPEN.match(lines[0].rstrip("\r"))
    if opening is None or len(lines) < 2:
        return None
    fence = opening.group(1)
    inside = lines[1:-1]
    if lines[-1].strip() != fence or any(line.lstrip().startswith(fence[:3]) for line in inside):
        return None
    return "\n".join(inside)


_THINK_BLOCK = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_CLOSING = "</think>"


def strip_think(text: str) -> str:
    """The text behind leading think blocks, or behind a lone closing tag whose opening was part of the prompt.

    A closing tag inside a JSON value is text of that value: nothing is cut where the reply starts like JSON.
    """
    end = 0
    while block := _THINK_BLOCK.match(text, end):
        end = block.end()
    text = text[end:]
    before, tag, after = text.partition(_CLOSING)
    if tag and "<think>" not in before and not before.lstrip().startswith(("{", "[", '"')):
        return after
    return text
