"""Drafting, proving and signing in a real browser, with four people and a passkey of a virtual authenticator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from controller.backends.scripted import Scripted
from controller.reply import Request
from reviewapp.accounts.models import Role, User
from reviewapp.batches.models import Batch
from reviewapp.envelopes import shadow_work
from reviewapp.envelopes.actions import change_rules, submit_for_review
from reviewapp.envelopes.drafting import draft_from
from reviewapp.envelopes.models import Approval, Effort, Status, Version
from reviewapp.envelopes.verification import verified
from reviewapp.runs import actions as run_actions
from reviewapp.runs.models import Run
from tests.envelopes import SMALL
from tests.reviewapp.factories import approved, batch, person

OpenAs = Callable[..., Page]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GOOD, BAD = '{"total":"15.00","qty":2}', '{"total":"99.00","qty":2}'
HINT = "Look at the line that says Total."
REPEATS = [SMALL["templates"][0] | {"text": "{path}: copied as it is printed."}, *SMALL["templates"][1:]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that reads the total right only when the prompt says where to look, or for records named easy."""

    def answer(request: Request) -> str:
        sent = "".join(message.content for message in request.messages)
        return GOOD if HINT in sent or request.record.startswith("easy") else BAD

    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: Scripted(answer))
    for cache in (run_actions._prepared, shadow_work._prepared):
        cache.cache_clear()
    yield
    for cache in (run_actions._prepared, shadow_work._prepared):
        cache.cache_clear()


def work() -> None:
    while claimed := run_actions.claim("browser", 20):
        for run_id, fence in claimed:
            run_actions.execute(run_id, fence)
    while shadow_work.work_next():
        pass


@pytest.fixture
def author(model: None) -> User:
    """Who wrote v1, under which two records went to a person."""
    user = person("author", Role.OWNER)
    version = approved(author=user, templates=REPEATS)
    batch(version, {name: f"2 teas\nTotal 15.00 ({name})" for name in ("easy-1", "hard-1", "hard-2")})
    work()
    return user


def fill(page: Page, old: str, new: str) -> None:
    """Types into the editor as a person would: the text changes, and the page saves by itself."""
    area = page.get_by_label("The envelope as YAML")
    area.fill(area.input_value().replace(old, new))
    expect(page.get_by_text("Saved at")).to_be_visible()


def with_authenticator(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    session.send(
        "WebAuthn.addVirtualAuthenticator", {"options": options | {"isUserVerified": True, "automaticPresenceSimulation": True}}
    )


def test_four_people_bring_a_version_to_work(open_as: OpenAs, author: User) -> None:
    # The author drafts v2 from v1 on its dead letters; lint flags the directive that repeats the prompt.
    page = open_as(author, "/envelopes/totals/v1")
    page.get_by_role("button", name="New draft from this").click()
    page.wait_for_url("**/v2/edit")
    expect(page.get_by_text("A directive repeats the prompt")).to_be_visible()
    fill(page, "copied as it is printed", "the amount stands beside its label")
    expect(page.get_by_text("A directive repeats the prompt")).to_be_hidden()
    fill(page, "reminder: Copy as printed.", f"reminder: {HINT}")

    # The shadow run shows what is rescued.
    page.get_by_role("link", name="try on records").click()
    page.get_by_role("button", name="Show what it may cost").click()
    expect(page.get_by_role("heading", name="At most, for 3 records")).to_be_visible()
    page.get_by_role("button", name="Start, at this cost at most").click()
    page.wait_for_url("**/shadow/*")
    work()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    rescued = page.locator("dl.figures div", has_text="Rescued").locator("dd")
    expect(rescued).to_have_text("2")

    # The author gives it into review and cannot approve it.
    page.goto("/envelopes/totals/v2/edit")
    page.get_by_role("button", name="Save and give into review").click()
    page.wait_for_url("**/envelopes/totals/v2")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)

    # A reviewer may read it and decide nothing.
    reader = open_as(person("reviewer", Role.REVIEWER), "/envelopes/totals/v2")
    expect(reader.get_by_role("heading", name="What it needs before it may run")).to_be_visible()
    expect(reader.get_by_role("button", name="Approve")).to_have_count(0)

    # An owner registers a passkey and signs with it.
    sign_with_passkey(open_as, "/envelopes/totals/v2")
    assert Approval.objects.get(version__number=2).passkey

    # A manager runs the batch under v2: what failed is accepted now.
    version = Version.objects.get(number=2)
    assert version.status == Status.APPROVED
    again = batch(version, {"hard-1": "2 teas\nTotal 15.00 (hard-1)", "hard-2": "2 teas\nTotal 15.00 (hard-2)"}, name="again")
    work()
    manager = open_as(person("manager", Role.MANAGER), Batch.objects.get(pk=again.pk).get_absolute_url())
    expect(manager.locator("dl.figures div", has_text="Accepted on attempt 1").locator("dd")).to_have_text("2")
    assert Run.objects.filter(batch=again, status="accepted").count() == 2


