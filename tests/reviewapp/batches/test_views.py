from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviewapp.accounts.models import Role
from reviewapp.audit.models import Entry
from reviewapp.batches.models import Batch, Record
from reviewapp.runs.models import Run
from tests.reviewapp.conftest import DOCUMENT, World, work_all
from tests.reviewapp.factories import batch

SignIn = Callable[..., Any]
HTMX = {"HX-Request": "true"}
pytestmark = pytest.mark.django_db


def upload(client: Client, version: Any, content: bytes, name: str = "Tuesday", **headers: str) -> Any:
    file = io.BytesIO(content)
    file.name = "records.jsonl"
    return client.post(reverse("batch-new"), {"version": version.pk, "name": name, "file": file}, headers=headers)


def lines(*documents: object) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def test_lists_batches_newest_first(client: Client, sign_in: SignIn, world: World) -> None:
    batch(world.version, {"x": DOCUMENT}, name="Tuesday")
    sign_in(Role.REVIEWER)
    html = client.get(reverse("batches")).content.decode()
    assert html.index("Tuesday") < html.index("Monday")
    assert "Ended" in html
    assert "New batch" not in html


def test_list_fragment_is_the_rows(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    html = client.get(reverse("batches"), headers=HTMX).content.decode().strip()
    assert html.startswith('<div id="rows">')


def test_pages_by_id(client: Client, sign_in: SignIn, world: World) -> None:
    Batch.objects.bulk_create([Batch(version=world.version, name=f"b{n:03}") for n in range(60)])
    sign_in(Role.REVIEWER)
    first = client.get(reverse("batches"))
    second = client.get(reverse("batches"), {"before": first.context["page"].next})
    assert [b.name for b in first.context["page"].rows][-1] == "b010"
    assert next(b.name for b in second.context["page"].rows) == "b009"
    assert second.context["page"].next is None


@pytest.mark.parametrize("before", ["", "x", "-1", "9" * 40, "1' OR 1=1"])
def test_mangled_page_shows_a_page(client: Client, sign_in: SignIn, world: World, before: str) -> None:
    sign_in(Role.REVIEWER)
    assert client.get(reverse("batches"), {"before": before}).status_code == 200


def test_list_asks_fixed_queries(client: Client, sign_in: SignIn, world: World, django_assert_max_num_queries: Any) -> None:
    sign_in(Role.REVIEWER)
    with django_assert_max_num_queries(5):
        client.get(reverse("batches"))
    for n in range(10):
        batch(world.version, {"x": DOCUMENT}, name=f"more {n}")
    with django_assert_max_num_queries(5):
        client.get(reverse("batches"))


def test_shows_what_became_of_records(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    response = client.get(world.batch.get_absolute_url())
    html = response.content.decode()
    table = response.context["table"]
    assert (table.first, table.later, table.dead) == (1, 1, 1)
    assert "3 of 3 records ended" in html
    assert "same signature" in html
    assert f"at most {response.context['ceiling'].per_record.calls * 3}" in html


def test_progress_stops_asking_when_ended(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    made = batch(world.version, {"first": DOCUMENT}, name="live")
    headers = HTMX | {"HX-Target": "progress"}
    during = client.get(made.get_absolute_url(), headers=headers).content.decode()
    work_all()
    after = client.get(made.get_absolute_url(), headers=headers).content.decode()
    assert 'hx-trigger="every 2s"' in during
    assert "hx-trigger" not in after
    assert '<section id="runs"' not in after


def test_filters_runs_by_url(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.REVIEWER)
    keys = {}
    for query in ("status=accepted", "fuse=same_signature", "class=business", "record=later", "status=nonsense"):
        response = client.get(f"{world.batch.get_absolute_url()}?{query}")
        keys[query] = {run.record.key for run in response.context["page"].rows}
    assert keys == {
        "status=accepted": {"first", "later"},
        "fuse=same_signature": {"dead"},
        "class=business": {"dead"},
        "record=later": {"later"},
        "status=nonsense": set(),
    }


def test_runs_fragment_asks_no_totals(
    client: Client, sign_in: SignIn, world: World, django_assert_max_num_queries: Any
) -> None:
    sign_in(Role.REVIEWER)
    with django_assert_max_num_queries(5):
        response = client.get(world.batch.get_absolute_url(), headers=HTMX | {"HX-Target": "runs"})
    assert response.content.decode().strip().startswith('<section id="runs"')


def test_page_asks_fixed_queries(client: Client, sign_in: SignIn, world: World, django_assert_max_num_queries: Any) -> None:
    sign_in(Role.MANAGER)
    batch(world.version, {f"first-{n}": DOCUMENT for n in range(60)}, name="Monday")
    with django_assert_max_num_queries(6):
        response = client.get(world.batch.get_absolute_url())
    assert len(response.context["page"].rows) == 50


def test_names_recorded_replies(client: Client, sign_in: SignIn, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reviewapp.batches.views.recorded_note", lambda: "Replies here are recorded: a model, a day.")
    sign_in(Role.REVIEWER)
    assert "Replies here are recorded: a model, a day." in client.get(world.batch.get_absolute_url()).content.decode()


def test_manager_pauses_and_resumes(client: Client, sign_in: SignIn, world: World) -> None:
    user = sign_in(Role.MANAGER)
    response = client.post(reverse("batch-pause", args=[world.batch.pk]), {"why": "strange replies"})
    assert response.headers["Location"] == world.batch.get_absolute_url()
    assert "strange replies" in client.get(world.batch.get_absolute_url()).content.decode()
    client.post(reverse("batch-resume", args=[world.batch.pk]), {"why": "put right"})
    world.batch.refresh_from_db()
    assert world.batch.status == "open"
    assert list(Entry.objects.filter(actor=user).values_list("action", "reason")) == [
        ("batch resumed", "put right"),
        ("batch paused", "strange replies"),
    ]


def test_pause_fragment_is_fresh(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    response = client.post(reverse("batch-pause", args=[world.batch.pk]), {"why": "look"}, headers=HTMX)
    html = response.content.decode()
    assert html.strip().startswith('<section id="progress"')
    assert "Resume the batch" in html
    assert 'hx-swap-oob="innerHTML">Paused' in html


def test_pause_needs_a_reason(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    response = client.post(reverse("batch-pause", args=[world.batch.pk]), {"why": "  "})
    assert response.status_code == 422
    world.batch.refresh_from_db()
    assert world.batch.status == "open"


def test_second_pause_is_told(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    for _ in range(2):
        response = client.post(reverse("batch-pause", args=[world.batch.pk]), {"why": "look"})
    assert response.status_code == 422
    assert "the batch is paused, not open" in response.content.decode()


def test_upload_starts_a_batch(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    response = upload(client, world.version, lines({"id": "a", "document": "Total 1"}, {"id": "b", "document": "Total 2"}))
    made = Batch.objects.get(name="Tuesday")
    assert response.headers["Location"] == made.get_absolute_url()
    assert Run.objects.filter(batch=made).count() == 2
    assert "2 records added." in client.get(made.get_absolute_url()).content.decode()


def test_upload_names_wrong_lines(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    before = Record.objects.count()
    response = upload(client, world.version, lines({"id": "a", "document": "x"}, {"document": "<b>"}) + b"{oops\n")
    html = response.content.decode()
    assert response.status_code == 422
    assert [(error.line, error.field) for error in response.context["submission"].errors] == [(2, "id"), (3, "")]
    assert "Nothing was stored" in html
    assert 'value="Tuesday"' in html
    assert Record.objects.count() == before


def test_upload_fragment_keeps_the_form(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.MANAGER)
    wrong = upload(client, world.version, b"[]\n", **HTMX).content.decode().strip()
    right = upload(client, world.version, lines({"id": "a", "document": "x"}), **HTMX)
    assert wrong.startswith('<div id="result">')
    assert "<form" not in wrong
    assert right.headers["HX-Redirect"] == Batch.objects.get(name="Tuesday").get_absolute_url()


def test_upload_twice_adds_nothing(client: Client, sign_in: SignIn, world: World) -> None:
    sign_in(Role.OWNER)
    content = lines({"id": "a", "document": "Total 1"})
    upload(client, world.version, content)
    response = upload(client, world.version, content)
    assert "0 records added. 1 had been there already" in client.get(response.headers["Location"]).content.decode()


def test_upload_refuses_foreign_version(client: Client, sign_in: SignIn, world: World) -> None:
    from tests.reviewapp.factories import approved

    mine = approved(slug="mine")
    sign_in(Role.MANAGER, envelope=mine.envelope)
    response = upload(client, world.version, lines({"id": "a", "document": "x"}))
    assert response.status_code == 422
    assert not Batch.objects.filter(name="Tuesday").exists()


def test_upload_has_a_size(client: Client, sign_in: SignIn, world: World, settings: Any) -> None:
    settings.COUNTERSIGN_UPLOAD_BYTES = 10
    sign_in(Role.MANAGER)
    response = upload(client, world.version, lines({"id": "a", "document": "x"}))
    assert "The file is larger than" in response.content.decode()


def test_upload_without_version_explains(client: Client, sign_in: SignIn, db: None) -> None:
    sign_in(Role.MANAGER)
    assert "No approved version" in client.get(reverse("batch-new")).content.decode()


def test_empty_list_says_what_to_do(client: Client, sign_in: SignIn, db: None) -> None:
    sign_in(Role.MANAGER)
    assert "Upload a file of records" in client.get(reverse("batches")).content.decode()
