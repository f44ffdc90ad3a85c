from __future__ import annotations

from controller.explain import explain
from tests.envelopes import SMALL, small


def test_says_every_limit_in_words() -> None:
    found = explain(small())
    assert "after 3 attempts, at most 2 repairs among them" in found.stops
    assert found.retried.startswith("Asked again after failures of class syntax, schema or business.")
    assert found.bound.calls == 7


def test_says_what_follows_each_failure() -> None:
    steps = {(step.plan, step.group): step for step in explain(small()).steps}
    assert steps["copy", "grounding"].to == "again"
    assert steps["copy", "grounding"].told == ("{path}: copy the number as printed.",)
    assert steps["again", "schema"].told == ("{path}: follow the schema.",)


def test_says_where_nothing_follows() -> None:
    found = explain(small(graph={"start": "copy", "edges": [{"from": "copy", "on": ["schema"], "to": "again"}]}))
    assert {(s.plan, s.group): s.to for s in found.steps}["copy", "grounding"] == ""


def test_check_says_what_must_hold() -> None:
    check = next(check for check in explain(small()).checks if check.id == "total-printed")
    assert (check.sentence, check.settings) == ("The document prints this number.", "at /total, locale verbatim")
    hinted = explain(small(checks=[SMALL["checks"][0] | {"hint": "The total is printed"}]))
    assert hinted.checks[-1].sentence == "The total is printed"
