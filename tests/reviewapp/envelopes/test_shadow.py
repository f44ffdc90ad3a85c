from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml

from controller.backends.scripted import Scripted
from controller.reply import Fault, InfrastructureError, Request
from reviewapp.accounts.models import Role
from reviewapp.audit.models import Entry
from reviewapp.deadletters.models import DeadLetter
from reviewapp.envelopes import shadow, shadow_work
from reviewapp.envelopes.actions import NotAllowed
from reviewapp.envelopes.drafting import draft_from, save_draft, token_of
from reviewapp.envelopes.evidence import evidence, ordered
from reviewapp.envelopes.models import ShadowResult, ShadowRun, ShadowStatus, Version
from reviewapp.runs import actions as run_actions
from reviewapp.runs.models import Attempt, Outcome, Run
from tests.reviewapp.factories import approved, batch, person

pytestmark = pytest.mark.django_db

GOOD, OTHER, BAD = '{"total":"15.00","qty":2}', '{"total":"15.00","qty":3}', '{"total":null,"qty":"two"}'
MARK = "Look at the line that says Total."


class Endpoint:
    """Answers by record and by whether the draft's own words are in the prompt."""

    def __init__(self) -> None:
        self.old: dict[str, str] = {}
        self.new: dict[str, str | InfrastructureError] = {}
        self.calls = 0

    def __call__(self, request: Request) -> str | InfrastructureError:
        self.calls += 1
        sent = "".join(message.content for message in request.messages)
        answers = self.new if MARK in sent else self.old
        return answers[next(name for name in answers if f"record {name}." in sent)]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    answers = Endpoint()
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: Scripted(answers))
    run_actions._prepared.cache_clear()
    shadow_work._prepared.cache_clear()
    yield answers
    run_actions._prepared.cache_clear()
    shadow_work._prepared.cache_clear()


def tried(endpoint: Endpoint) -> Version:
    """A draft beside a version that accepted a, d, e and gave b, c up."""
    endpoint.old = {"a": GOOD, "b": BAD, "c": BAD, "d": GOOD, "e": GOOD}
    version = approved()
    batch(version, {name: f"record {name}.\n2 teas\nTotal 15.00" for name in endpoint.old})
    while claimed := run_actions.claim("test", 10):
        for run_id, fence in claimed:
            run_actions.execute(run_id, fence)
    author = person("author")
    draft = draft_from(version, by=author)
    data = yaml.safe_load(draft.source) | {"reminder": MARK}
    save_draft(draft, yaml.safe_dump(data, sort_keys=False), token_of(draft.source), by=author)
    return Version.objects.select_related("envelope").get(pk=draft.pk)


def planned(draft: Version) -> tuple[shadow.Choices, shadow.Plan]:
    found = shadow.choices(draft)
    assert found is not None
    signatures = [group.signature for group in found.groups]
    return found, shadow.plan(draft, found.against, signatures, per_signature=10, accepted=10, seed=1)


def started(draft: Version) -> ShadowRun:
    found, chosen = planned(draft)
    return shadow.start(draft, found.against, chosen, confirmed=chosen.confirmation, by=person("author"))


def work() -> ShadowRun:
    while shadow_work.work_next():
        pass
    return ShadowRun.objects.get()


def test_offers_dead_letters_by_signature(endpoint: Endpoint) -> None:
    found, chosen = planned(tried(endpoint))
    assert [(group.count, found.accepted) for group in found.groups] == [(2, 3)]
    assert (len(chosen.runs), chosen.max_calls, chosen.max_tokens) == (5, 35, 5 * 20_000)


def test_tells_what_the_draft_does(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    endpoint.new = {"a": GOOD, "b": GOOD, "c": BAD, "d": BAD, "e": OTHER}
    started(draft)
    ended = work()
    found = evidence(ended)
    assert ended.status == ShadowStatus.DONE
    assert found.counts == {"rescued": 1, "still_failing": 1, "newly_failing": 1, "changed": 1, "same": 1}
    assert (found.not_run, found.waiting) == (0, 0)
    assert found.decided is not None
    assert found.decided.p == 1.0
    assert [row.change for row in ordered(ended)] == ["rescued", "still_failing", "newly_failing", "changed", "same"]


def test_delivers_and_counts_nothing(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    endpoint.new = dict.fromkeys("abcde", GOOD)
    before = (Run.objects.count(), Attempt.objects.count(), Outcome.objects.count(), DeadLetter.objects.count())
    started(draft)
    work()
    assert before == (Run.objects.count(), Attempt.objects.count(), Outcome.objects.count(), DeadLetter.objects.count())


def test_missing_recording_is_no_verdict(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    miss = InfrastructureError(Fault.CONFIGURATION, "no recorded reply for 0123", retryable=False)
    endpoint.new = dict.fromkeys("abcd", GOOD) | {"e": miss}
    started(draft)
    found = evidence(work())
    assert (found.not_run, found.ran) == (1, 4)
    row = ShadowResult.objects.get(outcome="not_run")
    assert (row.change, row.reason) == ("", "configuration: no recorded reply for 0123")


def test_calls_stay_below_shown_bound(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    endpoint.new = dict.fromkeys("abcde", BAD)
    shadow_run, before = started(draft), endpoint.calls
    work()
    assert endpoint.calls - before == evidence(shadow_run).calls <= shadow_run.max_calls


def test_starts_only_what_was_shown(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    found, chosen = planned(draft)
    with pytest.raises(NotAllowed, match="look at it again"):
        shadow.start(draft, found.against, chosen, confirmed="1-2-3", by=person("author"))
    shadow.start(draft, found.against, chosen, confirmed=chosen.confirmation, by=person("author"))
    assert Entry.objects.filter(action="shadow run started").count() == 1
    with pytest.raises(NotAllowed, match="under way"):
        shadow.start(draft, found.against, chosen, confirmed=chosen.confirmation, by=person("author"))


def test_stopped_run_tries_no_further_record(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    endpoint.new = dict.fromkeys("abcde", GOOD)
    shadow_run = started(draft)
    assert shadow_work.work_next()
    shadow.stop(shadow_run, by=person("owner", Role.OWNER))
    assert not shadow_work.work_next()
    assert (work().status, ShadowResult.objects.filter(ended_at=None).count()) == (ShadowStatus.STOPPED, 4)


def test_result_of_lost_worker_is_not_written(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    started(draft)
    claimed = shadow_work._claim()
    assert claimed is not None
    result, _ = claimed
    ShadowResult.objects.filter(pk=result.pk).update(fence=result.fence + 1)
    shadow_work._store(result, shadow_work.Tried("accepted", "rescued"))
    assert ShadowResult.objects.get(pk=result.pk).outcome == ""


def test_story_has_calls_and_hashes(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    endpoint.new = dict.fromkeys("abcde", BAD)
    started(draft)
    work()
    calls = json.loads(ShadowResult.objects.order_by("pk")[0].story)
    assert [call["number"] for call in calls] == [1, 2]
    assert len(calls[0]["request"]) == 64
    assert calls[0]["reply"] == BAD
    assert calls[1]["directives"] == ["/qty: follow the schema."]


def test_later_edit_is_told_apart(endpoint: Endpoint) -> None:
    draft = tried(endpoint)
    shadow_run = started(draft)
    assert shadow.current_digest(draft) == shadow_run.digest
    save_draft(draft, draft.source.replace("Copy the fields", "Copy all fields"), token_of(draft.source), by=person("author"))
    assert shadow.current_digest(Version.objects.get(pk=draft.pk)) != shadow_run.digest
