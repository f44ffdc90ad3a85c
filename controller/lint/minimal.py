"""A short output that a schema could accept: a lower bound for output caps. It need not be valid in every detail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controller.pointer import follow

_SHORTEST = {"string": '""', "integer": "0", "number": "0", "boolean": "true", "null": "null", "array": "[]", "object": "{}"}


def smallest(contract: Mapping[str, Any]) -> str:
    """JSON with every required field at its least size; never longer than the shortest valid output is."""
    return _smallest(contract, contract, 0)


def _smallest(schema: Any, root: Mapping[str, Any], depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > 20:
        return "0"
    if "const" in schema:
        return _json(schema["const"])
    if isinstance(options := schema.get("enum"), list) and options:
        return min((_json(option) for option in options), key=len)
    if isinstance(reference := schema.get("$ref"), str):
        return _smallest(follow(root, reference), root, depth + 1)
    for name in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(name), list) and branches:
            return min((_smallest(branch, root, depth + 1) for branch in branches), key=len)
    declared = schema.get("type", "integer")
    types = [declared] if isinstance(declared, str) else list(declared) or ["integer"]
    return min((_of_type(str(kind), schema, root, depth) for kind in types), key=len)


def _of_type(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if kind == "object":
        properties = schema.get("properties") if isinstance(schema.get("properties"), Mapping) else {}
        fields = [
            f"{_json(name)}:{_smallest((properties or {}).get(name), root, depth + 1)}"
            for name in schema.get("required", ())
            if isinstance(name, str)
        ]
        return "{" + ",".join(fields) + "}"
    if kind == "array":
        count = min(int(schema.get("minItems", 0)), 1000)
        return "[" + ",".join([_smallest(schema.get("items"), root, depth + 1)] * count) + "]"
    if kind == "string":
        return '"' + "x" * min(int(schema.get("minLength", 0)), 100_000) + '"'
    return _SHORTEST.get(kind, "0")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
