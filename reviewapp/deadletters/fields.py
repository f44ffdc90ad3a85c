"""A value as a form that the contract's schema shapes, and the form as a value again. Pure: no request, no database.

The form is a flat mapping of texts, as a browser posts it and a draft keeps it: ``v:<pointer>`` holds a leaf, ``n:<pointer>``
the number of rows of an array, ``x:<pointer>`` the JSON of keys that the contract does not name. What the schema says in a way
that no field can show (several forms at one place, no type) is edited as JSON text, so that every contract can be filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from controller.pointer import escape, follow
from controller.report import JSON
from controller.strict_json import Malformed, dumps, parse

LEAF, COUNT, EXTRA = "v:", "n:", "x:"
MOST_ROWS = 200
LONG = 80
ABSENT = object()
_SIMPLE = {"string", "number", "integer", "boolean"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the schema asks for at one place, as far as a form can show it. ``kind`` is string, number, integer, boolean,
    choice, object, array or json."""

    kind: str
    nullable: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[str, ...] = ()


def shape_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Shape:
    """The shape of a subschema. References and "this or null" are followed; anything else that branches is JSON."""
    if not isinstance(schema, Mapping) or depth > 8:
        return Shape("json")
    if isinstance(reference := schema.get("$ref"), str):
        return shape_of(follow(root, reference), root, depth + 1)
    for branching in ("anyOf", "oneOf"):
        if branching in schema:
            return _branched(schema[branching], root, depth)
    if "enum" in schema:
        options = [option for option in schema["enum"] if option is not None]
        return Shape("choice", None in schema["enum"], schema, tuple(dumps(_exact(option)) for option in options))
    declared = schema.get("type")
    types = set(declared) if isinstance(declared, list) else {declared}
    nullable = "null" in types
    types -= {"null"}
    if len(types) != 1:
        return Shape("json")
    (kind,) = types
    if kind == "object" and isinstance(schema.get("properties"), Mapping):
        return Shape("object", nullable, schema)
    if kind == "array" and isinstance(schema.get("items"), Mapping) and "prefixItems" not in schema:
        return Shape("array", nullable, schema)
    return Shape(kind, nullable, schema) if kind in _SIMPLE else Shape("json", nullable, schema)


def _branched(branches: Any, root: Mapping[str, Any], depth: int) -> Shape:
    others = [branch for branch in branches if not (isinstance(branch, Mapping) and branch.get("type") == "null")]
    if len(others) != 1 or len(others) == len(branches):
        return Shape("json")
    found = shape_of(others[0], root, depth + 1)
    return Shape(found.kind, True, found.schema, found.choices)


def _exact(option: Any) -> JSON:
    return Decimal(str(option)) if isinstance(option, float) else option


def spread(contract: Mapping[str, Any], value: JSON, *, known: bool = True) -> dict[str, str]:
    """The value as the form's texts. ``known`` False: there is no value yet, and every field is empty."""
    raw: dict[str, str] = {}
    _spread(shape_of(contract, contract), contract, "", value if known else ABSENT, raw)
    return raw


def _spread(shape: Shape, root: Mapping[str, Any], pointer: str, value: Any, raw: dict[str, str]) -> None:
    if shape.kind == "object":
        properties = shape.schema["properties"]
        inside = value if isinstance(value, dict) else {}
        for key, child in properties.items():
            _spread(shape_of(child, root), root, f"{pointer}/{escape(key)}", inside.get(key, ABSENT), raw)
        extra = {key: item for key, item in inside.items() if key not in properties}
        if extra:
            raw[EXTRA + pointer] = dumps(extra)
        elif value is not ABSENT and value is not None and not isinstance(value, dict):
            raw[EXTRA + pointer] = dumps(value)
    elif shape.kind == "array":
        items = value[:MOST_ROWS] if isinstance(value, list) else []
        raw[COUNT + pointer] = str(len(items))
        for index, item in enumerate(items):
            _spread(shape_of(shape.schema["items"], root), root, f"{pointer}/{index}", item, raw)
    else:
        raw[LEAF + pointer] = _text(shape, value)


def _text(shape: Shape, value: Any) -> str:
    if value is ABSENT or (value is None and shape.kind != "json"):
        return ""
    if shape.kind == "string" and isinstance(value, str):
        return value
    return dumps(value)


@dataclass(slots=True)
class Gathered:
    """What the form says. ``errors`` are the fields that say nothing readable, by pointer; then ``value`` is no value."""

    value: JSON = None
    errors: dict[str, str] = field(default_factory=dict)


def gather(contract: Mapping[str, Any], raw: Mapping[str, str]) -> Gathered:
    """The value that the form's texts stand for. An empty field is null where the contract takes null, else left out."""
    found = Gathered()
    value = _gather(shape_of(contract, contract), contract, "", raw, found.errors, required=True)
    found.value = None if value is ABSENT else value
    return found


def _gather(
    shape: Shape, root: Mapping[str, Any], pointer: str, raw: Mapping[str, str], errors: dict[str, str], *, required: bool
) -> Any:
    if shape.kind == "object":
        return _gather_object(shape, root, pointer, raw, errors, required=required)
    if shape.kind == "array":
        rows = [
            _gather(shape_of(shape.schema["items"], root), root, f"{pointer}/{index}", raw, errors, required=True)
            for index in range(count_at(raw, pointer))
        ]
        if not rows and (shape.nullable or not required):
            return None if shape.nullable else ABSENT
        return [None if row is ABSENT else row for row in rows]
    return _gather_leaf(shape, pointer, raw.get(LEAF + pointer, ""), errors, required=required)


