from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviewapp.accounts.models import Role
from reviewapp.audit.actions import verify_chain
from reviewapp.audit.models import Entry
from reviewapp.deadletters.actions import deciding, undoing
from reviewapp.deadletters.models import Correction, DeadLetter, Decision, Delivery, FailureGroup
from reviewapp.deadletters.results import result_of
from reviewapp.deadletters.rules import LeaseLost, NotAllowed
from reviewapp.envelopes.actions import retire_version
from reviewapp.runs.models import Outcome, Run
from tests.reviewapp.deadletters.cases import (
    RIGHT,
    WRONG_TOTAL,
    assert_counts_true,
    claimed,
    letters,
    manager,
    next_for,
    policy,
    reviewer,
    run_all,
    windows_over,
)
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db


def corrected(letter: DeadLetter) -> Decision:
    return deciding.correct_and_accept(claimed(letter, reviewer()), RIGHT)


def test_correction_is_delivered_as_human() -> None:
    (letter,) = letters(1)
    corrected(letter)
    record = letter.run.record
    assert result_of(record).kind == "nothing", "nothing leaves inside the undo window"
    assert result_of(record).pending is not None
    windows_over()
    result = result_of(record)
    assert (result.kind, result.value, result.original) == ("human_corrected", '{"total":"15.00","qty":3}', WRONG_TOTAL)
    assert Outcome.objects.get(run=letter.run).value == WRONG_TOTAL
    assert_counts_true()


def test_failing_value_is_not_accepted() -> None:
    (letter,) = letters(1)
    claim = claimed(letter, reviewer())
    with pytest.raises(deciding.NotPassed, match="total-printed /total") as caught:
        deciding.correct_and_accept(claim, {"total": "99.00", "qty": 3})
    assert not caught.value.report.passed
    assert not Delivery.objects.exists()


def test_override_needs_a_reason() -> None:
    (letter,) = letters(1)
    claim, value = claimed(letter, reviewer()), {"total": "99.00", "qty": 3}
    key = ("total-printed", "/total")
    with pytest.raises(deciding.NotPassed):
        deciding.correct_and_accept(claim, value, overrides={key: " "})
    deciding.correct_and_accept(claim, value, overrides={key: "stamped over, read from the copy"})
    assert Correction.objects.get().overrides == [
        {"check": "total-printed", "pointer": "/total", "reason": "stamped over, read from the copy"}
    ]


def test_contract_is_never_overridden() -> None:
    (letter,) = letters(1)
    with pytest.raises(deciding.NotPassed, match="schema /qty"):
        deciding.correct_and_accept(
            claimed(letter, reviewer()), {"total": "15.00", "qty": "x"}, overrides={("schema", "/qty"): "it is fine"}
        )


def test_late_decision_changes_nothing() -> None:
    (letter,) = letters(1)
    late = claimed(letter, reviewer("rae"))
    DeadLetter.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    deciding.reject(claimed(letter, reviewer("ben")), "unreadable")
    with pytest.raises(LeaseLost, match="someone else has finished"):
        deciding.correct_and_accept(late, RIGHT)
    assert DeadLetter.objects.get().resolution == "rejected"


def test_undo_leaves_no_trace_outside() -> None:
    (letter,) = letters(1)
    decision = corrected(letter)
    undoing.undo(decision.pk, by=reviewer())
    windows_over()
    assert DeadLetter.objects.get().status == "open"
    assert result_of(letter.run.record).kind == "nothing"
    assert_counts_true()
    with pytest.raises(NotAllowed, match="already"):
        undoing.undo(decision.pk, by=reviewer())


def test_only_decider_or_manager_undoes() -> None:
    (letter,) = letters(1)
    decision = corrected(letter)
    with pytest.raises(NotAllowed, match="only the person"):
        undoing.undo(decision.pk, by=reviewer("ben"))
    undoing.undo(decision.pk, by=manager())


def test_no_undo_after_the_window() -> None:
    (letter,) = letters(1)
    decision = corrected(letter)
    windows_over()
    with pytest.raises(NotAllowed, match="reopen"):
        undoing.undo(decision.pk, by=reviewer())


def test_reopening_compensates() -> None:
    (letter,) = letters(1)
    corrected(letter)
    with pytest.raises(NotAllowed, match="undo"):
        undoing.reopen(letter.pk, by=reviewer(), why="wrong receipt")
    windows_over()
    undoing.reopen(letter.pk, by=reviewer(), why="wrong receipt")
    assert result_of(letter.run.record).kind == "withdrawn"
    assert next_for(reviewer("ben")) is not None
    assert_counts_true()


def test_requeue_starts_after_window() -> None:
    (letter,) = letters(1)
    second = approved(reminder="Copy exactly.")
    deciding.requeue(claimed(letter, reviewer()), second)
    run = Run.objects.get(replay=1)
    assert run.version == second
    run_all(letter.batch, '{"total":"15.00","qty":3}')
    assert not Run.objects.get(replay=1).has_ended
    windows_over()
    run_all(letter.batch, '{"total":"15.00","qty":3}')
    assert result_of(letter.run.record).kind == "accepted"
    assert DeadLetter.objects.get().resolution == "requeued"


