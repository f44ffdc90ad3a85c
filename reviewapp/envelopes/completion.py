"""What can stand at one place of an envelope's text: field names and enumerated values, from the schemas themselves.

The text may be unfinished. A mark is put where the caret is, and the YAML scanner's tokens up to the first thing that it cannot
read tell which fields lie around the mark; nothing has to be valid for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from controller.authoring import MAX_BYTES
from controller.checks import SPEC_UNION_SCHEMA
from controller.envelope import Envelope
from controller.fallbacks import FALLBACKS

MARK = "caretcaretcaret"
_WORD = re.compile(r"[\w-]*")
_KEY_PLACE = re.compile(r"\s*(?:- +)*")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to insert. ``note`` says in a few words what it is."""

    name: str
    insert: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What fits, as the schema orders it. Taking one replaces ``back`` characters before the caret and ``ahead`` after it."""

    where: str = ""
    options: tuple[Option, ...] = ()
    back: int = 0
    ahead: int = 0


def complete(text: str, at: int) -> Completion:
    """What can stand at ``at`` (characters from the start): nothing inside texts, comments and contracts."""
    if not 0 <= at <= len(text) or len(text) > MAX_BYTES:
        return Completion()
    start, end = at - len(_last_word(text[:at])), at + len(_word(text, at))
    place = _place(text, start, end)
    if place is None:
        return Completion()
    typed, is_named = text[start:at], text[end : end + 1] == ":"
    options = tuple(option for option in _options(place, is_named) if option.name.startswith(typed))
    return Completion(".".join(map(str, place.path)), options, at - start, end - at)


def _last_word(before: str) -> str:
    return _word(before[::-1], 0)


def _word(text: str, at: int) -> str:
    found = _WORD.match(text, at)
    return found[0] if found else ""


@dataclass(slots=True)
class _Level:
    """One mapping or list around the place that is being read."""

    is_list: bool
    is_indentless: bool = False
    key: str = ""
    index: int = -1
    expects_key: bool = True
    scalars: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the mark is: the fields that lead to it, and what stands beside it in its mapping and those around."""

    path: tuple[str | int, ...]
    is_key: bool
    levels: tuple[_Level, ...]

    @property
    def beside(self) -> _Level:
        return self.levels[-1]


def _place(text: str, start: int, end: int) -> _Place | None:
    """``None`` where the mark is in a text or a comment, or where what stands before it is no YAML."""
    before = text[:start]
    colon = ":" if _KEY_PLACE.fullmatch(before.rpartition("\n")[2]) and text[end : end + 1] != ":" else ""
    found: _Place | None = None
    levels: list[_Level] = []
    for token in _tokens(f"{before}{MARK}{colon}{text[end:]}"):
        if found is not None and not _is_around(found, levels):
            break
        if isinstance(token, yaml.ScalarToken) and token.value == MARK and levels:
            found = _Place(_path(levels), _is_key(levels[-1]), tuple(levels))
        _read(token, levels)
    return found


def _is_around(place: _Place, levels: list[_Level]) -> bool:
    return len(levels) >= len(place.levels) and levels[len(place.levels) - 1] is place.beside


def _tokens(text: str) -> Iterator[yaml.Token]:
    loader = _Loader(text)
    try:
        while loader.check_token():
            yield loader.get_token()
    except yaml.YAMLError:
        return  # what comes after cannot be read; what came before tells enough
    finally:
        loader.dispose()


def _is_key(level: _Level) -> bool:
    return not level.is_list and level.expects_key


def _path(levels: list[_Level]) -> tuple[str | int, ...]:
    """The last level counts with its key only where the mark is a value."""
    inner = levels[-1]
    steps: list[str | int] = [level.index if level.is_list else level.key for level in levels[:-1]]
    if not _is_key(inner):
        steps.append(max(inner.index, 0) if inner.is_list else inner.key)
    return tuple(steps)


_OPENS = (yaml.BlockMappingStartToken, yaml.FlowMappingStartToken, yaml.BlockSequenceStartToken, yaml.FlowSequenceStartToken)
_CLOSES = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_LISTS = (yaml.BlockSequenceStartToken, yaml.FlowSequenceStartToken)


def _read(token: yaml.Token, levels: list[_Level]) -> None:
    """One token further. A list whose dashes stand right under its key opens and closes without tokens of its own."""
    if isinstance(token, _OPENS):
        is_flow_list = isinstance(token, yaml.FlowSequenceStartToken)
        levels.append(_Level(isinstance(token, _LISTS), index=0 if is_flow_list else -1))
        return
    if levels and levels[-1].is_indentless and isinstance(token, (*_CLOSES, yaml.KeyToken)):
        levels.pop()
    if not levels:
        return
    level = levels[-1]
    if isinstance(token, _CLOSES):
        levels.pop()
    elif isinstance(token, yaml.BlockEntryToken) and not level.is_list:
        levels.append(_Level(True, is_indentless=True, index=0))
    elif isinstance(token, (yaml.BlockEntryToken, yaml.FlowEntryToken)):
        level.index, level.expects_key = level.index + 1, True
    elif isinstance(token, yaml.KeyToken):
        level.expects_key = True
    elif isinstance(token, yaml.ValueToken):
        level.expects_key = False
    elif isinstance(token, yaml.ScalarToken) and not level.is_list:
        _read_scalar(level, token.value)


