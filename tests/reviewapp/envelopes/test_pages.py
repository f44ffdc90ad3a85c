from __future__ import annotations

import io
import json
import zipfile

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from controller.authoring import read
from reviewapp.accounts.models import Role, User
from reviewapp.envelopes import actions, keys, shadow_work
from reviewapp.envelopes.drafting import draft_from, token_of
from reviewapp.envelopes.models import Comment, Effort, Envelope, Notice, SetAside, ShadowRun, Status, Version
from reviewapp.envelopes.starting import beginning
from tests.envelopes import data
from tests.reviewapp.conftest import World
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def author() -> User:
    return person("author", Role.OWNER)


@pytest.fixture
def owner() -> User:
    return person("owner", Role.OWNER)


@pytest.fixture
def draft(author: User) -> Version:
    return draft_from(approved(author=author), by=author)


@pytest.fixture
def reviewed(draft: Version, author: User) -> Version:
    return actions.submit_for_review(draft, by=author)


def text(response: object) -> str:
    return response.content.decode()  # type: ignore[attr-defined]


def test_beginning_is_valid_and_quiet() -> None:
    assert read(beginning("a-task", 'A "title": with #')).task == "a-task"


def test_makes_envelope_with_first_draft(author: User) -> None:
    response = signed_in(author).post("/envelopes/new", {"slug": "invoice-fields", "title": "Invoices"})
    assert response["Location"] == "/envelopes/invoice-fields/v1/edit"
    assert read(Version.objects.get().source).task == "invoice-fields"


def test_refuses_taken_task_name(author: User, draft: Version) -> None:
    response = signed_in(author).post("/envelopes/new", {"slug": "totals", "title": "Again"})
    assert response.status_code == 422
    assert Envelope.objects.count() == 1


def test_imports_json_as_yaml(author: User, draft: Version) -> None:
    file = SimpleUploadedFile("e.json", json.dumps(data()).encode())
    response = signed_in(author).post("/envelopes/totals/drafts", {"file": file})
    assert response["Location"] == "/envelopes/totals/v3/edit"
    stored = Version.objects.get(number=3)
    assert stored.source.startswith("task: totals\n")
    assert read(stored.source).digest == read(yaml.safe_dump(data())).digest


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\x00b", b"x" * 1_000_001, b""])
def test_refuses_unreadable_import(author: User, draft: Version, content: bytes) -> None:
    response = signed_in(author).post("/envelopes/totals/drafts", {"file": SimpleUploadedFile("e.yaml", content)})
    assert response.status_code == 422
    assert Version.objects.count() == 2


def test_exports_bytes_as_they_are(owner: User) -> None:
    version, client = approved(), signed_in(owner)
    assert client.get("/envelopes/totals/v1/yaml").content == version.source.encode()
    assert client.get("/envelopes/totals/v1/json").content == version.canonical.encode()
    zipped = client.get("/envelopes/totals/v1/zip").content
    assert zipped == client.get("/envelopes/totals/v1/zip").content
    names = zipfile.ZipFile(io.BytesIO(zipped)).namelist()
    assert names == ["envelope.json", "envelope.yaml", "approvals.json", "keys.json"]


def test_editor_saves_without_javascript(author: User, draft: Version) -> None:
    changed = draft.source.replace("Copy the fields", "Copy every field")
    response = signed_in(author).post("/envelopes/totals/v2/edit", {"source": changed, "token": token_of(draft.source)})
    assert response.status_code == 200
    assert "Saved at" in text(response)
    assert Version.objects.get(number=2).source == changed


def test_autosave_answers_checks_alone(author: User, draft: Version) -> None:
    sent = {"source": draft.source + "\nunknown: 1\n", "token": token_of(draft.source)}
    response = signed_in(author).post("/envelopes/totals/v2/edit", sent, headers=HTMX)
    assert "<html" not in text(response)
    assert "this field is not known here" in text(response)
    assert f'value="{token_of(Version.objects.get(number=2).source)}"' in text(response)


def test_problem_names_line_and_column(author: User, draft: Version) -> None:
    lines = draft.source.splitlines()
    place = next(number for number, line in enumerate(lines) if "attempts:" in line)
    lines[place] = "  attempts: many"
    sent = {"source": "\n".join(lines), "token": token_of(draft.source)}
    response = signed_in(author).post("/envelopes/totals/v2/edit", sent, headers=HTMX)
    assert f"Line {place + 1}, column 13" in text(response)
    assert "a whole number is expected" in text(response)


