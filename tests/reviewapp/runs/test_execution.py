from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from controller.backends.scripted import Scripted
from controller.reply import Backend, Fault, InfrastructureError, Reply, Request
from reviewapp.batches.actions import pause_batch, resume_batch
from reviewapp.deadletters.models import DeadLetter
from reviewapp.envelopes.actions import retire_version
from reviewapp.envelopes.models import Version
from reviewapp.runs import actions
from reviewapp.runs.models import Attempt, AttemptStatus, Outcome, Run
from tests.conftest import _guards_lifted
from tests.reviewapp.factories import approved, batch, person

pytestmark = pytest.mark.django_db

GOOD = '{"total":"15.00","qty":2}'
BAD = '{"total":null,"qty":"two"}'
DOCUMENT = "2 teas\nTotal 15.00"


class Model(list[object]):
    asked: list[Request]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Model:
    script = Model([GOOD])
    script.asked = []

    def answer(request: Request) -> Reply | InfrastructureError | str:
        script.asked.append(request)
        return script[min(len(script.asked), len(script)) - 1]  # type: ignore[return-value]

    backend: Backend = Scripted(answer)
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
    actions._prepared.cache_clear()
    return script


def work() -> Run:
    """Claims and works everything that can be worked now."""
    while claimed := actions.claim("test", 10):
        for run_id, fence in claimed:
            actions.execute(run_id, fence)
    return Run.objects.get()


def test_accepts_on_first_attempt(endpoint: Model) -> None:
    batch(approved(), {"a": DOCUMENT})
    run = work()
    assert (run.status, run.accepted_on, run.attempts, run.calls) == ("accepted", 1, 1, 1)
    assert run.outcome.value == GOOD
    assert json.loads(run.outcome.result)["status"] == "accepted"
    assert [event.kind for event in run.events.all()] == ["Begin", "Replied"]
    attempt = run.calls_made.get()
    assert (attempt.status, attempt.passed, attempt.request_sha256) == ("replied", True, endpoint.asked[0].digest)
    assert not DeadLetter.objects.exists()


def test_carries_a_directive_then_accepts(endpoint: Model) -> None:
    endpoint[:] = ['{"total":"99.00","qty":2}', GOOD]
    batch(approved(), {"a": DOCUMENT})
    run = work()
    assert (run.status, run.accepted_on, len(endpoint.asked)) == ("accepted", 2, 2)
    second = run.calls_made.get(number=2).payload
    assert json.loads(second.directives) == ["/total: copy the number as printed."]
    assert "99.00" not in endpoint.asked[1].messages[1].content


def test_dead_letters_a_repeated_failure(endpoint: Model) -> None:
    endpoint[:] = [BAD]
    batch(approved(), {"a": DOCUMENT})
    run = work()
    assert (run.status, run.fuse, run.final_class, len(endpoint.asked)) == ("dead_lettered", "same_signature", "schema", 2)
    letter = DeadLetter.objects.get()
    assert (letter.run, letter.failing) == (run, "schema /qty, schema /total")
    assert run.outcome.value == BAD


def test_document_is_not_stored_again_with_attempts(endpoint: Model) -> None:
    batch(approved(), {"a": DOCUMENT})
    payload = work().calls_made.get().payload
    blocks = {block["name"]: block for block in json.loads(payload.prompt)}
    assert blocks["document"]["text"] == ""
    assert blocks["document"]["tokens"] <= blocks["document"]["cap"]
    assert DOCUMENT not in payload.prompt


def test_two_workers_never_claim_one_run(endpoint: Model) -> None:
    batch(approved(), {"a": DOCUMENT})
    assert len(actions.claim("one", 10)) == 1
    assert actions.claim("two", 10) == []


def test_expired_lease_is_claimed_with_a_higher_fence(endpoint: Model) -> None:
    batch(approved(), {"a": DOCUMENT})
    ((run_id, fence),) = actions.claim("one", 10)
    Run.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    ((same, higher),) = actions.claim("two", 10)
    assert (same, higher) == (run_id, fence + 1)
    assert actions.execute(run_id, fence) is False
    assert endpoint.asked == []
    assert actions.execute(run_id, higher) is True


def test_worker_that_lost_its_lease_writes_nothing(endpoint: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    batch(approved(), {"a": DOCUMENT})
    ((run_id, fence),) = actions.claim("one", 10)

    class Taken(Scripted):
        def complete(self, request: Request, timeout_ms: int) -> Reply:
            Run.objects.filter(pk=run_id).update(fence=fence + 1)
            return Reply(GOOD)

    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: Taken([]))
    actions._prepared.cache_clear()
    assert actions.execute(run_id, fence) is False
    run = Run.objects.get()
    assert (run.status, run.calls) == ("calling", 1)
    assert not Outcome.objects.exists()


