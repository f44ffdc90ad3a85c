from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks import SpecError, spec_from
from controller.document import Document
from controller.evaluate import Judge, compile_checks
from controller.reply import Finish, Reply
from controller.report import CheckReport, FailureClass, Finding
from controller.strict_json import parse

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real replies are not beside the project")

SMALL: dict[str, Any] = {
    "type": "object",
    "required": ["total", "qty"],
    "additionalProperties": False,
    "properties": {"total": {"type": "string"}, "qty": {"type": "integer"}},
}
PRINTED = {"id": "total-printed", "group": "grounding", "kind": "number_in_document", "at": "/total"}


def judge(*specs: dict[str, Any], contract: dict[str, Any] = SMALL, **options: Any) -> Judge:
    return compile_checks(contract, [spec_from(spec) for spec in specs], **options)


def judged(text: str | None, document: str = "Total 100.000", **reply: Any) -> CheckReport:
    return judge(PRINTED).evaluate(Document(document), Reply(text, **reply))


def failed(report: CheckReport) -> list[tuple[str, str]]:
    return [(finding.check, finding.pointer) for finding in report.failures]


@pytest.mark.parametrize(
    ("text", "failure_class", "pairs"),
    [
        ('{"total":null,"qty":"two"}', "schema", [("schema", "/qty"), ("schema", "/total")]),
        ('{"total":"1","total":"999","qty":2}', "duplicate_key", [("json", "/total")]),
        ('{"total":"1","SECRET":{"SECRET":1,"SECRET":2},"qty":2}', "duplicate_key", [("json", "")]),
        ('{"total":"1","qty":NaN}', "syntax", [("json", "")]),
        ('{"total":"1","qty":Infinity}', "syntax", [("json", "")]),
        ('{"total":"1","qty":1e999}', "syntax", [("json", "")]),
        (
            'Sure! Here is the JSON:\n```json\n{"total":"1","qty":2}\n```\nHope this helps {smile}.',
            "extra_text",
            [("json", "")],
        ),
        ('{"total":"1","qty":2}{"total":"1","qty":2}', "ambiguous_json", [("json", "")]),
        ("<think>nothing more</think>", "empty_output", [("json", "")]),
        ("", "empty_output", [("json", "")]),
        (None, "empty_output", [("json", "")]),
        ('{"total":"5.000","qty":2}', "business", [("total-printed", "/total")]),
        ('{"total":"false","qty":"2"}', "schema", [("schema", "/qty")]),
        ('<think>maybe {"total":"1","qty":1}</think>{"total":"100.000","qty":2}', None, []),
    ],
)
def test_small_replies_have_the_right_outcome(text: str | None, failure_class: str | None, pairs: list[tuple[str, str]]):
    report = judged(text)
    assert report.final_class == (FailureClass(failure_class) if failure_class else None)
    assert failed(report) == pairs
    assert report.passed is (failure_class is None)


def test_part_of_a_number_is_not_the_number():
    assert failed(judged('{"total":"5.000","qty":2}', "Total 15.000")) == [("total-printed", "/total")]


@pytest.mark.parametrize(
    ("reply", "failure_class"),
    [
        ({"finish": Finish.LENGTH}, "truncated"),
        ({"finish": Finish.MISSING}, "truncated"),
        ({"finish": Finish.CONTENT_FILTER}, "policy_rejection"),
        ({"finish": Finish.REFUSAL}, "policy_rejection"),
        ({"refused": True}, "policy_rejection"),
        ({"finish": Finish.CONTEXT_OVERFLOW}, "context_overflow"),
        ({"finish": Finish.OTHER}, "syntax"),
    ],
)
def test_finish_is_read_before_the_text(reply: dict[str, Any], failure_class: str):
    report = judged('{"total":"100.000","qty":2}', **reply)
    assert report.final_class == FailureClass(failure_class)
    assert failed(report) == [("finish", "")]
    assert (report.parsed, report.value, report.value_text) == (False, None, "")


def test_passing_reply_keeps_value_and_evidence():
    report = judged('{"total": "100.000", "qty": 2}')
    assert (report.value, report.value_text) == ({"total": "100.000", "qty": 2}, '{"total":"100.000","qty":2}')
    assert [(f.check, f.passed, len(f.spans)) for f in report.findings] == [
        ("json", True, 0),
        ("schema", True, 0),
        ("total-printed", True, 1),
    ]


def test_failed_schema_hides_the_rules():
    assert {f.check for f in judged('{"total":"5","qty":"x"}').findings} == {"json", "schema"}


def test_fence_opens_only_when_signed():
    text = '```json\n{"total":"100.000","qty":2}\n```'
    assert judged(text).final_class is FailureClass.EXTRA_TEXT
    report = judge(PRINTED, tolerant_fence=True).evaluate(Document("100.000"), Reply(text))
    assert (report.passed, report.extracted) == (True, True)
    plain = judge(PRINTED, tolerant_fence=True).evaluate(Document("100.000"), Reply('{"total":"100.000","qty":2}'))
    assert (plain.passed, plain.extracted) == (True, False)


