"""The contract: what no value can keep, what an endpoint refuses, and checks that it makes idle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from controller.checks.base import CheckSpec
from controller.envelope import Envelope
from controller.lint.base import Context, Found, Lint, Weight
from controller.lint.satisfiable import contradictions
from controller.pointer import ContractNames, split

LINTS = (
    Lint(
        "schema-unsatisfiable",
        Weight.BROKEN,
        "The contract contradicts itself",
        "No value can pass here, so every reply fails (or the field can never be there).",
        "Put the contradiction right: types, limits, enums, required fields.",
    ),
    Lint(
        "schema-refused-by-endpoint",
        Weight.LIKELY,
        "The endpoint refuses a part of the contract",
        "With response_format json_schema the contract is sent along. Endpoints with this profile refuse the request or "
        "silently leave the keyword out; what they promise is checked here again, but a refused request ends the run.",
        "Leave the keyword out of the contract and check it with a rule, or use response_format json_object.",
    ),
    Lint(
        "check-cannot-fail",
        Weight.THINK,
        "A check can never fail",
        "The contract excludes already what it looks for. It reads like a safeguard and is none.",
        "Remove it, or look at another place.",
    ),
)

PROFILES: Mapping[str, tuple[str, frozenset[str], bool]] = {
    "strict": (
        "hosted strict mode",
        frozenset({"allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties"})
        | frozenset(
            {"oneOf", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedProperties", "propertyNames"}
        ),
        True,
    ),
    "grammar": (
        "grammar-guided decoding",
        frozenset({"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "uniqueItems", "contains"})
        | frozenset({"multipleOf", "unevaluatedProperties", "unevaluatedItems", "propertyNames"}),
        False,
    ),
}
"""What kinds of endpoints refuse: name, keywords, and whether every object must be closed with all its fields required."""

_NAMED = ("properties", "$defs", "patternProperties")
_DATA = ("enum", "const", "default", "examples")


def look(envelope: Envelope, context: Context) -> Iterator[Found]:
    for one in contradictions(envelope.contract):
        ends = "No reply can pass." if one.fatal else "Nothing can stand here."
        yield Found("schema-unsatisfiable", f"contract.{one.where}".rstrip("."), f"{ends} {_upper(one.message)}.")
    if envelope.model.response_format == "json_schema" and context.profile in PROFILES:
        yield from _refused(envelope.contract, context.profile)
    names = ContractNames(envelope.contract)
    for number, spec in enumerate(envelope.checks):
        why = cannot_fail(spec, names)
        if why:
            yield Found("check-cannot-fail", f"checks[{number}]", f"{spec.id}: {why}.")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _refused(contract: Mapping[str, Any], profile: str) -> Iterator[Found]:
    title, keywords, is_closed = PROFILES[profile]
    for where, schema in _schemas(contract, "contract"):
        for keyword in sorted(keywords & set(schema)):
            yield Found("schema-refused-by-endpoint", f"{where}.{keyword}", f"{keyword} is refused by {title}.")
        properties = schema.get("properties")
        if is_closed and isinstance(properties, Mapping):
            if schema.get("additionalProperties") is not False:
                yield Found("schema-refused-by-endpoint", where, f"{title} asks for additionalProperties: false.")
            optional = sorted(set(properties) - set(schema.get("required") or ()))
            if optional:
                message = f"{title} asks for every field to be required; optional here: {', '.join(optional)}."
                yield Found("schema-refused-by-endpoint", f"{where}.required", message)


def _schemas(schema: Any, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every subschema with its path; names of fields and plain data are not taken for keywords."""
    if isinstance(schema, list):
        for number, child in enumerate(schema):
            yield from _schemas(child, f"{where}[{number}]")
    elif isinstance(schema, Mapping):
        yield where, schema
        for key, child in schema.items():
            if key in _NAMED and isinstance(child, Mapping):
                for name, inner in child.items():
                    yield from _schemas(inner, f"{where}.{key}.{name}")
            elif key not in _DATA:
                yield from _schemas(child, f"{where}.{key}")


def cannot_fail(spec: CheckSpec, names: ContractNames) -> str:
    """Why the check can never fail, or an empty text. Says so only where the contract makes it certain."""
    if spec.when is not None and spec.when.strip() == "false":
        return "its condition is never true"
    at = getattr(spec, "at", None)
    if spec.kind == "document_has":
        return "one of its patterns matches every document" if _matches_all(spec) else ""
    if not isinstance(at, str):
        return ""
    schemas = _placed(names, at)
    types = _types(schemas)
    if schemas and types and types <= {"null"}:
        return f"{at} can only be null, and null is not looked at"
    look_closer = _KINDS.get(spec.kind)
    return look_closer(spec, schemas, types) if look_closer is not None else ""


def _placed(names: ContractNames, pattern: str) -> list[Mapping[str, Any]]:
    """The subschemas at a pattern's place, ``*`` taken as the first item. A place with branches is left alone."""
    schemas = names.at("/".join("0" if step == "*" else step for step in pattern.split("/")))
    branched = any(key in schema for schema in schemas for key in ("anyOf", "oneOf", "not", "if", "$ref"))
    return [] if branched or not split(pattern) else list(schemas)


def _types(schemas: list[Mapping[str, Any]]) -> set[str]:
    found: set[str] = set()
    for schema in schemas:
        declared = schema.get("type")
        if isinstance(declared, str):
            found.add(declared)
        elif isinstance(declared, list):
            found.update(declared)
    return found


def _enum(spec: Any, schemas: list[Mapping[str, Any]], types: set[str]) -> str:
    options = next((s["enum"] if "enum" in s else [s["const"]] for s in schemas if "enum" in s or "const" in s), None)
    if options is not None and all(option is None or option in spec.values for option in options):
        return "the contract lets only values of its list through"
    return ""


def _range(spec: Any, schemas: list[Mapping[str, Any]], types: set[str]) -> str:
    if not types or not types <= {"integer", "number", "null"}:
        return ""
    least, most = _bound(schemas, "minimum", max), _bound(schemas, "maximum", min)
    above = spec.minimum is None or (
        least is not None and (least > spec.minimum or (least == spec.minimum and not spec.exclusive))
    )
    below = spec.maximum is None or (
        most is not None and (most < spec.maximum or (most == spec.maximum and not spec.exclusive))
    )
    return "the contract's minimum and maximum lie within it" if above and below else ""


def _bound(schemas: list[Mapping[str, Any]], name: str, pick: Any) -> Decimal | None:
    values = [Decimal(str(schema[name])) for schema in schemas if isinstance(schema.get(name), int | float | Decimal)]
    return pick(values) if values else None


def _regex(spec: Any, schemas: list[Mapping[str, Any]], types: set[str]) -> str:
    if not types or not types <= {"string", "null"}:
        return ""
    if any(schema.get("pattern") in (f"^{spec.pattern}$", f"^(?:{spec.pattern})$") for schema in schemas):
        return "the contract has the same pattern"
    return "its pattern matches every text" if spec.pattern in (".*", "(?s).*", "(?s:.*)") else ""


def _matches_all(spec: Any) -> bool:
    empty = {"", ".*", "(?s).*", "^", "$"}
    patterns = set(spec.patterns)
    return bool(patterns & empty) if spec.match == "any" else patterns <= empty


_KINDS: Mapping[str, Callable[[Any, list[Mapping[str, Any]], set[str]], str]] = {
    "enum": _enum,
    "range": _range,
    "regex": _regex,
}
