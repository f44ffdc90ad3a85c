"""The demo's next version: drafted on real dead letters, linted, proved on recorded replies, signed by another, run again.

The replies are the shipped cassette's; ``examples/envelopes/receipt-fields-v3-draft.yaml`` is the text that they were recorded for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from reviewapp.accounts.models import User
from reviewapp.batches import demo
from reviewapp.batches.models import Batch
from reviewapp.envelopes import shadow_work
from reviewapp.envelopes.models import Approval, ShadowResult, Status, Version
from reviewapp.runs import actions as run_actions
from reviewapp.runs import endpoints
from reviewapp.runs.models import Run
from tests.browser.test_envelopes import OpenAs, fill, work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

V3 = (demo.EXAMPLES / "envelopes" / "receipt-fields-v3-draft.yaml").read_text(encoding="utf-8")
AFTER = "  - for: items-add-up\n    text:"
REPEATS = """\
  - for: tax-printed
    text: "{path}: null when no tax line is printed."
    slots: {path: json_pointer}
"""
"""What a careful owner adds after many wrong taxes, though the contract's own words say it already."""

Cache = Callable[[], None]


@pytest.fixture
def people(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, User]]:
    """The demo's four people, its signed versions, and what became of its receipts under version 2."""
    for name in ("COUNTERSIGN_ENDPOINT", "COUNTERSIGN_ENDPOINT_DEFAULT"):
        monkeypatch.delenv(name, raising=False)
    settings.COUNTERSIGN_ENDPOINT, settings.VAR_DIR = demo.CASSETTE, tmp_path
    caches = (run_actions._prepared, shadow_work._prepared, endpoints._backend, endpoints._cassette)
    for cache in caches:
        cache.cache_clear()
    found = {person.user.username: person.user for person in demo.people()}
    demo.batches(demo.versions(found["author"], found["owner"])[-1:], by=found["manager"])
    work()
    yield found
    for cache in caches:
        cache.cache_clear()


def figure(page: Page, label: str) -> int:
    text = page.locator("dl.figures div", has=page.get_by_text(label, exact=True)).locator("dd").inner_text()
    return int(text.replace(",", "").split()[0])


def test_next_version_is_proved_and_signed(open_as: OpenAs, people: dict[str, User]) -> None:
    dead, accepted = (Run.objects.filter(status=status).count() for status in ("dead_lettered", "accepted"))
    assert (dead, accepted) == (27, 21)

    # The author drafts v3 from v2; lint flags the directive that repeats the prompt, and the author takes it out.
    page = open_as(people["author"], "/envelopes/receipt-fields/v2")
    page.get_by_role("button", name="New draft from this").click()
    page.wait_for_url("**/v3/edit")
    page.get_by_label("The envelope as YAML").fill(V3.replace(AFTER, REPEATS + AFTER))
    expect(page.get_by_text("A directive repeats the prompt")).to_be_visible()
    fill(page, REPEATS, "")
    expect(page.get_by_text("A directive repeats the prompt")).to_be_hidden()

    # The shadow run: every dead letter of v2 by what failed, and ten accepted ones at random.
    page.get_by_role("link", name="try on records").click()
    for box in page.locator("input[name=signatures]").all():
        box.check()
    page.get_by_role("button", name="Show what it may cost").click()
    expect(page.get_by_role("heading", name="At most, for 37 records")).to_be_visible()
    page.get_by_role("button", name="Start, at this cost at most").click()
    page.wait_for_url("**/shadow/*")
    work()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    assert figure(page, "Not run") == 0
    assert figure(page, "Rescued") + figure(page, "Still failing") == dead
    assert figure(page, "Newly failing") + figure(page, "Changed value") + figure(page, "Same value") == 10
    assert figure(page, "Rescued") > 0
    expect(page.get_by_text("Exact paired test")).to_be_visible()
    evidence = page.url

    # The author gives it into review and cannot approve it.
    page.goto("/envelopes/receipt-fields/v3/edit")
    page.get_by_role("button", name="Save and give into review").click()
    page.wait_for_url("**/receipt-fields/v3")
    expect(page.get_by_role("heading", name="What it needs before it may run")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)

    # A reviewer reads the evidence and decides nothing.
    reader = open_as(people["reviewer"], evidence)
    expect(reader.get_by_text("rescued").first).to_be_visible()
    reader.goto("/envelopes/receipt-fields/v3")
    expect(reader.get_by_role("button", name="Approve")).to_have_count(0)

    # The owner sees the evidence for exactly this text beside what changed, and signs it.
    owner = open_as(people["owner"], "/envelopes/receipt-fields/v3")
    expect(owner.get_by_role("row", name="Done v2")).to_contain_text("yes")
    owner.get_by_role("button", name="Approve").click()
    expect(owner.get_by_text("approved: it can run from now on")).to_be_visible()
    version = Version.objects.get(number=3)
    assert (version.status, version.source) == (Status.APPROVED, V3)
    assert '"approvals_needed":1' in Approval.objects.get(version=version).statement

    # The manager runs the same receipts under v3: each ends as the shadow run said it would.
    rerun(open_as, people["manager"])
    ended = dict(Run.objects.filter(batch__version=version).values_list("record__key", "status"))
    tried = dict(ShadowResult.objects.values_list("run__record__key", "outcome"))
    assert len(ended) == 48
    assert {key: ended[key] for key in tried} == tried
    assert not Run.objects.filter(batch__version=version, fuse="infrastructure").exists()


def rerun(open_as: OpenAs, manager: User) -> None:
    """Uploads the demo's receipts for v3, as a person would, and works them to their end."""
    with demo.RECEIPTS.open("rb") as lines:
        file = FilePayload(name="receipts.jsonl", mimeType="application/x-ndjson", buffer=b"".join(islice(lines, demo.COUNT)))
    page = open_as(manager, "/batches/new")
    page.get_by_label("Envelope version").select_option("receipt-fields v3")
    page.get_by_label("Batch name").fill("receipts v3")
    page.get_by_label("Records").set_input_files(file)
    page.get_by_role("button", name="Upload and start").click()
    page.wait_for_url(re.compile(r"/batches/\d+"))
    work()
    page.goto(Batch.objects.get(name="receipts v3").get_absolute_url())
    accepted = Run.objects.filter(batch__name="receipts v3", status="accepted")
    assert figure(page, "Accepted on attempt 1") == accepted.filter(calls=1).count() > 0