def sign_with_passkey(open_as: OpenAs, address: str) -> None:
    """Olga registers a passkey under her name and approves the version with it."""
    olga = person("olga", Role.OWNER)
    olga.set_password("a long pass phrase")
    olga.save()
    page = open_as(olga, address)
    expect(page.get_by_role("button", name="Approve with passkey")).to_have_count(0)
    with_authenticator(page)
    page.goto("/account/2fa/webauthn/add/")
    if "reauthenticate" in page.url:
        page.locator("input[name=password]").fill("a long pass phrase")
        page.locator("input[name=password]").press("Enter")
        page.wait_for_url("**/webauthn/add/**")
    page.locator("input[name=name]").fill("key")
    page.locator("#mfa_webauthn_add").click()
    page.wait_for_url(lambda url: "/webauthn/add" not in url)
    page.goto(address)
    page.get_by_role("button", name="Approve with passkey").click()
    expect(page.get_by_text("approved: it can run from now on")).to_be_visible()


def test_passkey_signs_where_one_is_required(open_as: OpenAs, author: User) -> None:
    version = submit_for_review(draft_from(Version.objects.get(), by=author), by=author)
    change_rules(version.envelope, approvals_needed=1, require_passkey=True, by=author, why="four eyes and a key")
    sign_with_passkey(open_as, version.get_absolute_url())
    stored = Version.objects.select_related("envelope", "author").get(pk=version.pk)
    assert (stored.status, verified(stored)) == (Status.APPROVED, None)
    assert Approval.objects.get(version=version).passkey


def test_autosave_says_what_is_stored(open_as: OpenAs, author: User) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    page = open_as(author, f"/envelopes/totals/v{draft.number}/edit")
    area = page.get_by_label("The envelope as YAML")
    area.press("End")
    area.type("x")
    expect(page.get_by_text("Not saved yet…")).to_be_visible()
    expect(page.get_by_text("Saved at")).to_be_visible()
    assert Version.objects.get(pk=draft.pk).source == area.input_value()
    expect(page.get_by_role("heading", name="problem")).to_be_visible()


def test_second_tab_loses_nothing(open_as: OpenAs, author: User) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    address = f"/envelopes/totals/v{draft.number}/edit"
    one, two = open_as(author, address), open_as(author, address)
    fill(one, "Copy the fields.", "Copy from the first tab.")
    area = two.get_by_label("The envelope as YAML")
    area.fill(area.input_value().replace("Copy the fields.", "Copy from the second tab."))
    expect(two.get_by_text("another text of this draft was saved meanwhile")).to_be_visible()
    assert "first tab" in Version.objects.get(pk=draft.pk).source
    two.get_by_role("button", name="Put mine in its place").click()
    expect(two.get_by_text("Saved at")).to_be_visible()
    stored = Version.objects.get(pk=draft.pk)
    assert "second tab" in stored.source
    assert any("first tab" in kept.source for kept in stored.set_aside.all())


