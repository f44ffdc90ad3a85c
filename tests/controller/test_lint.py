from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.authoring import read_placed
from controller.envelope import Envelope
from controller.lint import LINTS, Context, lint, placed
from controller.lint.feedback import prompt_words, repeats
from controller.lint.minimal import smallest
from controller.lint.sampling import needed_without_error
from controller.lint.satisfiable import contradictions
from controller.sample_size import grades_for_limit
from tests.envelopes import SMALL, data, small

CHECK = SMALL["checks"][0]


def ids(envelope: Envelope, context: Context | None = None) -> list[str]:
    return [found.lint for found in lint(envelope, context)]


def contract(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(fields), "properties": fields}


def with_caps(**caps: int) -> dict[str, Any]:
    return {"limits__caps": SMALL["limits"]["caps"] | caps}


STRING, TOTAL = {"type": "string"}, {"type": "string", "enum": ["1", "2"]}
NO_GRAPH = {"start": "copy", "edges": []}
LOOP = {"start": "copy", "edges": [{"from": "copy", "on": ["*"], "to": "copy"}]}
TWICE = {
    "start": "copy",
    "edges": [{"from": "copy", "on": ["*"], "to": "again"}, {"from": "copy", "on": ["schema"], "to": "copy"}],
}
REPAIR = [{"id": "copy", "text": "Copy."}, {"id": "again", "text": "Mend.", "carries": ["previous_output"]}]
SAME = [{"id": "copy", "text": "Copy the fields."}, {"id": "again", "text": "copy  the fields."}]

CASES: list[tuple[str, dict[str, Any], Context]] = [
    ("check-without-template", {"templates": SMALL["templates"][1:]}, Context()),
    ("directive-repeats-prompt", {"templates": [{"for": "total-printed", "text": "Copied as it is printed."}]}, Context()),
    ("slot-never-filled", {"templates": [{"for": "total-printed", "text": "{sum}", "slots": {"sum": "number"}}]}, Context()),
    ("slot-never-filled", {"templates": [{"for": "total-printed", "text": "{path}", "slots": {"path": "date"}}]}, Context()),
    (
        "slot-not-used",
        {"templates": [{"for": "total-printed", "text": "no hole", "slots": {"path": "json_pointer"}}]},
        Context(),
    ),
    ("slot-not-used", {"templates": [{"for": "total-printed", "text": "a {hole} alone"}]}, Context()),
    (
        "slot-carries-model-text",
        {"templates": [{"for": "schema", "text": "Not {it}.", "slots": {"it": "model_text"}}]},
        Context(),
    ),
    ("template-never-used", {"templates": [*SMALL["templates"], {"for": "grounding", "text": "Look."}]}, Context()),
    ("ledger-over-cap", with_caps(ledger=60), Context()),
    ("plan-unreachable", {"graph": LOOP}, Context()),
    ("plan-without-exit", {"graph": NO_GRAPH}, Context()),
    ("edge-never-taken", {"graph": TWICE}, Context()),
    ("plans-never-differ", {"plans": SAME}, Context()),
    ("block-over-cap", with_caps(reminder=3), Context()),
    ("block-over-cap", {"plans": REPAIR} | with_caps(previous_output=0), Context()),
    ("documents-over-cap", {}, Context(documents=[10, 5000])),
    ("output-cap-too-small", {"model__max_output_tokens": 2}, Context()),
    ("output-cap-too-small", {}, Context(outputs=[100] * 9 + [201])),
    ("caps-exceed-window", {"model__context_window": 4096}, Context()),
    ("limit-never-reached", {"limits__same_signature": 9}, Context()),
    ("limit-never-reached", {}, Context()),  # repairs allowed, no plan that repairs
    ("attempts-never-reached", {"limits__same_plan": 1}, Context()),
    ("attempts-never-reached", {"limits__total_tokens": 900}, Context()),
    ("attempts-never-reached", {"plans": REPAIR, "limits__repairs": 0}, Context()),
    ("bound-over-budget", {}, Context(max_calls=5)),
    ("bound-over-budget", {}, Context(max_tokens=10)),
    ("bound-over-budget", {}, Context(max_ms=10)),
    (
        "schema-unsatisfiable",
        {"contract": contract(total=STRING, qty={"type": "integer", "minimum": 3, "maximum": 2})},
        Context(),
    ),
    (
        "schema-refused-by-endpoint",
        {"model__response_format": "json_schema", "contract": contract(total=STRING) | {"not": {}}},
        Context(profile="strict"),
    ),
    (
        "check-cannot-fail",
        {
            "contract": contract(total=TOTAL),
            "checks": [{"id": "e", "group": "g", "kind": "enum", "at": "/total", "values": ["1", "2"]}],
        },
        Context(),
    ),
    ("sampling-too-thin", {}, Context(accepted_per_month=40)),
    ("nothing-sampled", {"sampling": {"rate": 0, "min_per_stratum": 0}}, Context()),
]


@pytest.mark.parametrize(("name", "changes", "context"), CASES)
def test_finds_what_it_names(name: str, changes: dict[str, Any], context: Context) -> None:
    wanted = {"templates": []} | changes if "checks" in changes else changes
    assert name in ids(small(**wanted), context)


