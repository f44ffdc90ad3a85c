from __future__ import annotations

import csv
import io
import json
import threading
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviewapp.accounts.models import Role, User
from reviewapp.deadletters import export, jobs, search
from reviewapp.deadletters.actions import deciding, effort
from reviewapp.deadletters.actions.leases import heartbeat
from reviewapp.deadletters.models import (
    BatchEffort,
    BulkJob,
    DeadLetter,
    FailureGroup,
    QueuePolicy,
    SavedView,
)
from tests.reviewapp.deadletters.cases import NO_JSON, RIGHT, WRONG_TOTAL, WRONG_TYPE, claimed, letters, manager, reviewer
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def rae(client: Client) -> User:
    user = reviewer()
    client.force_login(user)
    return user


def found(client: Client, query: str) -> list[str]:
    return [letter.run.record.key for letter in client.get(f"{reverse('deadletters')}?{query}").context["page"].rows]


def test_finds_words_of_documents(client: Client, rae: User) -> None:
    version = approved()
    letters(1, version=version, name="café-7", document="Bistro Ünal\nTotal 12,50 EUR")
    letters(1, version=version, name="shop-8", document="Corner shop\nTotal 99")
    assert found(client, "q=ünal") == ["café-7-0000"]
    assert found(client, "q=BISTRO+12+50") == ["café-7-0000"]
    assert found(client, "q=corn") == ["shop-8-0000"], "the last word may be the beginning of one"
    assert found(client, "q=bistro+corner") == []
    assert found(client, "q=shop-8-0000") == ["shop-8-0000"]
    assert len(found(client, "q=total")) == 2


@pytest.mark.parametrize("query", ["'\"; DROP", "a & | ! b:*", "(((", "\\", "NEAR(x)", "*", "' OR 1=1 --", "\x00", "ß" * 300])
def test_any_query_is_only_words(client: Client, rae: User, query: str) -> None:
    letters(1)
    assert client.get(reverse("deadletters"), {"q": query}).status_code == 200


def test_words_are_folded_and_bounded() -> None:
    assert search.words("Straße, STRASSE 12.50") == ["strasse", "12", "50"]
    assert len(search.words(" ".join(str(n) for n in range(50_000)))) == search.MOST_WORDS


def test_counts_agree_with_lists(client: Client, rae: User) -> None:
    version = approved()
    letters(3, version=version, name="a", reply=WRONG_TOTAL)
    letters(2, version=version, name="b", reply=WRONG_TYPE)
    first = DeadLetter.objects.earliest("pk")
    deciding.reject(claimed(first, rae), "duplicate")
    group = first.group_id
    for query in (
        "",
        "status=any",
        "status=waiting",
        f"group={group}",
        f"group={group}&status=resolved",
        "class=schema",
        "q=qty",
    ):
        page = client.get(f"{reverse('deadletters')}?{query}")
        assert page.context["count"] == len(page.context["page"].rows), query
    groups = client.get(reverse("failure-groups"))
    assert groups.context["waiting"] == 4


def test_group_pages_take_few_queries(client: Client, rae: User, django_assert_max_num_queries: Any) -> None:
    version = approved()
    for name, reply in (("a", WRONG_TOTAL), ("b", WRONG_TYPE), ("c", NO_JSON)):
        letters(2, version=version, name=name, reply=reply)
    client.get(reverse("failure-groups"))
    with django_assert_max_num_queries(12):
        html = client.get(reverse("failure-groups")).content.decode()
    assert "3 groups, 6 letters waiting" in html
    with django_assert_max_num_queries(12):
        client.post(reverse("deadletter-next"))


def test_group_page_shows_what_did_not_help(client: Client, rae: User) -> None:
    letters(2)
    html = client.get(FailureGroup.objects.get().get_absolute_url()).content.decode()
    assert "copy the number as printed." in html
    assert "batch-0000" in html
    assert "Draft a version" not in html