def test_undone_requeue_never_runs() -> None:
    (letter,) = letters(1)
    decision = deciding.requeue(claimed(letter, reviewer()), letter.version)
    undoing.undo(decision.pk, by=reviewer())
    assert not Run.objects.filter(replay=1).exists()
    deciding.requeue(claimed(letter, reviewer()), letter.version)
    assert Run.objects.filter(replay=1).count() == 1


def test_requeue_once_per_version() -> None:
    (letter,) = letters(1)
    deciding.requeue(claimed(letter, reviewer()), letter.version)
    windows_over()
    run_all(letter.batch, WRONG_TOTAL)
    again = DeadLetter.objects.get(replay=1)
    with pytest.raises(NotAllowed, match="before"):
        deciding.requeue(claimed(again, reviewer()), letter.version)
    newer = approved(reminder="Copy exactly.")
    deciding.requeue(claimed(again, reviewer()), newer)


def test_no_requeue_under_older_or_retired() -> None:
    first = approved()
    second = approved(reminder="Copy exactly.")
    (letter,) = letters(1, version=second)
    claim = claimed(letter, reviewer())
    with pytest.raises(NotAllowed, match="older"):
        deciding.requeue(claim, first)
    retire_version(second, by=person("owner", Role.OWNER), why="bad idea")
    second.refresh_from_db()
    with pytest.raises(NotAllowed, match="retired"):
        deciding.requeue(claim, second)


def test_quarantined_after_last_replay() -> None:
    version = approved()
    policy(version, replays=1)
    (letter,) = letters(1, version=version)
    deciding.requeue(claimed(letter, reviewer()), version)
    windows_over()
    run_all(letter.batch, WRONG_TOTAL)
    again = DeadLetter.objects.get(replay=1)
    assert again.status == "quarantined"
    assert next_for(reviewer()) is None
    newer = approved(reminder="Copy exactly.")
    with pytest.raises(NotAllowed, match="requeued 1 times"):
        deciding.requeue(claimed(again, manager()), newer)
    assert_counts_true()


def test_no_replays_quarantine_no_first_letter() -> None:
    version = approved()
    policy(version, replays=0)
    (letter,) = letters(1, version=version)
    assert letter.status == "open"
    with pytest.raises(NotAllowed, match="requeued 0 times"):
        deciding.requeue(claimed(letter, reviewer()), version)


def test_failed_requeue_is_not_reopened() -> None:
    (letter,) = letters(1)
    deciding.requeue(claimed(letter, reviewer()), letter.version)
    windows_over()
    with pytest.raises(NotAllowed, match="not ended"):
        undoing.reopen(letter.pk, by=reviewer(), why="try again")
    run_all(letter.batch, WRONG_TOTAL)
    with pytest.raises(NotAllowed, match="dead letter itself"):
        undoing.reopen(letter.pk, by=reviewer(), why="try again")


def test_rejection_needs_known_reason() -> None:
    (letter,) = letters(1)
    claim = claimed(letter, reviewer())
    with pytest.raises(NotAllowed):
        deciding.reject(claim, "because")
    with pytest.raises(NotAllowed, match="in words"):
        deciding.reject(claim, "other")
    deciding.reject(claim, "duplicate", note="same as batch-0001")
    windows_over()
    result = result_of(letter.run.record)
    assert (result.kind, result.reason, result.note) == ("rejected", "duplicate", "same as batch-0001")


def test_asked_letter_returns_with_answer() -> None:
    (letter,) = letters(1)
    deciding.ask_submitter(claimed(letter, reviewer()), "missing_page", note="page 2 please")
    assert FailureGroup.objects.get().n_asked == 1
    windows_over()
    assert result_of(letter.run.record).kind == "asked"
    deciding.return_to_queue(letter.pk, by=reviewer(), why="page 2 came by mail")
    assert next_for(reviewer()) is not None
    assert_counts_true()


def test_skipped_letter_goes_to_others() -> None:
    (letter,) = letters(1)
    rae = reviewer("rae")
    decision = deciding.skip(claimed(letter, rae), "language")
    assert next_for(rae) is None
    ben = next_for(reviewer("ben"))
    assert ben is not None
    deciding.skip(ben, "knowledge")
    undoing.undo(Decision.objects.get(by=ben.user).pk, by=ben.user)
    assert next_for(ben.user) is not None
    with pytest.raises(NotAllowed, match="since"):
        undoing.undo(decision.pk, by=rae)


def test_escalated_letter_is_for_seniors() -> None:
    (letter,) = letters(1)
    rae = reviewer()
    deciding.escalate(claimed(letter, rae), note="is this a receipt at all?")
    with pytest.raises(NotAllowed, match="owner or manager"):
        claimed(letter, rae)
    deciding.reject(claimed(letter, manager()), "out_of_scope")
    assert_counts_true()


def test_every_decision_is_audited() -> None:
    (letter,) = letters(1)
    decision = corrected(letter)
    undoing.undo(decision.pk, by=reviewer())
    deciding.escalate(claimed(letter, reviewer()), note="over to you")
    said = list(Entry.objects.filter(subject="dead letter").order_by("pk").values_list("action", flat=True))
    assert said == ["dead letter corrected", "dead letter decision undone", "dead letter escalated"]
    assert not list(verify_chain())