QUIET = data(
    limits__repairs=0,
    templates=[
        {
            "for": "total-printed",
            "text": "{path}: look for the amount beside the word Total.",
            "slots": {"path": "json_pointer"},
        },
        {
            "for": "schema",
            "text": "{path}: {expected} is wanted there.",
            "slots": {"path": "json_pointer", "expected": "quoted_token"},
        },
        {"for": "syntax", "text": "Begin with a brace."},
    ],
)


def test_good_envelope_is_quiet() -> None:
    context = Context(
        outputs=[20] * 50, documents=[900] * 50, accepted_per_month=900, max_calls=7, max_tokens=20_000, max_ms=12_000
    )
    assert lint(Envelope.model_validate(QUIET), context) == ()


@pytest.mark.parametrize("name", LINTS)
def test_every_lint_has_a_case(name: str) -> None:
    assert name in {case[0] for case in CASES}


def test_every_lint_is_quiet_somewhere() -> None:
    assert not set(ids(Envelope.model_validate(QUIET))) & set(LINTS)


def test_hint_points_at_its_line() -> None:
    text = yaml.safe_dump(data(limits__same_signature=9), sort_keys=False)
    envelope, places = read_placed(text)
    hint = next(hint for hint in placed(lint(envelope), places) if hint.where == "limits.same_signature")
    assert text.splitlines()[hint.line - 1].strip() == "same_signature: 9"
    assert hint.column == text.splitlines()[hint.line - 1].index("9") + 1


def test_gravest_come_first() -> None:
    weights = [LINTS[name].weight for name in ids(small(graph=LOOP, limits__same_signature=9))]
    assert weights == sorted(weights, key=["broken", "likely", "think"].index)


@pytest.mark.parametrize(
    ("directive", "repeated"),
    [
        ("{path}: copy the number as printed.", True),
        ("COPY  as PRINTED!", True),
        ("{path}: this number stands on no line of the receipt.", False),
        ("{path}", False),
        ("{path}: copy as printed. The total is the last amount of its line.", False),
    ],
)
def test_repetition_ignores_wording(directive: str, repeated: bool) -> None:
    said = prompt_words(small(reminder="Copy numbers as printed. Use null when nothing is printed."))
    assert (repeats(directive, said) is not None) is repeated


CONTRADICTIONS: list[tuple[dict[str, Any], str, bool]] = [
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "exclude each other", True),
    ({"type": "string", "enum": [1, 2]}, "no value of enum", True),
    ({"type": "string", "allOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "share no value", True),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength 3", True),
    ({"type": "array", "minItems": 1, "items": False}, "lets nothing pass", True),
    ({"type": "array", "items": False}, "lets nothing pass", False),
    ({"type": "integer", "exclusiveMinimum": 3, "maximum": 3}, "exclusiveMinimum 3", True),
    ({"type": "object", "additionalProperties": False, "required": ["a"]}, "a is required", True),
    ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "maxProperties is 1", True),
    (contract(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": {"type": "number", "minimum": 2, "maximum": 1}}}, "minimum 2", True),
    ({"anyOf": [{"type": "string", "enum": [1]}, {"type": "string", "minLength": 2, "maxLength": 1}]}, "no value", True),
    ({"anyOf": [{"type": "string", "enum": [1]}, {"type": "string"}]}, "no value", False),
]


@pytest.mark.parametrize(("schema", "words", "fatal"), CONTRADICTIONS)
def test_contradiction_is_found(schema: dict[str, Any], words: str, fatal: bool) -> None:
    found = contradictions(schema)
    assert any(words in one.message for one in found)
    assert any(one.fatal for one in found) is fatal


TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "ab", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=6,
)
SIMPLE = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True),
        "enum": st.lists(st.sampled_from(["a", 1, None, True]), min_size=1, max_size=2, unique_by=repr),
        "minimum": st.integers(-3, 3),
        "maximum": st.integers(-3, 3),
        "exclusiveMinimum": st.integers(-3, 3),
        "minLength": st.integers(0, 3),
        "maxLength": st.integers(0, 3),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "required": st.lists(st.sampled_from(["a", "b"]), unique=True),
        "additionalProperties": st.booleans(),
        "maxProperties": st.integers(0, 2),
    },
)
SCHEMAS = st.recursive(
    SIMPLE,
    lambda inner: st.builds(
        lambda base, more: base | more,
        SIMPLE,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
                "items": inner,
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
            },
        ),
    ),
    max_leaves=5,
)


@given(SCHEMAS, VALUES)
def test_fatal_contradiction_means_no_value(schema: dict[str, Any], value: Any) -> None:
    if jsonschema_rs.Draft202012Validator(schema).is_valid(value):
        assert not any(one.fatal for one in contradictions(schema))


def test_smallest_output_is_a_bound() -> None:
    schema = contract(
        total=STRING, items={"type": "array", "minItems": 2, "items": contract(name={"type": "string", "minLength": 3})}
    )
    assert smallest(schema) == '{"total":"","items":[{"name":"xxx"},{"name":"xxx"}]}'


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.10, 0.25])
def test_needed_sample_agrees_with_planner(limit: float) -> None:
    assert needed_without_error(limit) == grades_for_limit(limit)
