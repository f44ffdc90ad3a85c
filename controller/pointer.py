"""JSON pointers (RFC 6901), patterns over them, and cutting them to what a contract names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from controller.report import JSON

WILDCARD = "*"
"""In a pattern: every item of an array and every value of an object. A key that is itself ``*`` cannot be named."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")


class BadPointer(ValueError):
    """The text is not a JSON pointer."""


@lru_cache(maxsize=1024)
def split(pointer: str) -> tuple[str, ...]:
    """The unescaped reference tokens; ``""`` is the whole value and has none. Raises ``BadPointer``."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise BadPointer("a JSON pointer is empty or starts with /")
    if re.search(r"~(?![01])", pointer):
        raise BadPointer("in a JSON pointer ~ is written ~0 and / inside a name ~1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def join(tokens: Iterable[str]) -> str:
    """The pointer of unescaped tokens: the inverse of ``split``."""
    return "".join(["/" + escape(token) for token in tokens])


def escape(token: str) -> str:
    """One reference token as it stands in a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def resolve(value: JSON, pattern: str) -> list[tuple[str, JSON]]:
    """Every place that the pattern names in the value, with its pointer, in document order; absent places are left out."""
    found: list[tuple[str, JSON]] = [("", value)]
    for token in split(pattern):
        found = [child for pointer, node in found for child in _children(pointer, node, token)]
    return found


def _children(pointer: str, node: JSON, token: str) -> Iterator[tuple[str, JSON]]:
    if isinstance(node, dict):
        if token == WILDCARD:
            yield from ((f"{pointer}/{escape(key)}", child) for key, child in node.items())
        elif token in node:
            yield f"{pointer}/{escape(token)}", node[token]
    elif isinstance(node, list):
        if token == WILDCARD:
            yield from ((f"{pointer}/{index}", child) for index, child in enumerate(node))
        elif _INDEX.fullmatch(token) and int(token) < len(node):
            yield f"{pointer}/{token}", node[int(token)]


_BRANCHES = ("allOf", "anyOf", "oneOf")
_CONDITIONALS = ("if", "then", "else", "not")


_REMEMBERED = 512


class ContractNames:
    """The names and positions that a JSON Schema speaks of, to tell the owner's words from the model's.

    Only ``properties`` and ``required`` name keys; keys that ``additionalProperties`` or ``patternProperties`` let through
    are the model's own. Array positions count where the schema speaks of items.
    """

    def __init__(self, contract: Mapping[str, Any]) -> None:
        self._root = contract
        self._views: dict[int, tuple[Mapping[str, Any], ...]] = {}
        self._named: set[str] = {""}

    def cut(self, pointer: str) -> str:
        """The pointer up to the first token that the contract does not name."""
        if pointer in self._named:
            return pointer
        kept: list[str] = []
        schemas = self._view(self._root)
        for token in split(pointer):
            following = self._step(schemas, token)
            if following is None:
                break
            kept.append(token)
            schemas = following
        path = join(kept)
        if len(self._named) < _REMEMBERED:  # only what the contract names, so that no reply's text is kept
            self._named.add(path)
        return path

    def at(self, pointer: str) -> tuple[Mapping[str, Any], ...]:
        """The subschemas that apply at a place; none where the contract does not name it."""
        schemas: tuple[Mapping[str, Any], ...] | None = self._view(self._root)
        for token in split(pointer):
            schemas = self._step(schemas or (), token)
        return schemas or ()

    def allows(self, pattern: str) -> bool:
        """Whether a pattern (``*`` allowed) can name anything that the contract speaks of."""
        schemas = self._view(self._root)
        for token in split(pattern):
            following = self._wild(schemas) if token == WILDCARD else self._step(schemas, token)
            if following is None:
                return False
            schemas = following
        return True

    def _step(self, schemas: tuple[Mapping[str, Any], ...], token: str) -> tuple[Mapping[str, Any], ...] | None:
        following: list[Mapping[str, Any]] = []
        named = False
        is_index = _INDEX.fullmatch(token) is not None
        for schema in schemas:
            properties = schema.get("properties")
            if isinstance(properties, Mapping) and token in properties:
                named = True
                following.extend(self._view(properties[token]))
            elif token in _strings(schema.get("required")):
                named = True
            if is_index and (item := _item_schema(schema, int(token))) is not None:
                named = True
                following.extend(self._view(item))
        return tuple(following) if named else None

    def _wild(self, schemas: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...] | None:
        following: list[Mapping[str, Any]] = []
        named = False
        for schema in schemas:
            inner = [
                schema[key] for key in ("items", "additionalProperties", "contains") if schema.get(key) not in (None, False)
            ]
            for group in (schema.get("properties"), schema.get("patternProperties")):
                inner += list(group.values()) if isinstance(group, Mapping) else []
            prefix = schema.get("prefixItems")
            inner += prefix if isinstance(prefix, list) else []
            named = named or bool(inner)
            for child in inner:
                following.extend(self._view(child))
        return tuple(following) if named else None

    def _view(self, schema: Any) -> tuple[Mapping[str, Any], ...]:
        """The schema with everything that applies at the same place: local references, branches, conditionals."""
        if not isinstance(schema, Mapping):
            return ()
        known = self._views.get(id(schema))
        if known is None:
            gathered: dict[int, Mapping[str, Any]] = {}
            self._gather(schema, gathered)
            known = self._views[id(schema)] = tuple(gathered.values())
        return known

    def _gather(self, schema: Any, gathered: dict[int, Mapping[str, Any]]) -> None:
        if not isinstance(schema, Mapping) or id(schema) in gathered:
            return
        gathered[id(schema)] = schema
        if isinstance(reference := schema.get("$ref"), str):
            self._gather(follow(self._root, reference), gathered)
        for key in _BRANCHES:
            for branch in schema.get(key) or ():
                self._gather(branch, gathered)
        for key in _CONDITIONALS:
            self._gather(schema.get(key), gathered)
        dependent = schema.get("dependentSchemas")
        for branch in dependent.values() if isinstance(dependent, Mapping) else ():
            self._gather(branch, gathered)


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def _item_schema(schema: Mapping[str, Any], index: int) -> Any:
    prefix = schema.get("prefixItems")
    if isinstance(prefix, list) and index < len(prefix):
        return prefix[index]
    items = schema.get("items", schema.get("contains"))
    return None if items is False else items


def follow(root: Mapping[str, Any], reference: str) -> Any:
    """The subschema that a local reference (``#`` or ``#/…``) names, or ``None``."""
    if not reference.startswith("#"):
        return None
    node: Any = root
    try:
        tokens = split(reference[1:])
    except BadPointer:
        return None
    for token in tokens:
        if isinstance(node, Mapping) and token in node:
            node = node[token]
        elif isinstance(node, list) and _INDEX.fullmatch(token) and int(token) < len(node):
            node = node[int(token)]
        else:
            return None
    return node


def within_contract(pointer: str, contract: Mapping[str, Any]) -> str:
    """The pointer cut at the first token that the JSON Schema does not name, so that no key made by a model leaves."""
    return ContractNames(contract).cut(pointer)
