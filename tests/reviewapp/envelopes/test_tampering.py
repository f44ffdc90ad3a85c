"""Someone with write access to the database edits each signed field: no call is made, the run ends, operators are told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from controller.backends.scripted import Scripted
from controller.signature import read_statement, sign_statement
from reviewapp.accounts.models import Role
from reviewapp.audit.models import Entry
from reviewapp.envelopes import export, keys
from reviewapp.envelopes.actions import (
    approve_version,
    create_envelope,
    draft_version,
    retire_version,
    submit_for_review,
)
from reviewapp.envelopes.models import Approval, Notice, Version
from reviewapp.envelopes.notices import acknowledge, open_notices
from reviewapp.runs import actions
from reviewapp.runs.models import Attempt, Run
from tests.conftest import _guards_lifted
from tests.envelopes import data
from tests.reviewapp.factories import approved, batch, person

pytestmark = pytest.mark.django_db

DOCUMENT = "2 teas\nTotal 15.00"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    calls: list[object] = []

    def answer(request: object) -> str:
        calls.append(request)
        return '{"total":"15.00","qty":2}'

    monkeypatch.setattr("reviewapp.runs.endpoints.Endpoints.get", lambda self, key, default=None: Scripted(answer))
    actions._prepared.cache_clear()
    yield calls
    actions._prepared.cache_clear()


def work() -> Run:
    for run_id, fence in actions.claim("test", 10):
        actions.execute(run_id, fence)
    return Run.objects.get()


def edit(table: str, column: str, value: object) -> None:
    with _guards_lifted(), connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(f'UPDATE "{table}" SET "{column}" = %s', [value])


def _statement(**changes: object) -> str:
    return json.dumps(json.loads(Approval.objects.get().statement) | changes, sort_keys=True, separators=(",", ":"))


TAMPERINGS: dict[str, Callable[[], None]] = {
    "canonical": lambda: edit("envelopes_version", "canonical", Version.objects.get().canonical.replace("Copy", "Invent")),
    "canonical, one space": lambda: edit("envelopes_version", "canonical", Version.objects.get().canonical + " "),
    "digest": lambda: edit("envelopes_version", "digest", "0" * 64),
    "number": lambda: edit("envelopes_version", "number", 7),
    "author": lambda: edit("envelopes_version", "author_id", person("owner").pk),
    "task": lambda: edit("envelopes_envelope", "slug", "other"),
    "approvals needed": lambda: edit("envelopes_envelope", "approvals_needed", 2),
    "passkey asked for": lambda: edit("envelopes_envelope", "require_passkey", True),
    "statement's digest": lambda: edit("envelopes_approval", "statement", _statement(digest="0" * 64)),
    "statement's task": lambda: edit("envelopes_approval", "statement", _statement(task="other")),
    "statement's version": lambda: edit("envelopes_approval", "statement", _statement(version=2)),
    "statement's approver": lambda: edit("envelopes_approval", "statement", _statement(approver="mallory")),
    "statement's time": lambda: edit("envelopes_approval", "statement", _statement(approved_at="2020-01-01T00:00:00+00:00")),
    "statement's key": lambda: edit("envelopes_approval", "statement", _statement(key_id="0" * 16)),
    "statement's approvals needed": lambda: edit("envelopes_approval", "statement", _statement(approvals_needed=0)),
    "statement's passkey rule": lambda: edit("envelopes_approval", "statement", _statement(require_passkey=True)),
    "statement's form": lambda: edit("envelopes_approval", "statement", _statement(format="countersign.approval/1")),
    "statement, not JSON": lambda: edit("envelopes_approval", "statement", "approved"),
    "signature": lambda: edit("envelopes_approval", "signature", "A" * 86 + "=="),
    "signature, not base64": lambda: edit("envelopes_approval", "signature", "!"),
    "key": lambda: edit("envelopes_approval", "key_id", "0" * 16),
    "passkey": lambda: edit("envelopes_approval", "passkey", '{"format":"countersign.passkey/1"}'),
    "revoked key": lambda: keys.revoke_key(Approval.objects.get().key_id) and None,
    "another key": lambda: edit("envelopes_approval", "key_id", keys.make_key().key_id),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_altered_version_calls_nothing(name: str, asked: list[object]) -> None:
    batch(approved(), {"a": DOCUMENT})
    TAMPERINGS[name]()
    run = work()
    assert (run.status, run.fuse, run.calls) == ("dead_lettered", "signature_invalid", 0)
    assert asked == []
    assert not Attempt.objects.exists()
    assert [notice.version_id for notice in open_notices(person("operator", Role.OPERATOR))] == [run.version_id]
    with pytest.raises(CommandError):
        call_command("verify_envelopes", stdout=StringIO())


def test_removed_approval_calls_nothing(asked: list[object]) -> None:
    batch(approved(), {"a": DOCUMENT})
    with _guards_lifted(), connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute("DELETE FROM envelopes_approval")
    assert (work().fuse, asked) == ("signature_invalid", [])


def signed_by_two() -> Version:
    """A version of an envelope that asks for two approvals, with both."""
    author = person("author", Role.OWNER)
    keys.make_key()
    envelope = create_envelope("totals", "Totals", by=author, approvals_needed=2)
    version = draft_version(envelope, yaml.safe_dump(data(), sort_keys=False), by=author)
    version = submit_for_review(version, by=author)
    for name in ("olga", "omar"):
        version = approve_version(version, by=person(name, Role.OWNER), digest=version.digest)
    return version


def test_lowered_rule_frees_nothing(asked: list[object], tmp_path: Path) -> None:
    version = signed_by_two()
    batch(version, {"a": DOCUMENT})
    edit("envelopes_envelope", "approvals_needed", 1)
    export.write(Version.objects.get(), tmp_path)
    assert _third_party(tmp_path).returncode == 0
    with _guards_lifted(), connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute("DELETE FROM envelopes_approval WHERE id = %s", [Approval.objects.order_by("id")[0].pk])
    run = work()
    assert (run.status, run.fuse, run.calls, asked) == ("dead_lettered", "signature_invalid", 0, [])
    export.write(Version.objects.get(), tmp_path)
    assert _third_party(tmp_path).stdout.endswith("NOT VALID: 1 of 2 approvals\n")


def test_approval_before_rules_were_signed_runs(asked: list[object], tmp_path: Path) -> None:
    version = approved()
    key, stored = keys.signing_key(), Approval.objects.get()
    statement = read_statement(stored.statement)
    assert statement is not None
    first_form = sign_statement(key, replace(statement, rules=None))
    edit("envelopes_approval", "statement", first_form.statement)
    edit("envelopes_approval", "signature", first_form.signature)
    batch(version, {"a": DOCUMENT})
    assert (work().status, len(asked)) == ("accepted", 1)
    export.write(Version.objects.get(), tmp_path)
    assert _third_party(tmp_path).returncode == 0


def test_untouched_version_runs(asked: list[object]) -> None:
    batch(approved(), {"a": DOCUMENT})
    assert (work().status, len(asked)) == ("accepted", 1)
    assert not Notice.objects.exists()


def test_rotated_key_keeps_old_approvals(asked: list[object]) -> None:
    batch(approved(), {"a": DOCUMENT})
    keys.make_key()
    assert work().status == "accepted"


def test_notices_are_counted_until_seen(asked: list[object]) -> None:
    version = approved()
    batch(version, {"a": DOCUMENT, "b": DOCUMENT}, name="one")
    edit("envelopes_approval", "signature", "!")
    for run_id, fence in actions.claim("test", 10):
        actions.execute(run_id, fence)
    notice = Notice.objects.get()
    assert (notice.times, Entry.objects.filter(action="version refused").count()) == (2, 1)
    operator = person("operator", Role.OPERATOR)
    acknowledge(notice, by=operator)
    assert list(open_notices(operator)) == []
    batch(version, {"c": DOCUMENT}, name="two")
    for run_id, fence in actions.claim("test", 10):
        actions.execute(run_id, fence)
    assert [n.times for n in open_notices(operator)] == [1]


def test_retire_stops_before_next_call(asked: list[object]) -> None:
    version = approved()
    batch(version, {"a": DOCUMENT})
    retire_version(version, by=person("owner"), why="it invents totals")
    assert (work().fuse, asked) == ("version_retired", [])


SCRIPT = Path(settings.BASE_DIR) / "docs" / "verify_envelope.py"


def _third_party(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-I", str(SCRIPT), *map(str, args)], capture_output=True, text=True, check=False)


def test_third_party_verifies_export(tmp_path: Path) -> None:
    version = approved()
    call_command("export_envelope", "totals", "1", str(tmp_path / "out"), stdout=StringIO())
    trusted = tmp_path / "trusted.json"
    trusted.write_bytes((tmp_path / "out" / "keys.json").read_bytes())
    done = _third_party(tmp_path / "out", trusted)
    assert done.returncode == 0, done.stdout + done.stderr
    assert version.digest in done.stdout


@pytest.mark.parametrize("file", ["envelope.json", "approvals.json", "keys.json"])
def test_third_party_refuses_altered_export(tmp_path: Path, file: str) -> None:
    export.write(approved(), tmp_path)
    changed = {
        "envelope.json": lambda text: text.replace("Copy", "Invent"),
        "approvals.json": lambda text: text.replace('\\"approver\\":\\"owner\\"', '\\"approver\\":\\"mallory\\"'),
        "keys.json": lambda text: text.replace('"revoked": ""', '"revoked": "2026-01-01"'),
    }[file]
    before = (tmp_path / file).read_text("utf-8")
    (tmp_path / file).write_text(changed(before), "utf-8")
    assert (tmp_path / file).read_text("utf-8") != before
    done = _third_party(tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1][:9]) == (1, "NOT VALID")


def test_verify_command_lists_statements() -> None:
    approved()
    out = StringIO()
    call_command("verify_envelopes", stdout=out)
    assert "totals v1 (approved" in out.getvalue()
    assert '"approver":"owner"' in out.getvalue()