def test_conflict_answers_409_and_keeps_both(author: User, draft: Version) -> None:
    client = signed_in(author)
    client.post("/envelopes/totals/v2/edit", {"source": "one", "token": token_of(draft.source)})
    response = client.post("/envelopes/totals/v2/edit", {"source": "two", "token": token_of(draft.source)})
    assert response.status_code == 409
    assert Version.objects.get(number=2).source == "one"
    kept = SetAside.objects.get()
    assert client.get(f"/envelopes/totals/v2/set-aside/{kept.pk}").content == b"two"
    client.post("/envelopes/totals/v2/edit", {"source": "two", "token": "", "over": token_of("one")})
    assert Version.objects.get(number=2).source == "two"
    assert {row.source for row in SetAside.objects.all()} == {"one", "two"}


def test_lint_flags_repeating_directive(author: User, draft: Version) -> None:
    source = draft.source.replace("copy the number as printed", "copied as it is printed")
    sent = {"source": source, "token": token_of(draft.source)}
    response = signed_in(author).post("/envelopes/totals/v2/edit", sent, headers=HTMX)
    assert "A directive repeats the prompt" in text(response)
    assert "What the model is told" in text(response)


def test_invalid_text_cannot_be_submitted(author: User, draft: Version) -> None:
    client = signed_in(author)
    client.post("/envelopes/totals/v2/edit", {"source": "task: totals", "token": token_of(draft.source)})
    response = client.post("/envelopes/totals/v2/submit")
    assert response.status_code == 422
    assert Version.objects.get(number=2).status == Status.DRAFT


def test_other_owner_reads_draft_only(owner: User, draft: Version) -> None:
    client = signed_in(owner)
    assert client.get("/envelopes/totals/v2/edit")["Location"] == "/envelopes/totals/v2"
    response = client.post("/envelopes/totals/v2/edit", {"source": "mine", "token": token_of(draft.source)})
    assert response.status_code == 422
    assert Version.objects.get(number=2).source == draft.source


def test_owner_approves_what_was_shown(owner: User, reviewed: Version) -> None:
    client = signed_in(owner)
    assert reviewed.digest in text(client.get("/envelopes/totals/v2"))
    stale = client.post("/envelopes/totals/v2/approve", {"digest": "0" * 64})
    assert (stale.status_code, "not the one that you were shown" in text(stale)) == (422, True)
    client.post("/envelopes/totals/v2/approve", {"digest": reviewed.digest})
    assert Version.objects.get(number=2).status == Status.APPROVED


def test_author_is_not_offered_approval(author: User, reviewed: Version) -> None:
    client = signed_in(author)
    assert "/v2/approve" not in text(client.get("/envelopes/totals/v2"))
    response = client.post("/envelopes/totals/v2/approve", {"digest": reviewed.digest})
    assert (response.status_code, "authors never approve" in text(response)) == (422, True)


def test_missing_key_is_said(owner: User, reviewed: Version) -> None:
    for key in keys.listed():
        keys.revoke_key(key.key_id)
    response = signed_in(owner).post("/envelopes/totals/v2/approve", {"digest": reviewed.digest})
    assert (response.status_code, "there is no signing key" in text(response)) == (422, True)


@pytest.mark.parametrize(("act", "status"), [("reject", Status.REJECTED), ("send-back", Status.CHANGES_WANTED)])
def test_turning_down_needs_reason(owner: User, reviewed: Version, act: str, status: Status) -> None:
    client = signed_in(owner)
    assert client.post(f"/envelopes/totals/v2/{act}", {"why": ""}).status_code == 422
    client.post(f"/envelopes/totals/v2/{act}", {"why": "the total is not checked"})
    assert Version.objects.get(number=2).status == status


def test_comment_follows_into_next_draft(owner: User, author: User, reviewed: Version) -> None:
    reviewer, writer = signed_in(owner), signed_in(author)
    assert reviewer.post("/envelopes/totals/v2/comments", {"line": 9999, "text": "?"}).status_code == 422
    reviewer.post("/envelopes/totals/v2/comments", {"line": 3, "text": "Why this alias?"})
    reviewer.post("/envelopes/totals/v2/send-back", {"why": "see the comment"})
    writer.post("/envelopes/totals/drafts", {"from": 2})
    assert "Why this alias?" in text(writer.get("/envelopes/totals/v3/edit"))
    comment = Comment.objects.get()
    writer.post(f"/envelopes/totals/v2/comments/{comment.pk}/resolve")
    assert "Why this alias?" not in text(writer.get("/envelopes/totals/v3/edit"))


@pytest.mark.parametrize("role", [Role.OWNER, Role.MANAGER, Role.OPERATOR])
def test_retires_in_emergency(role: Role) -> None:
    approved()
    client = signed_in(person("someone", role))
    assert client.post("/envelopes/totals/v1/retire", {"why": ""}).status_code == 422
    client.post("/envelopes/totals/v1/retire", {"why": "it invents totals"})
    assert Version.objects.get().status == Status.RETIRED