def test_lost_call_counts_and_the_run_goes_on(endpoint: Model) -> None:
    batch(approved(infrastructure__backoff_ms=[1, 1]), {"a": DOCUMENT})
    ((run_id, fence),) = actions.claim("one", 10)

    def die(request: Request) -> str:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: Scripted(die))
        actions._prepared.cache_clear()
        with pytest.raises(KeyboardInterrupt):
            actions.execute(run_id, fence)
    assert Attempt.objects.get().status == AttemptStatus.STARTED
    actions._prepared.cache_clear()
    endpoint[:] = [GOOD]
    Run.objects.update(lease_until=None)
    run = work()
    assert (run.status, run.calls, run.attempts, run.accepted_on) == ("accepted", 2, 1, 1)
    assert list(run.calls_made.values_list("status", flat=True)) == ["lost", "replied"]


def test_long_wait_goes_back_to_the_queue(endpoint: Model) -> None:
    endpoint[:] = [InfrastructureError(Fault.RATE_LIMIT, "busy", retry_after_ms=5000), GOOD]
    batch(approved(), {"a": DOCUMENT})
    run = work()
    assert (run.status, len(endpoint.asked), run.lease_until) == ("waiting", 1, None)
    assert run.not_before is not None
    assert run.not_before > timezone.now() + timedelta(seconds=3)
    Run.objects.update(not_before=timezone.now())
    assert work().status == "accepted"


def test_paused_batch_starts_nothing(endpoint: Model) -> None:
    owner = person("owner")
    made = batch(approved(), {"a": DOCUMENT})
    pause_batch(made, by=owner, why="looks wrong")
    assert work().status == "ready"
    assert endpoint.asked == []
    resume_batch(made, by=owner, why="looked fine")
    assert work().status == "accepted"


def test_pause_acts_before_the_next_attempt(endpoint: Model) -> None:
    made = batch(approved(), {"a": DOCUMENT})

    def pause(request: Request) -> str:
        endpoint.asked.append(request)
        pause_batch(made, by=None, why="in the middle")
        return BAD

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: Scripted(pause))
        actions._prepared.cache_clear()
        run = work()
    actions._prepared.cache_clear()
    assert (run.status, run.attempts, run.calls, len(endpoint.asked)) == ("ready", 1, 1, 1)
    assert run.lease_until is None


def test_retired_version_makes_no_further_call(endpoint: Model) -> None:
    version = approved()
    batch(version, {"a": DOCUMENT})
    retire_version(version, by=person("owner"), why="emergency")
    run = work()
    assert (run.status, run.fuse, endpoint.asked) == ("dead_lettered", "version_retired", [])


def test_altered_version_reaches_no_model(endpoint: Model) -> None:
    version = approved()
    batch(version, {"a": DOCUMENT})
    with _guards_lifted():  # type: ignore[attr-defined]
        Version.objects.filter(pk=version.pk).update(canonical=version.canonical.replace("You copy", "You invent"))
    run = work()
    assert (run.status, run.fuse, endpoint.asked) == ("dead_lettered", "signature_invalid", [])


def test_altered_document_reaches_no_model(endpoint: Model) -> None:
    made = batch(approved(), {"a": DOCUMENT})
    with _guards_lifted():  # type: ignore[attr-defined]
        made.records.get().payload.__class__.objects.update(document="Total 99.00")
    run = work()
    assert (run.status, run.fuse, endpoint.asked) == ("dead_lettered", "document_altered", [])


def test_unusable_version_pauses_the_batch(endpoint: Model) -> None:
    tokens = {"counter": "tokenizer_file", "path": "absent.json", "sha256": "0" * 64}
    made = batch(approved(tokens=tokens), {"a": DOCUMENT})
    run = work()
    made.refresh_from_db()
    assert (run.status, made.status, endpoint.asked) == ("ready", "paused", [])
    assert "tokenizer file" in made.paused_why


def test_hostile_reply_is_stored_as_it_came(endpoint: Model) -> None:
    endpoint[:] = [Reply("\x00\ud800<script>")]
    batch(approved(), {"a": DOCUMENT})
    run = work()
    assert run.final_class == "syntax"
    assert json.loads(run.calls_made.get(number=1).payload.reply) == "\x00\ud800<script>"


def test_database_keeps_one_ending(endpoint: Model) -> None:
    batch(approved(), {"a": DOCUMENT})
    run = work()
    with pytest.raises(DatabaseError, match="does not change"), transaction.atomic():
        Run.objects.update(status="dead_lettered")
    with pytest.raises(IntegrityError), transaction.atomic():
        Outcome.objects.create(run=run, kind="accepted", result="{}", created_at=timezone.now())
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        Outcome.objects.update(result="{}")
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.create(
            run=run, number=1, kind="generation", alias="a", fence=1, prompt_tokens_counted=1, started_at=timezone.now()
        )