def _read_scalar(level: _Level, value: str) -> None:
    if not level.expects_key:
        level.scalars[level.key], level.expects_key = value, True
    elif value != MARK:
        level.key = value
        level.names.add(value)


def _options(place: _Place, is_named: bool) -> Iterator[Option]:
    for schema in _schemas(place):
        if place.is_key and "properties" in schema:
            required = schema.get("required", ())
            for name, about in schema.get("properties", {}).items():
                if name not in place.beside.names:
                    yield Option(name, name if is_named else f"{name}: ", _note(about, schema, name in required))
        else:
            yield from (Option(value, value) for value in _values(schema))


def _schemas(place: _Place) -> list[Schema]:
    """The schemas at the place: of the mapping that a field would stand in, or of the value."""
    found: list[Schema] = [_root()]
    for depth, step in enumerate(place.path):
        kind = _kind_at(place, depth + 1)
        found = [below for schema in found for below in _below(schema, step, kind)]
    return found


def _kind_at(place: _Place, depth: int) -> str:
    """The ``kind`` that is written in the mapping at this depth, if any."""
    return place.levels[depth].scalars.get("kind", "") if depth < len(place.levels) else ""


def _below(schema: Schema, step: str | int, kind: str) -> Iterator[Schema]:
    if isinstance(step, int):
        below = schema.get("items")
    else:
        below = schema.get("properties", {}).get(step) or schema.get("additionalProperties")
    if isinstance(below, Mapping):
        yield from _flat(_resolved(below, schema), kind)


def _flat(schema: Schema, kind: str) -> Iterator[Schema]:
    """The alternatives of a schema, narrowed to those of ``kind`` where one is written; all have what every one has."""
    if "kinds" in schema:
        kinds: Mapping[str, Schema] = schema["kinds"]
        yield kinds.get(kind, schema)
        return
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if not alternatives:
        yield schema
        return
    for alternative in alternatives:
        yield from _flat(_resolved(alternative, schema), kind)


def _resolved(schema: Schema, around: Schema) -> Schema:
    """The schema behind a reference. Definitions travel along, since those of checks have their own."""
    definitions = around.get("$defs", {})
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in _menus():
        return _menus()[name]
    return {**(definitions[name] if name else schema), "$defs": definitions}


_SHORT_FORMS = {"Slot": "type"}
"""Definitions that may be written as one of their fields alone."""


def _values(schema: Schema) -> Iterator[str]:
    short = _SHORT_FORMS.get(schema.get("title", ""))
    if short is not None:
        yield from _values(_resolved(schema["properties"][short], schema))
    elif "const" in schema:
        yield str(schema["const"])
    elif schema.get("type") == "boolean":
        yield from ("true", "false")
    else:
        yield from map(str, schema.get("enum", ()))


def _note(about: Schema, around: Schema, is_required: bool) -> str:
    """What a field is, in the words of the schema."""
    schema = _resolved(about, around)
    values = [value for one in _flat(schema, "") for value in _values(one)]
    said = schema.get("description") if "description" in about or "$ref" not in about else ""
    words = said or (", ".join(values[:6]) if values else _TYPES.get(str(schema.get("type")), ""))
    return f"required; {words}".removesuffix("; ") if is_required else words


_TYPES = {"string": "text", "integer": "a whole number", "number": "a number", "array": "a list", "object": "fields of its own"}


@lru_cache(maxsize=1)
def _root() -> Schema:
    return Envelope.model_json_schema(by_alias=True)


@lru_cache(maxsize=1)
def _menus() -> dict[str, Schema]:
    """The lists whose items' fields depend on their ``kind``: definition name of the envelope's schema → its kinds."""
    checks = SPEC_UNION_SCHEMA()
    return {
        "CheckSpec": _menu({kind: {**one, "$defs": checks["$defs"]} for kind, one in _by_kind(checks)}),
        "FallbackSpec": _menu({kind: module.Spec.model_json_schema(by_alias=True) for kind, module in FALLBACKS.items()}),
    }


def _by_kind(union: Schema) -> Iterator[tuple[str, Schema]]:
    for kind, reference in union["discriminator"]["mapping"].items():
        yield kind, union["$defs"][reference.removeprefix("#/$defs/")]


def _menu(kinds: dict[str, Schema]) -> Schema:
    """One schema for an item whose kind is not written yet: what every kind has, and ``kind`` itself with all of them."""
    first = next(iter(kinds.values()))
    common = [name for name in first["properties"] if all(name in one["properties"] for one in kinds.values())]
    properties = {name: first["properties"][name] for name in common}
    properties["kind"] = {"enum": list(kinds), "description": "decides which other fields there are"}
    required = [*(name for name in first["required"] if name in common), "kind"]
    return {"kinds": kinds, "properties": properties, "required": required, "$defs": first.get("$defs", {})}