def _gather_object(
    shape: Shape, root: Mapping[str, Any], pointer: str, raw: Mapping[str, str], errors: dict[str, str], *, required: bool
) -> Any:
    wanted = shape.schema.get("required", ())
    built = {}
    for key, child in shape.schema["properties"].items():
        inner = shape_of(child, root)
        item = _gather(inner, root, f"{pointer}/{escape(key)}", raw, errors, required=key in wanted)
        if item is not ABSENT:
            built[key] = item
    extra = raw.get(EXTRA + pointer, "").strip()
    if extra:
        more = _json(extra, pointer, errors)
        if isinstance(more, dict):
            built |= {key: item for key, item in more.items() if key not in built}
        elif more is not ABSENT:
            errors.setdefault(pointer, "other fields are written as a JSON object")
    if (shape.nullable or not required) and all(item is None for item in built.values()):
        return None if shape.nullable and required else ABSENT
    return built


def _gather_leaf(shape: Shape, pointer: str, text: str, errors: dict[str, str], *, required: bool) -> Any:
    if shape.kind == "string":
        text = text.replace("\r\n", "\n")
        if text:
            return text
        return None if shape.nullable else (ABSENT if not required or shape.schema.get("minLength") else "")
    text = text.strip()
    if not text:
        return None if shape.nullable else ABSENT
    value = _json(text, pointer, errors)
    if value is ABSENT or shape.kind == "json":
        return value
    if shape.kind in ("number", "integer") and (isinstance(value, bool) or not isinstance(value, int | Decimal)):
        errors[pointer] = "a number is expected, with a point for decimals and no separators"
    elif shape.kind == "boolean" and not isinstance(value, bool):
        errors[pointer] = "true or false is expected"
    return value


def _json(text: str, pointer: str, errors: dict[str, str]) -> Any:
    try:
        return parse(text)
    except Malformed:
        errors[pointer] = "this cannot be read as a number or JSON value"
        return ABSENT


def count_at(raw: Mapping[str, str], pointer: str) -> int:
    """How many rows the array at ``pointer`` has in the form."""
    text = raw.get(COUNT + pointer, "0")
    return min(int(text), MOST_ROWS) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def add_row(raw: Mapping[str, str], pointer: str) -> dict[str, str]:
    """The form with one more, empty, row at the end of the array."""
    return {**raw, COUNT + pointer: str(min(count_at(raw, pointer) + 1, MOST_ROWS))}


def remove_row(raw: Mapping[str, str], pointer: str, index: int) -> dict[str, str]:
    """The form without that row; the rows below it move up."""
    count = count_at(raw, pointer)
    if not 0 <= index < count:
        return dict(raw)
    kept: dict[str, str] = {}
    for name, text in raw.items():
        place = _row_of(name, pointer)
        if place is None or place[1] < index:
            kept[name] = text
        elif place[1] > index:
            prefix, at, rest = place
            kept[f"{prefix}{pointer}/{at - 1}{rest}"] = text
    kept[COUNT + pointer] = str(count - 1)
    return kept


def _row_of(name: str, pointer: str) -> tuple[str, int, str] | None:
    """(prefix, row, rest) of a name inside the array's rows."""
    prefix, inside = name[:2], name[2:]
    if prefix not in (LEAF, COUNT, EXTRA) or not inside.startswith(pointer + "/"):
        return None
    token, slash, rest = inside[len(pointer) + 1 :].partition("/")
    return (prefix, int(token), slash + rest) if token.isdigit() else None


@dataclass(frozen=True, slots=True)
class Node:
    """One place of the form for a template: a leaf with its text, or an object or array with its children."""

    pointer: str
    label: str
    kind: str
    name: str
    text: str = ""
    nullable: bool = False
    required: bool = False
    choices: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()
    extra: str = ""
    index: int | None = None
    removable: bool = False

    @property
    def is_long(self) -> bool:
        return self.kind == "json" or "\n" in self.text or len(self.text) > LONG

    @property
    def element_id(self) -> str:
        return element_id(self.pointer)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def element_id(pointer: str) -> str:
    """An HTML id: letters, digits, ``-`` and ``_`` of the pointer, the rest as code points."""
    return "f" + "".join(c if c.isascii() and (c.isalnum() or c in "-_") else f".{ord(c):x}" for c in pointer)


def nodes(contract: Mapping[str, Any], raw: Mapping[str, str]) -> Node:
    """The whole form as a tree."""
    return _node(shape_of(contract, contract), contract, "", "value", raw, required=True)


def _node(
    shape: Shape,
    root: Mapping[str, Any],
    pointer: str,
    label: str,
    raw: Mapping[str, str],
    *,
    required: bool,
    index: int | None = None,
    removable: bool = False,
) -> Node:
    about: dict[str, Any] = {
        "nullable": shape.nullable,
        "required": required,
        "index": index,
        "removable": removable,
    }
    if shape.kind == "object":
        wanted = shape.schema.get("required", ())
        children = tuple(
            _node(shape_of(child, root), root, f"{pointer}/{escape(key)}", key, raw, required=key in wanted)
            for key, child in shape.schema["properties"].items()
        )
        return Node(pointer, label, "object", EXTRA + pointer, children=children, extra=raw.get(EXTRA + pointer, ""), **about)
    if shape.kind == "array":
        item = shape_of(shape.schema["items"], root)
        children = tuple(
            _node(item, root, f"{pointer}/{at}", f"{label} {at + 1}", raw, required=True, index=at, removable=True)
            for at in range(count_at(raw, pointer))
        )
        return Node(pointer, label, "array", COUNT + pointer, text=str(len(children)), children=children, **about)
    name = LEAF + pointer
    return Node(pointer, label, shape.kind, name, raw.get(name, ""), choices=shape.choices, **about)


def posted(data: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The form's own fields out of everything that was posted."""
    return {name: text for name, text in data if name[:2] in (LEAF, COUNT, EXTRA)}
