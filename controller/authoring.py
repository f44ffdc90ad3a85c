"""From YAML (or JSON) text to an envelope, with problems that name line, column, field and what was expected."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import ValidationError

from controller.checks.base import SpecError
from controller.envelope import Envelope
from controller.evaluate import compile_checks


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. ``line`` and ``column`` count from 1; ``where`` is the field's path (``plans[1].text``)."""

    line: int
    column: int
    where: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.where + ': ' if self.where else ''}{self.message}"


class NotAnEnvelope(ValueError):
    """The text is no valid envelope. ``problems`` has every one that was found, in the order of the text."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.2's core idea of scalars: no dates, no yes/no, no octal; a repeated key is an error."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
    ]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
for _first in "yYnNoO":
    _Loader.yaml_implicit_resolvers[_first] = [
        (tag, pattern) for tag, pattern in _Loader.yaml_implicit_resolvers.get(_first, []) if tag != "tag:yaml.org,2002:bool"
    ]

MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Places:
    """Where the fields of a text stand."""

    root: yaml.Node

    def at(self, where: str) -> tuple[int, int]:
        """Line and column, from 1, of a field's path such as ``plans[1].text``: the nearest place above it that is there."""
        node = self.root
        for part in where.replace("]", "").replace("[", ".").split("."):
            found = _child(node, int(part) if part.isdecimal() else part)
            if found is None:
                break
            node = found
        return node.start_mark.line + 1, node.start_mark.column + 1


def read(text: str) -> Envelope:
    """The envelope in a YAML text. Raises ``NotAnEnvelope`` with every problem found."""
    return read_placed(text)[0]


def read_placed(text: str) -> tuple[Envelope, Places]:
    """The same, with the places of its fields in the text."""
    node, data = _parsed(text)
    try:
        envelope = Envelope.model_validate(data)
    except ValidationError as error:
        raise NotAnEnvelope(sorted((_problem(node, e) for e in error.errors()), key=lambda p: (p.line, p.column))) from error
    try:
        compile_checks(envelope.contract, envelope.checks, tolerant_fence=envelope.tolerant_fence)
    except SpecError as error:
        raise NotAnEnvelope(_spec_problems(node, error)) from error
    return envelope, Places(node)


class _Dumper(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
    """Text over several lines as it reads; everything else as short as YAML allows."""


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    lines = value.split("\n")
    is_block = len(lines) > 1 and all(line == line.rstrip() and line.isprintable() for line in lines)
    node: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if is_block else None)
    return node


_Dumper.add_representer(str, _text)


def write(envelope: Envelope) -> str:
    """The envelope as YAML that ``read`` reads back to the same digest. Defaults are left out, so that it stays readable."""
    data = envelope.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for name, parts in (("checks", envelope.checks), ("fallback", envelope.fallback)):
        if parts:
            named = ({key: getattr(part, key) for key in ("id", "kind")} for part in parts)
            data[name] = [name_and_kind | dumped for name_and_kind, dumped in zip(named, data[name], strict=True)]
    text: str = yaml.dump(
        {"task": envelope.task, **data}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
    )
    return text


def _parsed(text: str) -> tuple[yaml.Node, Any]:
    if len(text.encode("utf-8")) > MAX_BYTES:
        raise NotAnEnvelope([Problem(1, 1, "", f"the text is larger than {MAX_BYTES:,} bytes")])
    loader = None
    try:
        loader = _Loader(_json_as_yaml(text) if is_json(text) else text)
        node = loader.get_single_node()
        if node is None:
            raise NotAnEnvelope([Problem(1, 1, "", "the text is empty; an envelope starts with task: …")])
        problems = list(_structural(node, ""))
        if problems:
            raise NotAnEnvelope(problems)
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise NotAnEnvelope([Problem(line, column, "", f"this is not valid YAML: {error.problem or error.context}")]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise NotAnEnvelope([Problem(1, 1, "", f"this is not valid YAML: {str(error).splitlines()[0]}")]) from error
    finally:
        if loader is not None:
            loader.dispose()
    return node, data


_ESCAPE = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|(.))", re.DOTALL)
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def is_json(text: str) -> bool:
    """Whether a text is a JSON object rather than YAML that happens to begin with a brace."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json_as_yaml(text: str) -> str:
    """JSON without what YAML, although nearly its superset, reads otherwise: escaped pairs, ``\\/``, raw control characters."""

    def unescaped(match: re.Match[str]) -> str:
        if match[1]:
            return (bytes.fromhex(match[1]) + bytes.fromhex(match[2])).decode("utf-16-be")
        return "/" if match[3] == "/" else match[0]

    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", _ESCAPE.sub(unescaped, text))


def _structural(node: yaml.Node, where: str, depth: int = 0) -> Any:
    """Problems that pydantic would not see: repeated keys, keys that are no text, not-a-number values, depth."""
    if depth > 60:
        yield Problem(node.start_mark.line + 1, node.start_mark.column + 1, where, "nested deeper than 60 levels")
        return
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line, column = key.start_mark.line + 1, key.start_mark.column + 1
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            if not isinstance(key, yaml.ScalarNode):
                yield Problem(line, column, where, "a key must be plain text")
            if name in seen:
                yield Problem(line, column, _dotted(where, name), f"the key {name!r} is there twice")
            seen.add(name)
            yield from _structural(value, _dotted(where, name), depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield from _structural(value, f"{where}[{number}]", depth + 1)
    elif node.tag == "tag:yaml.org,2002:float" and not _finite(node.value):
        yield Problem(node.start_mark.line + 1, node.start_mark.column + 1, where, f"{node.value} is no number that JSON has")


def _finite(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace("_", "")))
    except ValueError:
        return False


def _dotted(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _problem(root: yaml.Node, error: Any) -> Problem:
    """A pydantic error as a problem at the nearest place that the text has."""
    node, where = root, ""
    for part in error["loc"]:
        if isinstance(part, int):
            where = f"{where}[{part}]"
        elif not part.startswith(("function-", "is-instance", "tuple", "lax-or")):
            where = _dotted(where, part)
        node = _child(node, part) or node
    return Problem(node.start_mark.line + 1, node.start_mark.column + 1, where, _plain(error))


def _child(node: yaml.Node, part: object) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        names = (part, str(part).rstrip("_"))
        return next((value for key, value in node.value if key.value in names), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        found: yaml.Node = node.value[part]
        return found
    return None


_PLAIN = {
    "missing": "this field is missing",
    "extra_forbidden": "this field is not known here",
    "string_type": "text is expected",
    "int_type": "a whole number is expected",
    "int_from_float": "a whole number is expected",
    "float_type": "a number is expected",
    "bool_type": "true or false is expected",
    "dict_type": "a mapping is expected",
    "tuple_type": "a list is expected",
    "model_type": "a mapping is expected",
    "string_too_short": "this may not be empty",
}


def _plain(error: Any) -> str:
    known = _PLAIN.get(error["type"])
    if known is not None:
        return known
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:] if message.startswith(("Input", "String")) else message


def _spec_problems(root: yaml.Node, error: SpecError) -> list[Problem]:
    found = []
    for where, message in error.problems or ((error.field, error.message),):
        node = root
        for part in where.replace("]", "").replace("[", ".").split("."):
            node = _child(node, int(part) if part.isdecimal() else part) or node
        found.append(Problem(node.start_mark.line + 1, node.start_mark.column + 1, where, message))
    return found
