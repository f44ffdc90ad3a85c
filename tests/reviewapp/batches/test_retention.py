from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from controller.backends.scripted import Scripted
from reviewapp.accounts.models import Role
from reviewapp.batches.models import RecordPayload
from reviewapp.batches.retention import purge_payloads
from reviewapp.deadletters.models import DeadLetter, DeadLetterStatus
from reviewapp.runs import actions
from reviewapp.runs.models import Run
from tests.reviewapp.factories import approved, batch, person

pytestmark = pytest.mark.django_db

SECRET = "5105105105105100"
GOOD = '{"total":"15.00","qty":2}'
DOCUMENT = f"2 teas, card {SECRET}\nTotal 15.00"


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Run]:
    """An accepted run and a dead-lettered one, both with the secret in document and reply."""
    replies = {"good": GOOD, "bad": f'{{"total":null,"qty":"{SECRET}"}}'}
    backend = Scripted(lambda request: replies[request.record])
    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: backend)
    actions._prepared.cache_clear()
    batch(approved(sampling={"rate": 0.0, "min_per_stratum": 0}), {"good": DOCUMENT, "bad": DOCUMENT})
    while claimed := actions.claim("test", 10):
        for run_id, fence in claimed:
            actions.execute(run_id, fence)
    return Run.objects.get(record__key="good"), Run.objects.get(record__key="bad")


def later() -> object:
    return timezone.now() + timedelta(days=1)


def everything() -> str:
    """Every text in every table, as the database has it."""
    texts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            texts += [str(column) for row in cursor.fetchall() for column in row]
    return "\n".join(texts)


def test_purges_what_has_ended_and_keeps_what_is_needed(ended: tuple[Run, Run]) -> None:
    good, bad = ended
    assert SECRET in everything()
    result = purge_payloads(later(), by=None)  # type: ignore[arg-type]
    assert (result.purged, result.kept) == (1, 1)
    assert RecordPayload.objects.get(record=good.record).document == ""
    assert RecordPayload.objects.get(record=bad.record).document == DOCUMENT


def test_nothing_of_the_payload_stays_anywhere(ended: tuple[Run, Run]) -> None:
    DeadLetter.objects.update(status=DeadLetterStatus.RESOLVED, waiting_since=None)
    before = list(Run.objects.order_by("pk").values())
    hashes = list(Run.objects.order_by("pk").values_list("record__document_sha256", "calls_made__request_sha256"))
    assert purge_payloads(later(), by=None).purged == 2  # type: ignore[arg-type]
    assert SECRET not in everything()
    assert list(Run.objects.order_by("pk").values()) == before
    assert list(Run.objects.order_by("pk").values_list("record__document_sha256", "calls_made__request_sha256")) == hashes
    assert purge_payloads(later(), by=None).purged == 0  # type: ignore[arg-type]


def test_recent_records_stay(ended: tuple[Run, Run], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("purge_payloads", older_than=30)
    assert "0 records purged; 0 kept" in capsys.readouterr().out
    call_command("purge_payloads", older_than=0, dry_run=True)
    assert "1 records would be purged; 1 kept" in capsys.readouterr().out
    assert not RecordPayload.objects.filter(document="").exists()


def test_page_of_a_purged_run_says_so(ended: tuple[Run, Run], client: Client) -> None:
    good, _ = ended
    purge_payloads(later(), by=None)  # type: ignore[arg-type]
    client.force_login(person("reader", Role.REVIEWER))
    page = client.get(reverse("run", args=[good.pk]))
    assert page.status_code == 200
    assert "was purged" in page.content.decode()