def test_owner_steers_a_group(client: Client) -> None:
    version = approved()
    letters(1, version=version, name="a", reply=WRONG_TOTAL)
    letters(1, version=version, name="b", reply=WRONG_TYPE)
    ben = reviewer("ben")
    client.force_login(person("owner", Role.OWNER))
    group, other = FailureGroup.objects.order_by("pk")

    def change(what: str, **data: Any) -> Any:
        return client.post(reverse("failure-group-change", args=[group.pk, what]), data)

    change("assign", person=ben.pk)
    change("snooze", hours="24")
    change("note", note="<b>new layout</b>")
    change("skill", skill="dutch")
    group.refresh_from_db()
    assert (group.assignee, group.note, group.skill, group.snoozed_until is not None) == (
        ben,
        "<b>new layout</b>",
        "dutch",
        True,
    )
    assert "<b>new layout" not in client.get(group.get_absolute_url()).content.decode()
    assert "/envelopes/" in change("draft")["Location"]
    change("merge", group=other.pk)
    assert FailureGroup.objects.get(pk=other.pk).n_open == 2
    change("split")
    assert FailureGroup.objects.get(pk=group.pk).n_open == 1


def test_reviewer_steers_no_group(client: Client, rae: User) -> None:
    letters(1)
    group = FailureGroup.objects.get()
    for what in ("assign", "snooze", "note", "skill", "merge", "split", "draft"):
        assert client.post(reverse("failure-group-change", args=[group.pk, what])).status_code == 403, what


def test_bulk_is_shown_typed_and_done(client: Client, rae: User) -> None:
    made = letters(3)
    version = made[0].version_id
    shown = client.get(reverse("bulk-new"), {"act": "requeue", "under": version, "note": "again"})
    assert "It would requeue 3 of 3 letters" in shown.content.decode()
    data = {"filter": "", "act": "requeue", "under": version, "note": "again"}
    wrong = client.post(reverse("bulk-start"), {**data, "typed": "2"})
    assert wrong.status_code == 422
    assert "3 letters now, and you confirmed 2" in wrong.content.decode()
    job_page = client.post(reverse("bulk-start"), {**data, "typed": "3"})["Location"]
    jobs.work("tests", threading.Event(), until_idle=True)
    html = client.get(job_page).content.decode()
    assert "3 of 3: 3 done, 0 refused" in html
    assert "every 2s" not in html
    job = BulkJob.objects.get()
    client.post(reverse("bulk-steer", args=[job.pk, "undo"]))
    jobs.work("tests", threading.Event(), until_idle=True)
    assert "3 undone" in client.get(job_page, headers={"HX-Request": "true"}).content.decode()
    assert f"requeue {job.pk}" in client.get(reverse("bulk-jobs")).content.decode()


def test_others_see_no_job_of_mine(client: Client, rae: User) -> None:
    letters(1)
    client.post(reverse("bulk-start"), {"filter": "", "act": "reject", "reason": "duplicate", "typed": "1"})
    job = BulkJob.objects.get()
    client.force_login(reviewer("ben"))
    assert client.get(job.get_absolute_url()).status_code == 404
    assert client.post(reverse("bulk-steer", args=[job.pk, "cancel"])).status_code == 404


def test_views_are_personal_unless_shared(client: Client, rae: User) -> None:
    letters(1)
    client.post(reverse("saved-view-save"), {"name": "mine", "query": "class=business&status=any"})
    client.post(reverse("saved-view-save"), {"name": "ours", "query": "class=business", "shared": "on"})
    mine = SavedView.objects.get(name="mine")
    page = client.get(f"{reverse('deadletters')}?{mine.query}&view={mine.pk}")
    assert (page.context["view"], page.context["modified"]) == (mine, False)
    assert client.get(f"{reverse('deadletters')}?class=schema&view={mine.pk}").context["modified"]
    client.force_login(reviewer("ben"))
    html = client.get(reverse("deadletters")).content.decode()
    assert ">ours<" in html
    assert ">mine<" not in html
    assert client.post(reverse("saved-view-delete", args=[mine.pk])).status_code == 404
    client.post(reverse("saved-view-save"), {"name": "ours", "query": "class=schema"})
    assert SavedView.objects.get(name="ours", owner=rae).query == "class=business"