def test_long_replies_are_not_parsed():
    report = judge(max_reply_bytes=30).evaluate(Document(""), Reply('{"total":"' + "é" * 20 + '","qty":1}'))
    assert report.final_class is FailureClass.SYNTAX
    assert report.failures[0].expected == "one valid JSON value: short enough"


def test_values_of_people_are_judged_alike():
    decided = judge(PRINTED)
    assert decided.evaluate_value(Document("100"), {"total": "100", "qty": 1}).passed
    assert failed(decided.evaluate_value(Document("100"), {"total": "100"})) == [("schema", "/qty")]
    assert failed(decided.evaluate_value(Document("100"), {"total": "10", "qty": 1})) == [("total-printed", "/total")]


def test_document_is_checked_before_any_call():
    needs = {"id": "has-total", "group": "source", "kind": "document_has", "patterns": ["(?i)total"]}
    decided = judge(PRINTED, needs)
    assert [(f.check, f.passed) for f in decided.precheck(Document("nothing"))] == [("has-total", False)]
    assert [(f.check, f.passed) for f in decided.precheck(Document("TOTAL 1"))] == [("has-total", True)]
    report = decided.evaluate(Document("1"), Reply('{"total":"1","qty":1}'))
    assert report.final_class is FailureClass.MISSING_SOURCE_DATA


@pytest.mark.parametrize(
    ("when", "checks"), [("doc.qty > 1", []), ("doc.qty == 1", ["total-printed"]), ("doc.none == 1", ["total-printed"])]
)
def test_condition_decides_whether_a_check_runs(when: str, checks: list[str]):
    report = judge({**PRINTED, "when": when}).evaluate(Document(""), Reply('{"total":"5","qty":1}'))
    assert [f.check for f in report.failures] == checks


def test_broken_condition_never_passes():
    report = judge({**PRINTED, "when": "doc.none == 1"}).evaluate(Document("5"), Reply('{"total":"5","qty":1}'))
    assert report.failures[0].expected == "the condition could not be evaluated"


def test_findings_are_capped_but_failures_stay():
    contract = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}}
    spec = {"id": "it", "group": "g", "kind": "number_in_document", "at": "/items/*"}
    items = ["5"] * 400 + ["6"] * 400
    report = judge(spec, contract=contract).evaluate(Document("5"), Reply(json.dumps({"items": items})))
    rules = [f for f in report.findings if f.check == "it"]
    assert (len(rules), len(report.failures), report.passed) == (100, 50, False)


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({**PRINTED, "kind": "nosuch"}, "kind", "known kinds: arithmetic,"),
        ({**PRINTED, "at": "total"}, "at", "starts with /"),
        ({**PRINTED, "at": "/totl"}, "checks.total-printed.at", "/totl names nothing"),
        ({**PRINTED, "id": "Bad Id"}, "id", "pattern"),
        ({**PRINTED, "id": "schema"}, "checks.schema.id", "another check has this id"),
        ({**PRINTED, "class": "infrastructure"}, "class", "class is one of: business, missing_source_data, schema"),
        ({**PRINTED, "when": "("}, "checks.total-printed.when", "Syntax error"),
        ({**PRINTED, "kind": "regex", "pattern": "(?=a)"}, "checks.total-printed.pattern", "RE2"),
        (
            {"kind": "document_has", "id": "a", "group": "g", "patterns": ["a"], "when": "true"},
            "checks.a.when",
            "before there is a reply",
        ),
        ({"kind": "document_has", "id": "a", "group": "g", "patterns": ["a", "("]}, "checks.a.patterns.1", "RE2"),
        (
            {"kind": "state_transition", "id": "a", "group": "g", "to": "/total", "from_document": "x", "allowed": {"A": []}},
            "checks.a.from_document",
            "needs 1 group",
        ),
    ],
)
def test_unusable_checks_name_their_field(spec: dict[str, Any], field: str, words: str):
    with pytest.raises(SpecError) as caught:
        judge(spec)
    assert caught.value.field == field
    assert words in caught.value.message


def test_same_id_twice_is_refused():
    with pytest.raises(SpecError):
        judge(PRINTED, PRINTED)


# --- promises that hold whatever comes -------------------------------------------------------------------------------------

