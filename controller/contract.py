"""The contract: a JSON Schema 2020-12 compiled once, and its errors as findings in the envelope's words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

import jsonschema_rs

from controller.checks.base import MAX_EXPECTED, MAX_FINDINGS, SpecError
from controller.pointer import ContractNames, follow, join
from controller.report import JSON, Fact, FailureClass, Finding, SlotType

SCHEMA = "schema"
FACTS: Mapping[str, SlotType] = {
    "path": SlotType.JSON_POINTER,
    "expected_type": SlotType.ENUM,
    "keyword": SlotType.ENUM,
    "expected": SlotType.QUOTED_TOKEN,
}
"""What the schema check tells a directive's slots. ``expected_type`` is empty where the contract declares none."""

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_UNSUPPORTED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary")
_DATA = ("const", "enum", "default", "examples")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


class Contract:
    """A compiled contract. Raises ``SpecError`` for a schema that is wrong or would fetch something.

    Owner's regexes run on a linear-time engine; formats are asserted where they are declared.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        _require_local(schema)
        self.names = ContractNames(schema)
        self._schema = schema
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                dict(schema),
                validate_formats=True,
                ignore_unknown_formats=False,
                pattern_options=jsonschema_rs.RegexOptions(),
                offline=True,
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            first_line = str(error).splitlines()[0]
            raise SpecError("contract", f"not a usable JSON Schema 2020-12: {first_line}") from None

    def failures(self, value: JSON) -> tuple[Finding, ...]:
        """At most ``MAX_FINDINGS`` errors, each at the place that is to be corrected, in a fixed order."""
        try:
            errors = list(islice(self._validator.iter_errors(value), MAX_FINDINGS))
        except ValueError:  # deeper or larger than the validator reads
            return (self._finding("", "type", "a value that can be validated", ""),)
        found = {(f.pointer, str(f.facts["keyword"]), f.expected): f for error in errors for f in self._findings(error)}
        return tuple(found[key] for key in sorted(found))[:MAX_FINDINGS]

    def _findings(self, error: jsonschema_rs.ValidationError) -> Iterator[Finding]:
        tokens = [str(token) for token in error.instance_path]
        keyword = error.kind.name
        expected, expected_type = _words(keyword, error.kind.as_dict())
        if keyword == "required":
            tokens.append(str(error.kind.value))
            expected_type = self._declared_type(join(tokens))
        elif not expected_type:
            expected_type = self._declared_type(join(tokens))
        yield self._finding(join(tokens), keyword, expected, expected_type)

    def _finding(self, pointer: str, keyword: str, expected: str, expected_type: str) -> Finding:
        path = self.names.cut(pointer)
        expected = expected[:MAX_EXPECTED]
        facts: dict[str, Fact] = {"path": path, "keyword": keyword, "expected": expected, "expected_type": expected_type}
        return Finding(SCHEMA, SCHEMA, FailureClass.SCHEMA, path, False, expected, facts)

    def _declared_type(self, pointer: str) -> str:
        """The type that the contract declares at a place that it names; empty where it declares none."""
        types: dict[str, None] = {}
        for schema in self.names.at(self.names.cut(pointer)):
            declared = schema.get("type", [])
            types |= dict.fromkeys(declared if isinstance(declared, list) else [str(declared)])
        return " or ".join(types)


def _words(keyword: str, details: Mapping[str, Any]) -> tuple[str, str]:
    """(expected in plain words, expected type). Uses only what the schema says, never the value."""
    limit = details.get("limit")
    if keyword == "type":
        types = " or ".join(sorted(details["types"]))
        return f"type {types}", types
    if keyword == "enum":
        return "one of: " + ", ".join(_plain(option) for option in details["options"]), ""
    if keyword == "const":
        return _plain(details["expected_value"]), ""
    if keyword == "format":
        return f"a {details['format']}", ""
    if keyword == "pattern":
        return f"text that matches {details['pattern']}", ""
    if keyword == "multipleOf":
        return f"a multiple of {details['multiple_of']}", ""
    if limit is not None and keyword in _LIMITS:
        return _LIMITS[keyword].format(limit), ""
    return _FIXED.get(keyword, f"what the contract says under {keyword}"), ""


_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} fields",
    "maxProperties": "at most {} fields",
}
_FIXED = {
    "required": "this field",
    "additionalProperties": "no other fields than those of the contract",
    "unevaluatedProperties": "no other fields than those of the contract",
    "additionalItems": "no more items",
    "unevaluatedItems": "no more items",
    "uniqueItems": "items that differ",
    "anyOf": "one of the forms that the contract allows",
    "oneOf": "exactly one of the forms that the contract allows",
    "not": "not the form that the contract excludes",
    "contains": "an item of the kind that the contract asks for",
    "falseSchema": "nothing here",
    "propertyNames": "field names of the kind that the contract allows",
}


def _plain(option: Any) -> str:
    if isinstance(option, str):
        return option
    return str(option) if isinstance(option, Decimal) else json.dumps(option, ensure_ascii=False, default=str)


def _require_local(schema: Mapping[str, Any]) -> None:
    if str(schema.get("$schema", _DRAFT)).rstrip("#") != _DRAFT:
        raise SpecError("contract", "the contract is JSON Schema 2020-12; leave $schema out or name that draft")
    for node in _subschemas(schema):
        for keyword in _UNSUPPORTED:
            if keyword in node:
                raise SpecError("contract", f"{keyword} is not supported: refer inside the contract with $ref: '#/$defs/…'")
        reference = node.get("$ref")
        if reference is not None and (not isinstance(reference, str) or reference[:2] not in ("#", "#/")):
            raise SpecError("contract", "only references inside the contract ('#/…') are followed; nothing is fetched")
        if reference is not None and follow(schema, reference) is None:
            raise SpecError("contract", f"the reference {reference} leads nowhere")


def _subschemas(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every object of the schema that can hold keywords: names of fields and plain data are not looked at as keywords."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, Mapping):
            yield node
            for key, child in node.items():
                if key in _NAMED and isinstance(child, Mapping):
                    waiting.extend(child.values())
                elif key not in _DATA:
                    waiting.append(child)