def test_csv_runs_no_formula(client: Client, rae: User) -> None:
    letters(1, name="=HYPERLINK(1)", reply='{"total":"=cmd()","qty":3}')
    response = client.get(reverse("deadletters-export"), {"format": "csv"})
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))  # type: ignore[attr-defined]
    assert rows[0]["record"] == "'=HYPERLINK(1)-0000"
    assert rows[0]["version_digest"]
    assert rows[0]["original"] == '{"total":"=cmd()","qty":3}'


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx", "\rx", "|x", "%x"])
def test_formula_starts_are_quoted(text: str) -> None:
    assert export.safe(text) == "'" + text


def test_jsonl_carries_provenance(client: Client, rae: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHUNK", 2)
    made = letters(5)
    deciding.correct_and_accept(claimed(made[0], rae), RIGHT)
    response = client.get(reverse("deadletters-export"), {"format": "jsonl", "status": "any"})
    rows = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]  # type: ignore[attr-defined]
    assert [row["letter"] for row in rows] == [letter.pk for letter in made]
    assert (rows[0]["original"], rows[0]["corrected"]) == (WRONG_TOTAL, '{"total":"15.00","qty":3}')
    assert client.get(reverse("deadletters-export"), {"format": "xls"}).status_code == 400


def test_effort_by_version_and_batch(client: Client, rae: User) -> None:
    made = letters(2)
    claim = claimed(made[0], rae)
    effort.add_worked(made[0], 90_000)
    heartbeat(claim)
    deciding.correct_and_accept(claim, RIGHT)
    context = client.get(reverse("queue-effort")).context
    (row,) = context["versions"]
    assert (row.arrived, row.cleared, row.times.n, row.times.active_median >= 90) == (2, 1, 1, True)
    assert (context["waiting"], context["resolved"]) == (1, 1)
    assert context["trend"].days[-1][1:] == (2, 1)
    assert context["batches"][0].spent >= 1.5


def test_nothing_cleared_is_no_zero(client: Client, rae: User) -> None:
    letters(1)
    assert client.get(reverse("queue-effort")).context["times"] is None


def test_cap_is_set_by_those_who_steer(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    url = reverse("batch-cap", args=[letter.batch_id])
    assert client.post(url, {"minutes": "30", "note": "enough"}).status_code == 403
    client.force_login(manager())
    client.post(url, {"minutes": "30", "note": "enough"})
    assert BatchEffort.objects.get().cap_minutes == 30
    client.post(url, {"minutes": "abc", "note": "x"})
    assert BatchEffort.objects.get().cap_minutes == 30


def test_policy_is_kept_and_audited(client: Client, rae: User) -> None:
    version = approved()
    url = reverse("queue-policy", args=[version.envelope.slug])
    assert client.get(url).status_code == 403
    client.force_login(manager())
    values = {"lease_minutes": 5, "leases_per_person": 2, "due_hours": 8, "undo_seconds": 30, "replays": 1}
    assert client.post(url, {**values, "replays": -1}).status_code == 422
    client.post(url, values)
    assert QueuePolicy.objects.get().due_hours == 8


def test_manager_releases_by_page(client: Client, rae: User) -> None:
    (letter,) = letters(1)
    claimed(letter, rae)
    url = reverse("leases-release", args=[rae.pk])
    assert client.post(url, {"note": "me"}).status_code == 403
    client.force_login(manager())
    client.post(url, {"note": "ill today"})
    assert DeadLetter.objects.get().lease_owner is None
