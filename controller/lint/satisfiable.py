"""Whether any value can keep a JSON Schema: the contradictions that people write, found without solving.

Deciding it in general is not practical (patterns, ``not`` and conditionals mix freely). A schema is called unsatisfiable only
where that is certain; nothing is claimed about the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.pointer import follow

_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_PAIRS = (
    ("minimum", "maximum", {"integer", "number"}),
    ("minLength", "maxLength", {"string"}),
    ("minItems", "maxItems", {"array"}),
    ("minProperties", "maxProperties", {"object"}),
)
_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Contradiction:
    """``where`` is the path inside the contract such as ``properties.total``, ``fatal`` whether no value at all can pass."""

    where: str
    message: str
    fatal: bool


def contradictions(contract: Mapping[str, Any]) -> list[Contradiction]:
    """Every contradiction, in the order of the schema; a fatal one makes the whole contract unsatisfiable."""
    return list(_Search(contract).of(contract, "", True, 0))


class _Search:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root

    def of(self, schema: Any, where: str, is_needed: bool, depth: int) -> Iterator[Contradiction]:
        if schema is False:
            yield Contradiction(where, "false lets nothing pass", is_needed)
            return
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return
        own = self._own(schema)
        for message in own:
            yield Contradiction(where, message, is_needed)
        if not own:
            yield from self._below(schema, where, is_needed, depth)

    def _own(self, schema: Mapping[str, Any]) -> list[str]:
        """Contradictions between keywords at the same place, those of ``allOf`` and ``$ref`` included."""
        parts = self._together(schema, 0)
        types = _possible_types(parts)
        found = []
        if not types:
            found.append("the types that it asks for exclude each other")
        options = _options(parts)
        if options is not None and types and not any(_type_of(option) & types for option in options):
            found.append("no value of enum or const has the type that it asks for" if options else "the enums share no value")
        for low, high, kinds in _PAIRS:
            least, most = _extreme(parts, low, max), _extreme(parts, high, min)
            if least is not None and most is not None and least > most and types <= kinds:
                found.append(f"{low} {least} is above {high} {most}")
        found += _bounds(parts, types)
        found += _required(parts, types)
        return found

    def _together(self, schema: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
        parts = [schema]
        if depth > _DEPTH:
            return parts
        if isinstance(reference := schema.get("$ref"), str) and isinstance(target := follow(self.root, reference), Mapping):
            parts += self._together(target, depth + 1) if target is not schema else []
        for branch in schema.get("allOf") or ():
            if isinstance(branch, Mapping):
                parts += self._together(branch, depth + 1)
        return parts

    def _below(self, schema: Mapping[str, Any], where: str, is_needed: bool, depth: int) -> Iterator[Contradiction]:
        required = set(schema.get("required") or ())
        is_object = schema.get("type") == "object"
        properties = schema.get("properties")
        for name, child in properties.items() if isinstance(properties, Mapping) else ():
            needed = is_needed and is_object and name in required
            yield from self.of(child, _join(where, f"properties.{name}"), needed, depth + 1)
        if "items" in schema:
            needed = is_needed and schema.get("type") == "array" and _count(schema.get("minItems")) > 0
            yield from self.of(schema["items"], _join(where, "items"), needed, depth + 1)
        for name in ("$defs",):
            for key, child in (schema.get(name) or {}).items():
                yield from self.of(child, _join(where, f"{name}.{key}"), False, depth + 1)
        for name in ("anyOf", "oneOf"):
            branches = schema.get(name)
            if isinstance(branches, list) and branches:
                yield from self._branches(branches, _join(where, name), is_needed, depth)

    def _branches(self, branches: list[Any], where: str, is_needed: bool, depth: int) -> Iterator[Contradiction]:
        found = [list(self.of(branch, f"{where}[{number}]", True, depth + 1)) for number, branch in enumerate(branches)]
        none_left = all(any(c.fatal for c in group) for group in found)
        for group in found:
            for one in group:
                yield Contradiction(one.where, one.message, one.fatal and none_left and is_needed)


def _possible_types(parts: list[Mapping[str, Any]]) -> set[str]:
    types = set(_TYPES)
    for part in parts:
        declared = part.get("type")
        if declared is None:
            continue
        asked = {declared} if isinstance(declared, str) else set(declared)
        types &= asked | ({"integer"} if "number" in asked else set())
    return types


def _type_of(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, str):
        return {"string"}
    if isinstance(value, list):
        return {"array"}
    if isinstance(value, Mapping):
        return {"object"}
    return {"integer", "number"} if value == int(value) else {"number"}


def _options(parts: list[Mapping[str, Any]]) -> list[Any] | None:
    """The values that every ``enum`` and ``const`` lets through; ``None`` where there is none of them."""
    lists = [part["enum"] for part in parts if isinstance(part.get("enum"), list)]
    lists += [[part["const"]] for part in parts if "const" in part]
    if not lists:
        return None
    return [option for option in lists[0] if all(option in others for others in lists[1:])]


def _extreme(parts: list[Mapping[str, Any]], name: str, pick: Any) -> Any:
    values = [part[name] for part in parts if isinstance(part.get(name), int | float) and not isinstance(part[name], bool)]
    return pick(values) if values else None


def _bounds(parts: list[Mapping[str, Any]], types: set[str]) -> list[str]:
    if not types <= {"integer", "number"}:
        return []
    above, below = _extreme(parts, "exclusiveMinimum", max), _extreme(parts, "exclusiveMaximum", min)
    least, most = _extreme(parts, "minimum", max), _extreme(parts, "maximum", min)
    if above is not None and below is not None and above >= below:
        return [f"exclusiveMinimum {above} leaves nothing below exclusiveMaximum {below}"]
    if above is not None and most is not None and above >= most:
        return [f"exclusiveMinimum {above} leaves nothing up to maximum {most}"]
    if below is not None and least is not None and least >= below:
        return [f"minimum {least} leaves nothing below exclusiveMaximum {below}"]
    return []


def _required(parts: list[Mapping[str, Any]], types: set[str]) -> list[str]:
    if types != {"object"}:
        return []
    required = {name for part in parts for name in part.get("required") or () if isinstance(name, str)}
    found = []
    for part in parts:
        if part.get("additionalProperties") is False and not part.get("patternProperties"):
            missing = sorted(required - set(part.get("properties") or {}))
            if missing:
                found.append(f"{', '.join(missing)} is required, but additionalProperties: false lets no such field in")
    most = _extreme(parts, "maxProperties", min)
    if most is not None and len(required) > most:
        found.append(f"{len(required)} fields are required, maxProperties is {most}")
    return found


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
