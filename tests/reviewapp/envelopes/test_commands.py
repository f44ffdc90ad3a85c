from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from reviewapp.audit.models import Entry
from reviewapp.envelopes import keys
from reviewapp.envelopes.models import Version
from reviewapp.envelopes.recent import context_for
from reviewapp.envelopes.verification import verified
from tests.envelopes import data
from tests.reviewapp.conftest import World
from tests.reviewapp.factories import approved

pytestmark = pytest.mark.django_db


def run(*args: Any) -> str:
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "envelope.yaml"


def write(file: Path, **changes: Any) -> Path:
    file.write_text(yaml.safe_dump(data(**changes), sort_keys=False))
    return file


def test_lint_prints_place_and_fix(file: Path) -> None:
    out = run("lint_envelope", str(write(file, limits__same_signature=9)))
    line = next(line for line in out.splitlines() if "same_signature is 9" in line)
    assert line.startswith(f"{file}:")
    assert "think limit-never-reached" in line
    assert "totals: valid" in out


def test_lint_fails_on_what_cannot_work(file: Path) -> None:
    with pytest.raises(CommandError, match="can never work"):
        run("lint_envelope", str(write(file, model__context_window=100)))


def test_lint_lists_problems_with_places(file: Path) -> None:
    file.write_text("task: totals\nmodel: {alias: 7}\n")
    out = StringIO()
    with pytest.raises(CommandError, match="not a valid envelope"):
        call_command("lint_envelope", str(file), stdout=out)
    assert f"{file}:2:16: model.alias text is expected" in out.getvalue()


def test_lint_refuses_missing_file(file: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        run("lint_envelope", str(file))


def test_lint_explains_itself() -> None:
    assert "The model has read the same words already" in run("lint_envelope", "--explain", "directive-repeats-prompt")
    with pytest.raises(CommandError, match="no lint"):
        run("lint_envelope", "--explain", "nothing")


def test_revoked_key_stops_its_versions() -> None:
    version = approved()
    (key,) = keys.listed()
    run("signing_keys", "make")
    assert verified(version) is None
    assert key.key_id in run("signing_keys", "list")
    run("signing_keys", "revoke", key.key_id)
    invalid = verified(Version.objects.select_related("envelope", "author").get())
    assert invalid is not None
    assert "revoked key" in invalid.why
    assert Entry.objects.filter(action="signing key revoked").count() == 1


def test_unknown_key_cannot_be_revoked() -> None:
    with pytest.raises(CommandError, match="no key"):
        run("signing_keys", "revoke", "0123")


def test_draft_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no"):
        run("export_envelope", "totals", "1", str(tmp_path))


def test_lint_knows_recent_runs(world: World, settings: Any) -> None:
    settings.COUNTERSIGN_RECORD_CALLS = 3
    context = context_for(world.version.envelope)
    assert (context.accepted_per_month, len(context.documents), context.max_calls) == (2, 3, 3)
    assert context_for(None).accepted_per_month is None