WIDE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {"type": ["string", "number", "null"]},
        "date": {},
        "state": {},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {}, "price": {}}}},
        "free": {"type": "object"},
    },
}
EVERY_KIND: list[dict[str, Any]] = [
    {"kind": "number_in_document", "at": "/total"},
    {"kind": "number_in_document", "at": "/items/*/price", "locale": "fr"},
    {"kind": "text_in_document", "at": "/items/*/name", "fold": ["case", "space", "nfkc", "punctuation"]},
    {"kind": "date_in_document", "at": "/date", "orders": ["dmy", "mdy"]},
    {"kind": "no_invented_value"},
    {"kind": "document_has", "patterns": ["a", "b"]},
    {"kind": "sum", "of": "/items/*/price", "equals": "/total", "locale": "auto"},
    {"kind": "arithmetic", "operation": "product", "of": ["/total", 2], "equals": "/total", "locale": "auto"},
    {"kind": "range", "at": "/total", "minimum": 1, "locale": "auto"},
    {"kind": "enum", "at": "/state", "values": ["A", 1, True]},
    {"kind": "regex", "at": "/state", "pattern": "[A-Z]+"},
    {"kind": "unique", "at": "/items/*", "keys": ["name"]},
    {"kind": "cross_reference", "at": "/items/*/name", "among": "/state"},
    {"kind": "state_transition", "from": "/state", "to": "/date", "allowed": {"A": ["B"]}},
    {"kind": "required_if", "if": {"at": "/state", "exists": True}, "require": ["/total"]},
    {"kind": "rule", "cel": "sum(doc.items.map(i, i.price)) == doc.total", "when": "has(doc.items)"},
    {"kind": "rule", "cel": "item.name != text", "each": "/items/*"},
]
WIDE_JUDGE = judge(*[{"id": f"c{n}", "group": "g", **spec} for n, spec in enumerate(EVERY_KIND)], contract=WIDE)

SECRET = "zq9secret"
leaf = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([SECRET, "A", "5", "1.000", "2017-01-02", Decimal("1.5")])
    | st.text(max_size=5)
)
keys = st.sampled_from(["total", "date", "state", "items", "name", "price", "free", SECRET])
trees = st.recursive(leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12)
objects = st.fixed_dictionaries(
    {},
    optional={
        "total": leaf,
        "date": leaf,
        "state": leaf,
        "items": st.lists(st.dictionaries(st.sampled_from(["name", "price", SECRET]), leaf, max_size=3), max_size=3),
        "free": trees,
        SECRET: trees,
    },
)


def written(value: object) -> str:
    return json.dumps(value, default=str)


replies = st.builds(
    Reply,
    text=st.none()
    | st.text(max_size=80)
    | st.builds(written, objects)
    | st.builds(written, trees)
    | st.builds(lambda v: written(v)[:-1], objects),
    finish=st.sampled_from([Finish.STOP] * 6 + list(Finish)),
    refused=st.sampled_from([False] * 9 + [True]),
)


def said(finding: Finding) -> str:
    return f"{finding.check} {finding.group} {finding.pointer} {finding.expected} {dict(finding.facts)} {finding.match}"


@given(replies, st.text(max_size=60))
def test_any_reply_is_judged(reply: Reply, document: str):
    report = WIDE_JUDGE.evaluate(Document(document), reply)
    assert report.passed or report.final_class is not None
    assert len({failure.failure_class.severity for failure in report.failures}) <= 1
    if report.parsed:
        assert parse(report.value_text) == report.value


@given(replies)
def test_findings_never_carry_reply_text(reply: Reply):
    report = WIDE_JUDGE.evaluate(Document("a b 5"), reply)
    assert SECRET not in " ".join(map(said, report.findings))


@given(replies, st.text("0123456789.,- /aéNASI\n", max_size=60))
def test_judging_twice_says_the_same(reply: Reply, text: str):
    document = Document(text)
    assert (
        WIDE_JUDGE.evaluate(document, reply)
        == WIDE_JUDGE.evaluate(document, reply)
        == WIDE_JUDGE.evaluate(Document(text), reply)
    )


@given(replies, st.text("0123456789.,- /aéNASI\n", max_size=60))
def test_spans_lie_in_the_document(reply: Reply, text: str):
    for finding in WIDE_JUDGE.evaluate(Document(text), reply).findings:
        assert all(0 <= span.start <= span.end <= len(text) for span in finding.spans)


@needs_shared
@pytest.mark.parametrize("name", ["base", "base_small", "tuned_v1", "tuned_v2", "lora_small"])
def test_real_replies_are_all_judged(name: str):
    fields = {name: {"type": ["string", "null"]} for name in ("company", "date", "address", "total")}
    decided = judge(PRINTED, contract={"type": "object", "required": ["company", "date", "total"], "properties": fields})
    documents = {
        row["id"]: row["text"] for row in map(json.loads, (SHARED / "sroie" / "test_open.jsonl").read_text().splitlines())
    }
    rows = [json.loads(line) for line in (SHARED / "replies" / f"{name}.jsonl").read_text().splitlines()]
    reports = [decided.evaluate(Document(documents.get(row["id"], "")), Reply(row["reply"])) for row in rows]
    assert len(reports) in (55, 118)
    assert all(report.passed or report.final_class for report in reports)


def test_too_many_places_fail_closed():
    contract = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "integer"}}}}
    spec = {"id": "it", "group": "g", "kind": "range", "at": "/items/*", "minimum": 0}
    decided = judge(spec, contract=contract)
    assert decided.evaluate_value(Document(""), {"items": [1] * 1_000}).passed
    assert failed(decided.evaluate_value(Document(""), {"items": [1] * 1_001})) == [("it", "")]