def test_problem_leads_to_its_line(open_as: OpenAs, author: User) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    page = open_as(author, f"/envelopes/totals/v{draft.number}/edit")
    fill(page, "attempts: 3", "attempts: many")
    page.get_by_role("link", name="Line ").first.click()
    area = page.get_by_label("The envelope as YAML")
    chosen = area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    assert chosen == "many"


@pytest.mark.parametrize("width", [1280, 390])
def test_keys_complete_at_caret(open_as: OpenAs, author: User, width: int) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    page = open_as(author, f"/envelopes/totals/v{draft.number}/edit")
    page.set_viewport_size({"width": width, "height": 900})
    area = page.get_by_label("The envelope as YAML")
    area.fill("task: totals\nmodel:\n  response_format: ")
    area.press("Control+Space")
    options = page.get_by_role("option")
    expect(options).to_have_text(["none", "json_object", "json_schema"])
    expect(page.get_by_role("status").filter(has_text="3 fit in model.response_format")).to_have_count(1)
    area.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_have_text("json_object")
    assert area.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    assert Axe().run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    area.press("Escape")
    expect(options).to_have_count(0)
    area.press("Control+Space")
    expect(options).to_have_count(3)
    area.press("ArrowUp")
    area.press("Enter")
    assert area.input_value().endswith("  response_format: json_schema")
    expect(page.get_by_text("Saved at")).to_be_visible()
    assert Version.objects.get(pk=draft.pk).source == area.input_value()

    # By hand instead of by key: the button asks, a click takes.
    area.fill("task: totals\nmodel:\n  temp")
    page.get_by_role("button", name="What fits here").click()
    options.filter(has_text="temperature").click()
    assert area.input_value().endswith("  temperature: ")
    expect(area).to_be_focused()
    page.locator("body").press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    expect(page.locator("dl.keys")).to_contain_text("Fields and values that fit at the caret")


def test_editor_works_without_javascript(open_as: OpenAs, author: User) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    page = open_as(author, f"/envelopes/totals/v{draft.number}/edit", java_script_enabled=False)
    area = page.get_by_label("The envelope as YAML")
    area.fill(area.input_value().replace("Copy the fields.", "Copy by hand."))
    page.get_by_role("button", name="Save and check").click()
    expect(page.get_by_text("Saved at")).to_be_visible()
    assert "Copy by hand." in Version.objects.get(pk=draft.pk).source


def test_open_page_measures_effort(open_as: OpenAs, author: User) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    page = open_as(author, f"/envelopes/totals/v{draft.number}/edit")
    page.wait_for_load_state("networkidle")
    assert [row.kind for row in Effort.objects.filter(version=draft)] == ["authoring"]


PAGES = [
    "",
    "/new",
    "/totals",
    "/totals/v1",
    "/totals/v2",
    "/totals/v2/edit",
    "/totals/v1...v2",
    "/totals/v2/preview",
    "/totals/v2/try",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_hold_at_every_size(open_as: OpenAs, author: User, width: int, scheme: str) -> None:
    draft = draft_from(Version.objects.get(), by=author)
    page = open_as(author, "/envelopes/", color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    shadow = _shadow(draft, author)
    for path in [*(f"/envelopes{path}" for path in PAGES), *shadow]:
        page.goto(path if path != "/envelopes" else "/envelopes/")
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, path
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"


def _shadow(draft: Version, author: User) -> list[str]:
    from reviewapp.envelopes import shadow

    choices = shadow.choices(draft)
    assert choices is not None
    plan = shadow.plan(draft, choices.against, [g.signature for g in choices.groups], per_signature=5, accepted=5, seed=0)
    started = shadow.start(draft, choices.against, plan, confirmed=plan.confirmation, by=author)
    work()
    result = started.results.first()
    assert result is not None
    return [started.get_absolute_url(), f"{started.get_absolute_url()}/{result.pk}"]
