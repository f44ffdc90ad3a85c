from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviewapp.accounts.models import Role, User
from reviewapp.deadletters.models import DeadLetter, Decision, Delivery, Draft
from reviewapp.runs.models import Run
from tests.reviewapp.deadletters.cases import RIGHT, WRONG_TOTAL, claimed, letters, manager, policy, reviewer
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
FIELDS = {"v:/total": "15.00", "v:/qty": "3"}


@pytest.fixture
def rae(client: Client) -> User:
    user = reviewer()
    client.force_login(user)
    return user


def post(client: Client, letter: DeadLetter, step: str, data: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    letter.refresh_from_db()
    return client.post(f"{letter.get_absolute_url()}{step}/", {"fence": letter.fence, **(data or {})}, **kwargs)


def page(client: Client, letter: DeadLetter, query: str = "") -> str:
    return client.get(letter.get_absolute_url() + query).content.decode()


def test_shows_why_it_stopped(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    html = page(client, letter)
    assert "same checks failed" in html.lower() or "same" in html
    assert 'value="99.00"' in html
    assert "total-printed" in html
    assert "Claim this one" in html
    assert "The same prompt as attempt" in html or "What changed in the prompt since attempt" in html


def test_claim_next_opens_the_letter(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    response = client.post(reverse("deadletter-next"), {"order": "oldest"}, follow=True)
    assert response.redirect_chain[-1][0] == letter.get_absolute_url()
    assert "Accept and take the next" in response.content.decode()


def test_empty_queue_says_so(client: Client, rae: User) -> None:
    html = client.post(reverse("deadletter-next"), follow=True).content.decode()
    assert "Nothing waits for you" in html


def test_workspace_reads_in_few_queries(client: Client, rae: User, django_assert_max_num_queries: Any) -> None:
    made = letters(3)
    claimed(made[0], rae)
    page(client, made[0])
    with django_assert_max_num_queries(12):
        page(client, made[1])
    with django_assert_max_num_queries(12):
        assert "Accept and take the next" in page(client, made[0])


def test_corrected_letter_leads_to_next(client: Client, rae: User) -> None:
    first, second = letters(2)
    claimed(first, rae)
    response = post(client, first, "correct", {**FIELDS, "then": "next"})
    assert response["Location"] == second.get_absolute_url()
    assert Delivery.objects.get().value == json.dumps(RIGHT, separators=(",", ":"))


def test_failing_correction_keeps_text(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    response = post(client, letter, "correct", {"v:/total": "16.00", "v:/qty": "3"})
    html = response.content.decode()
    assert response.status_code == 422
    assert "Still failing: total-printed /total" in html
    assert 'value="16.00"' in html


def test_reason_lets_a_check_through(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    data = {"v:/total": "16.00", "v:/qty": "3", "o:total-printed:/total": "read from the carbon copy"}
    assert post(client, letter, "correct", data).status_code == 302
    assert Decision.objects.get(kind="correct").details == {"overridden": ["total-printed /total"]}


def test_late_submit_is_a_kept_conflict(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    mine = claimed(letter, rae)
    DeadLetter.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    claimed(letter, reviewer("ben"))
    data = {"fence": mine.fence, "v:/total": "15.00 typed by Rae", "v:/qty": "3"}
    response = client.post(reverse("deadletter-decide", args=[letter.pk, "correct"]), data)
    html = response.content.decode()
    assert response.status_code == 409
    assert "Ben holds this letter now" in html
    assert "15.00 typed by Rae" in html
    assert json.loads(Draft.objects.get(user=rae).fields)["v:/total"] == "15.00 typed by Rae"
    assert "15.00 typed by Rae" in page(client, letter)


def test_checks_run_on_every_change(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    wrong = post(client, letter, "check", {"v:/total": "16.00", "v:/qty": "3"}, headers=HTMX).content.decode()
    assert "1 thing still wrong" in wrong
    assert "Draft saved" in wrong
    right = post(client, letter, "check", FIELDS, headers=HTMX).content.decode()
    assert "Every check passes" in right
    assert 'class="evidence is-passed"' in right
    assert "<html" not in right


def test_unchecked_values_light_up_too(client: Client, rae: User) -> None:
    version = approved(checks=[], templates=[], limits__attempts=1)
    (letter,) = letters(1, version=version, reply='{"total":"Shop One","qty":"x"}', document="Shop One\nShop Onely")
    html = page(client, letter)
    assert html.count('data-evidence="kf.2ftotal"') == 1, "whole words only"
    assert 'data-finding="kf.2ftotal"' in html


def test_unreadable_number_is_named(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    html = post(client, letter, "check", {"v:/total": "15.00", "v:/qty": "3,"}, headers=HTMX).content.decode()
    assert "cannot be read" in html
    assert post(client, letter, "correct", {"v:/total": "15.00", "v:/qty": "3,"}).status_code == 422


def test_draft_survives_reload(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    post(client, letter, "check", {"v:/total": "half typ", "v:/qty": "3"})
    assert 'value="half typ"' in page(client, letter)
    post(client, letter, "draft/drop")
    assert 'value="99.00"' in page(client, letter)


def test_draft_is_ones_own(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    post(client, letter, "check", {"v:/total": "secret", "v:/qty": "3"})
    client.force_login(reviewer("ben"))
    assert "secret" not in page(client, letter)


def test_rows_are_added_and_removed(client: Client, rae: User) -> None:
    contract = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {"type": "array", "minItems": 3, "items": {"type": "object", "properties": {"name": {"type": "string"}}}}
        },
    }
    version = approved(slug="rows", contract=contract, checks=[], templates=[])
    (letter,) = letters(1, version=version, reply='{"items":[{"name":"tea"},{"name":"milk"}]}')
    claimed(letter, rae)
    data = {"n:/items": "2", "v:/items/0/name": "tea", "v:/items/1/name": "milk"}
    added = post(client, letter, "check", {**data, "add": "/items"}, headers=HTMX).content.decode()
    assert 'name="v:/items/2/name"' in added
    removed = post(client, letter, "check", {**data, "remove": "/items/0"}, headers=HTMX).content.decode()
    assert 'name="v:/items/0/name" class="value" dir="auto" value="milk"' in removed
    plain = post(client, letter, "check", {**data, "add": "/items"})
    assert "<html" in plain.content.decode(), "without HTMX it is the page, with the row in the draft"
    assert 'name="v:/items/2/name"' in page(client, letter)


@pytest.mark.parametrize(
    ("kind", "data", "status"),
    [
        ("reject", {"reason": "unreadable"}, "resolved"),
        ("ask", {"reason": "missing_page", "note": "page two"}, "asked"),
        ("defer", {"hours": "4"}, "deferred"),
        ("skip", {"reason": "language"}, "open"),
        ("escalate", {"note": "please look"}, "escalated"),
    ],
)
def test_other_decisions_by_form(client: Client, rae: User, kind: str, data: dict[str, str], status: str) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    assert post(client, letter, kind, data).status_code == 302
    assert DeadLetter.objects.get().status == status


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("reject", {"reason": "x"}),
        ("ask", {"reason": "other"}),
        ("defer", {"hours": "-3"}),
        ("skip", {}),
        ("escalate", {}),
        ("requeue", {"version": "0"}),
        ("hand-over", {"person": "x"}),
    ],
)
def test_bad_input_is_told(client: Client, rae: User, kind: str, data: dict[str, str]) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    response = post(client, letter, kind, {**data, "v:/total": "kept", "v:/qty": "3"})
    assert response.status_code == 422
    assert 'value="kept"' in response.content.decode()
    assert DeadLetter.objects.get().status == "open"


def test_requeue_and_undo_by_form(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    post(client, letter, "requeue", {"version": letter.version_id})
    assert Run.objects.filter(replay=1).exists()
    html = page(client, letter)
    assert "until then it can be taken back" in html
    client.post(reverse("decision-undo", args=[Decision.objects.get(kind="requeue").pk]))
    assert DeadLetter.objects.get().status == "open"


def test_heartbeat_tells_lost_lease(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    mine = claimed(letter, rae)
    assert "yours until" in post(client, letter, "heartbeat").content.decode()
    DeadLetter.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    claimed(letter, reviewer("ben"))
    response = client.post(reverse("deadletter-heartbeat", args=[letter.pk]), {"fence": mine.fence})
    assert response.status_code == 409
    assert "Ben holds this letter now" in response.content.decode()


def test_colleague_takes_over(client: Client, rae: User) -> None:
    ben = reviewer("ben")
    (letter,) = letters(1)
    claimed(letter, rae)
    post(client, letter, "hand-over", {"person": ben.pk, "note": "yours"})
    assert DeadLetter.objects.get().lease_owner == ben


def test_result_of_a_record(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    version = letter.version
    assert version is not None
    policy(version, undo_seconds=0)
    claimed(letter, rae)
    post(client, letter, "correct", FIELDS)
    html = client.get(reverse("record-result", args=[letter.run.record_id])).content.decode()
    assert "Human corrected" in html
    assert "99.00" in html


def test_reopens_and_returns(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    version = letter.version
    assert version is not None
    policy(version, undo_seconds=0)
    claimed(letter, rae)
    post(client, letter, "reject", {"reason": "duplicate"})
    assert "Reopen" in page(client, letter)
    post(client, letter, "reopen", {"note": "not a duplicate"})
    assert DeadLetter.objects.get().status == "open"
    claimed(letter, rae)
    post(client, letter, "defer", {"hours": "24"})
    post(client, letter, "return", {"note": "now after all"})
    assert DeadLetter.objects.get().status == "open"


def test_member_without_role_only_reads(client: Client) -> None:
    (letter,) = letters(1)
    claimed(letter, reviewer())
    client.force_login(person("opal", Role.OPERATOR))
    assert client.get(letter.get_absolute_url()).status_code == 200
    for step in ("check", "correct", "reject", "reopen", "return"):
        assert post(client, letter, step, FIELDS).status_code == 403
    assert DeadLetter.objects.get().status == "open"


def test_strangers_find_nothing(client: Client) -> None:
    (letter,) = letters(1)
    client.force_login(person("sam", Role.REVIEWER, envelope=approved(slug="other").envelope))
    assert client.get(letter.get_absolute_url()).status_code == 404
    for step in ("claim", "release", "heartbeat", "check", "correct", "requeue", "reopen", "return", "draft/drop"):
        assert post(client, letter, step, FIELDS).status_code == 404, step
    assert client.get(reverse("record-result", args=[letter.run.record_id])).status_code == 404


def test_manager_may_not_decide_open_letters(client: Client) -> None:
    (letter,) = letters(1)
    client.force_login(manager())
    post(client, letter, "claim")
    assert DeadLetter.objects.get().lease_owner is None


HOSTILE = "\u202eevil <script>alert(1)</script><img src=http://example.invalid/x.png> " + "x" * 50_000


ROOMY = {
    "limits__caps__document": 200_000,
    "limits__total_tokens": 10_000_000,
    "model__context_window": 500_000,
    "limits__caps__previous_output": 10_000,
}


def test_document_too_long_for_any_call(client: Client, rae: User) -> None:
    (letter,) = letters(1, document=HOSTILE)
    claimed(letter, rae)
    html = page(client, letter)
    assert "No call was made." in html
    assert "more characters" in html


def test_hostile_text_is_only_text(client: Client, rae: User) -> None:
    reply = json.dumps({"total": HOSTILE[:3000], "qty": 3})
    (letter,) = letters(1, reply=reply, document=HOSTILE, **ROOMY)
    claimed(letter, rae)
    html = page(client, letter, "?all=1")
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "img-src 'self' data:" in client.get(letter.get_absolute_url())["Content-Security-Policy"]
    assert WRONG_TOTAL not in html
