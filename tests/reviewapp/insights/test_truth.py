"""The shown rate against the truth that reference values know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.authoring import read
from controller.backends.replies_file import read_replies
from controller.backends.scripted import Scripted
from controller.intervals import Interval
from controller.rates import Rate
from reviewapp.accounts.models import Role
from reviewapp.batches.actions import close_batch, submit_lines
from reviewapp.batches.models import Batch
from reviewapp.envelopes import keys
from reviewapp.envelopes.actions import approve_version, create_envelope, draft_version, submit_for_review
from reviewapp.envelopes.models import Version
from reviewapp.insights import figures
from reviewapp.insights.figures import Scope
from reviewapp.runs import actions
from reviewapp.samples.models import Grade, Sample
from reviewapp.samples.reference import grade_by_reference, graders, marks_by, truth_in
from tests.reviewapp.factories import person
from tests.reviewapp.samples.ended import end, ready

pytestmark = pytest.mark.django_db

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def signed(path: Path, **changes: Any) -> Version:
    source = read(path.read_text(encoding="utf-8")).model_dump(mode="json", by_alias=True) | changes
    author, owner = person("author", Role.OWNER), person("owner", Role.OWNER)
    keys.make_key()
    envelope = create_envelope(source["task"], "", by=author)
    version = submit_for_review(draft_version(envelope, yaml.safe_dump(source, sort_keys=False), by=author), by=author)
    return approve_version(version, by=owner, digest=version.digest)


def shown(batch: Batch) -> Rate:
    rate = figures.line("batch", figures.sample_rows(Scope(batch.version.envelope_id, batch_id=batch.pk)), 0.1).rate
    assert isinstance(rate, Rate)
    return rate


def test_demo_rate_covers_its_truth() -> None:
    """120 shipped receipts, every sixth accepted with a wrong amount: known to the references, estimated from the sample."""
    version = signed(
        EXAMPLES / "envelopes" / "receipt-fields.v1.yaml",
        sampling={"rate": 0.4, "min_per_stratum": 5, "double": 0.2},
        breaker={"silent": {"limit": 0.1, "h": 99}},
    )
    lines = (EXAMPLES / "documents" / "receipts.jsonl").read_bytes().splitlines(keepends=True)
    batch = submit_lines(lines, version=version, name="receipts", by=None).batch
    assert batch is not None
    for number, run in enumerate(ready(batch)):
        value = json.loads(run.record.payload.reference)
        if number % 6 == 0:
            value["items"][0]["price"] = "0.07"
        end(run, value=json.dumps(value), attempts=2 if number % 4 == 0 else 1)
    grade_by_reference()
    batch = close_batch(batch, by=graders()[0])
    grade_by_reference()
    rate, (wrong, accepted) = shown(batch), truth_in(batch)
    assert (wrong, accepted) == (20, 120)
    assert not Sample.objects.exclude(status="settled").exists()
    assert rate.interval.contains(wrong / accepted)
    assert rate.point is not None
    assert rate.interval.width < 0.3


def test_graders_who_slip_show_in_the_agreement() -> None:
    version = signed(
        EXAMPLES / "envelopes" / "receipt-fields.v1.yaml",
        sampling={"rate": 1.0, "min_per_stratum": 0, "double": 1.0},
        breaker={"silent": {"limit": 0.1, "h": 99}, "ungraded": 999},
    )
    lines = (EXAMPLES / "documents" / "receipts.jsonl").read_bytes().splitlines(keepends=True)[:10]
    batch = submit_lines(lines, version=version, name="receipts", by=None).batch
    for run in ready(batch):
        value = json.loads(run.record.payload.reference) | {"shop": "Elsewhere"}
        end(run, value=json.dumps(value))
    grade_by_reference(slips=lambda key, number: number == 2 and key.endswith(("1", "2", "3")))
    table = figures.cross_table(Scope(version.envelope_id))
    assert (table.both_wrong, table.apart, table.both_right) == (7, 3, 0)
    assert shown(batch).wrong == 10
    assert Grade.objects.filter(task__kind="adjudicate").count() == 3


def test_real_outputs_lie_inside(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies of a tuned model to real receipts, accepted for their form alone: the page says how many totals are wrong."""
    replies = {key: reply for (key, _), reply in read_replies(shared_data / "replies" / "tuned_v2.jsonl").items()}
    backend = Scripted(lambda request: replies[request.record])
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
    actions._prepared.cache_clear()
    version = signed(EXAMPLES / "envelopes" / "sroie-loose.yaml", sampling={"rate": 0.5, "min_per_stratum": 10, "double": 0.1})
    rows = [json.loads(line) for line in (shared_data / "sroie" / "test_open.jsonl").read_text().splitlines()]
    lines = [
        json.dumps({"id": row["id"], "document": row["text"], "reference": row["reference"]}).encode() + b"\n"
        for row in rows
        if row["id"] in replies
    ]
    batch = submit_lines(lines, version=version, name="tuned", by=None).batch
    assert batch is not None
    while claimed := actions.claim("test", 50):
        for run_id, fence in claimed:
            actions.execute(run_id, fence)
    grade_by_reference()
    wrong, accepted = truth_in(batch)
    assert accepted > 100
    assert shown(batch).interval.contains(wrong / accepted)
    total = next(f for f in figures.fields_of(Scope(version.envelope_id), 0.1) if f.name == "/total")
    outcomes = batch.runs.filter(status="accepted").values_list("record__payload__reference", "outcome__value")
    wrong_totals = sum(marks_by(reference, value)["/total"]["mark"] == "wrong" for reference, value in outcomes)
    assert isinstance(total.interval, Interval)
    assert total.interval.contains(wrong_totals / accepted)


MARKED = [
    ('{"a":"1","b":null}', '{"a":"1","b":null}', {"/a": "right", "/b": "right"}),
    ('{"a":"1","b":"2"}', '{"a":"1","b":null}', {"/a": "right", "/b": "wrong"}),
    ('{"a":"1"}', '{"a":"2","c":"3"}', {"/a": "wrong", "/c": "cannot_judge"}),
    ('{"a":["1","2"]}', '{"a":["1"]}', {"/a/0": "right", "(left out)": "wrong"}),
    ('{"a":["1"]}', '{"a":["1","2"]}', {"/a/0": "right", "/a/1": "wrong"}),
]


@pytest.mark.parametrize(("reference", "value", "marks"), MARKED)
def test_marks_by_reference(reference: str, value: str, marks: dict[str, str]) -> None:
    assert {at: mark["mark"] for at, mark in marks_by(reference, value).items()} == marks