def test_rules_name_versions_that_stop() -> None:
    approved()
    client = signed_in(person("operator", Role.OPERATOR))
    sent = {"approvals_needed": 2, "why": "more eyes"}
    response = client.post("/envelopes/totals/rules", sent)
    assert (response.status_code, "totals v1 would stop running" in text(response)) == (409, True)
    assert Envelope.objects.get().approvals_needed == 1
    confirmed = json.dumps({"approvals_needed": 2, "require_passkey": False}, sort_keys=True)
    client.post("/envelopes/totals/rules", sent | {"confirmed": confirmed})
    assert Envelope.objects.get().approvals_needed == 2


def test_diff_says_what_changes_mean(author: User, draft: Version) -> None:
    client = signed_in(author)
    changed = draft.source.replace("attempts: 3", "attempts: 4")
    client.post("/envelopes/totals/v2/edit", {"source": changed, "token": token_of(draft.source)})
    page = text(client.get("/envelopes/totals/v1...v2"))
    assert "At most 8 calls instead of 7." in page
    assert 'id="limits-attempts"' in page


def test_diff_of_broken_draft_shows_texts(author: User, draft: Version) -> None:
    client = signed_in(author)
    client.post("/envelopes/totals/v2/edit", {"source": "task: totals", "token": token_of(draft.source)})
    assert "only the texts can be compared" in text(client.get("/envelopes/totals/v1...v2"))


def test_preview_shows_logged_hash(world: World, owner: User) -> None:
    client = signed_in(owner)
    assert client.post("/envelopes/totals/v1/preview", {}).status_code == 422
    assert client.post("/envelopes/totals/v1/preview", {"record": "nobody"}).status_code == 422
    page = text(client.post("/envelopes/totals/v1/preview", {"record": world.first.record.key}))
    assert world.first.calls_made.get(number=1).request_sha256 in page
    assert 'id="second-total-printed"' in page


def test_preview_takes_pasted_document(owner: User) -> None:
    approved()
    page = text(signed_in(owner).post("/envelopes/totals/v1/preview", {"document": "<b>Total 5.00</b>"}, headers=HTMX))
    assert "&lt;b&gt;Total 5.00&lt;/b&gt;" in page
    assert "<html" not in page


def test_shadow_run_from_page_to_result(world: World, author: User) -> None:
    client = signed_in(author)
    client.post("/envelopes/totals/drafts", {"from": 1})
    address = "/envelopes/totals/v2/try"
    page = client.get(address)
    assert (page.status_code, ShadowRun.objects.count()) == (200, 0)
    signature = page.context["choices"].groups[0].signature
    chosen = {"signatures": signature, "per_signature": 5, "accepted": 5}
    plan = client.get(address, chosen).context["plan"]
    assert (len(plan.runs), plan.max_calls) == (3, 21)
    assert client.post(address, chosen | {"confirmed": "other"}).status_code == 422
    shown = client.post(address, chosen | {"confirmed": plan.confirmation})["Location"]
    while shadow_work.work_next():
        pass
    page = text(client.get(shown))
    assert "Done" in page
    assert "still failing" in page
    row = ShadowRun.objects.get().results.first()
    assert row is not None
    result = text(client.get(f"{shown}/{row.pk}"))
    assert row.run.get_absolute_url() in result
    assert "never delivered" in result


def test_try_without_runs_says_so(author: User, draft: Version) -> None:
    assert "No records yet" in text(signed_in(author).get("/envelopes/totals/v2/try"))


def test_heartbeat_measures_reading(owner: User, reviewed: Version) -> None:
    client = signed_in(owner)
    assert client.post("/envelopes/totals/v2/beat").status_code == 204
    assert Effort.objects.get().kind == "reviewing"


def test_operator_sees_and_clears_notice(world: World) -> None:
    Notice.objects.create(version=world.version, text="it may not run: an approval names an unknown key")
    operator = signed_in(person("operator", Role.OPERATOR))
    assert "an approval names an unknown key" in text(operator.get("/"))
    operator.post(f"/envelopes/notices/{Notice.objects.get().pk}/seen")
    assert "an approval names an unknown key" not in text(operator.get("/"))


def test_text_of_others_is_escaped(owner: User, author: User, draft: Version) -> None:
    client = signed_in(author)
    nasty = draft.source.replace("Copy the fields.", "<script>alert(1)</script>")
    client.post("/envelopes/totals/v2/edit", {"source": nasty, "token": token_of(draft.source)})
    pages = [
        client.get("/envelopes/totals/v2/edit"),
        client.get("/envelopes/totals/v2"),
        client.get("/envelopes/totals/v1...v2"),
    ]
    assert all("<script>alert(1)" not in text(page) for page in pages)
