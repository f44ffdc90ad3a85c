"""What the editor offers at the caret, which ``^`` stands for in these texts."""

from __future__ import annotations

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.checks import CHECKS
from controller.fallbacks import FALLBACKS
from reviewapp.accounts.models import Role
from reviewapp.envelopes.completion import Completion, complete
from reviewapp.envelopes.models import Version
from tests.reviewapp.envelopes.test_life import SOURCE, drafted
from tests.reviewapp.factories import person


def at(text: str) -> Completion:
    return complete(text.replace("^", "", 1), text.index("^"))


def names(text: str) -> list[str]:
    return [option.name for option in at(text).options]


PLACES: dict[str, tuple[str, str, list[str]]] = {
    "a field of a mapping": ("model:\n  ali^", "model", ["alias"]),
    "a field before others": ("limits:\n  same_p^\n  attempts: 3\nplans: []", "limits", ["same_plan"]),
    "a field after a text": ("plans:\n  - id: a\n    text: |\n      Copy.\n    car^", "plans.0", ["carries"]),
    "a field in braces": ("graph:\n  edges:\n    - {from: a, ^}", "graph.edges.0", ["on", "to"]),
    "a field in open braces": ("graph:\n  edges:\n    - {from: a, ^", "graph.edges.0", ["on", "to"]),
    "a value": ("model:\n  response_format: ^", "model.response_format", ["none", "json_object", "json_schema"]),
    "a value over a value": ("model:\n  response_format: no^ne", "model.response_format", ["none"]),
    "yes or no": ("breaker: {second_person: ^}", "breaker.second_person", ["true", "false"]),
    "an item in brackets": ("classes:\n  retry: [syntax, sch^]", "classes.retry.1", ["schema"]),
    "an item after a dash": ("classes:\n  retry:\n    - sch^", "classes.retry.0", ["schema"]),
    "a slot's short form": ("templates:\n  - {for: a, slots: {path: json^}}", "templates.0.slots.path", ["json_pointer"]),
    "a field of one kind": ("checks:\n  - {id: a, kind: sum, of^}", "checks.0", ["of"]),
    "a kind that follows": ("checks:\n- id: a\n  mis^\n  kind: sum\n- kind: regex", "checks.0", ["missing"]),
    "a value of one kind": ("checks:\n  - {kind: sum, missing: ^}", "checks.0.missing", ["skip", "zero"]),
    "a fallback's field": ("fallback:\n  - {id: a, kind: partial, ^}", "fallback.0", ["fields"]),
}


@pytest.mark.parametrize("name", PLACES)
def test_offers_what_fits(name: str) -> None:
    text, where, fitting = PLACES[name]
    assert (at(text).where, names(text)) == (where, fitting)


@pytest.mark.parametrize(
    "text",
    ["invariants: |\n  You ^", "# model^", "contract:\n  ty^", 'title: "a^', "task: ^", "@\nmodel:\n  ^", "nothing:\n  ^"],
)
def test_offers_nothing_where_anything_fits(text: str) -> None:
    assert names(text) == []


def test_offers_every_kind() -> None:
    assert sorted(names("checks:\n  - kind: ^")) == sorted(CHECKS)
    assert sorted(names("fallback:\n  - kind: ^")) == sorted(FALLBACKS)


def test_written_fields_are_not_offered() -> None:
    assert not {"task", "title"} & set(names("task: a\n^\ntitle: b\n"))
    assert names("task: a\nlimits:\n  attempts: 3\n  ^\n  attempts: 3").count("attempts") == 0


def test_says_what_it_replaces() -> None:
    found = at("model:\n  resp^onse: none")
    assert [(option.insert, found.back, found.ahead) for option in found.options] == [("response_format", 4, 4)]
    assert [option.insert for option in at("model:\n  alia^").options] == ["alias: "]


def test_required_fields_say_so() -> None:
    notes = {option.name: option.note for option in at("model:\n  ^").options}
    assert notes["alias"] == "required; text"
    assert notes["temperature"] == "a number"


@given(st.integers(0, len(SOURCE)), st.integers(0, 40))
@settings(max_examples=60)
def test_cut_text_never_fails(place: int, gone: int) -> None:
    text = SOURCE[:place] + SOURCE[place + gone :]
    found = complete(text, place)
    assert found.back <= place
    assert place + found.ahead <= len(text)


@given(st.text(alphabet=" \n-:{}[],'\"|#&*!%@`ab\t", max_size=30), st.integers(0, 30))
@settings(max_examples=100)
def test_any_text_never_fails(text: str, place: int) -> None:
    complete(text, place)


@pytest.fixture
def draft() -> Version:
    return drafted(person("author", Role.OWNER))


@pytest.mark.django_db
def test_editor_asks_and_stores_nothing(draft: Version) -> None:
    client, before = Client(), draft.source
    client.force_login(draft.author)
    answer = client.post("/envelopes/totals/v1/complete", {"source": "model:\r\n  resp", "at": "13"})
    assert answer.status_code == 200
    assert 'data-insert="response_format: "' in answer.content.decode()
    assert Version.objects.get().source == before


@pytest.mark.django_db
@pytest.mark.parametrize("place", ["", "-1", "x", "99999999999", "999", "²"])
def test_place_outside_offers_nothing(draft: Version, place: str) -> None:
    client = Client()
    client.force_login(draft.author)
    answer = client.post("/envelopes/totals/v1/complete", {"source": "model:\n  ", "at": place})
    assert (answer.status_code, b"Nothing to offer here" in answer.content) == (200, True)
