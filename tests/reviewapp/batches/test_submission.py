from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from reviewapp.batches import submission
from reviewapp.batches.actions import NotAllowed, submit_lines
from reviewapp.batches.models import Batch, Record
from reviewapp.envelopes.actions import retire_version
from reviewapp.runs.models import Run
from tests.reviewapp.factories import approved, person

pytestmark = pytest.mark.django_db


def line(key: str, document: str = "Total 1.00", **more: object) -> bytes:
    return json.dumps({"id": key, "document": document, **more}).encode() + b"\n"


def test_queues_a_run_per_record() -> None:
    result = submit_lines([line("a"), line("b", reference={"total": "1.00"})], version=approved(), name="first", by=None)
    assert (result.added, result.unchanged, result.errors) == (2, 0, [])
    assert set(Record.objects.values_list("key", flat=True)) == {"a", "b"}
    assert Run.objects.filter(status="ready", batch=result.batch).count() == 2
    assert json.loads(Record.objects.get(key="b").payload.reference) == {"total": "1.00"}


def test_resubmission_changes_nothing() -> None:
    version = approved()
    submit_lines([line("a"), line("b")], version=version, name="first", by=None)
    again = submit_lines([line("a"), line("b"), line("c")], version=version, name="first", by=None)
    assert (again.added, again.unchanged) == (1, 2)
    assert Record.objects.count() == Run.objects.count() == 3


def test_same_id_other_document_is_refused() -> None:
    version = approved()
    submit_lines([line("a")], version=version, name="first", by=None)
    again = submit_lines([line("b"), line("a", "Total 2.00")], version=version, name="first", by=None)
    assert [(e.line, e.field) for e in again.errors] == [(2, "document")]
    assert "another document" in again.errors[0].message
    assert Record.objects.count() == 1


@pytest.mark.parametrize(
    ("bad", "field", "words"),
    [
        (b"not json\n", "", "not a JSON object at column 1"),
        (b"[1]\n", "", "each line is one object"),
        (b'{"document": "x"}\n', "id", "is missing"),
        (b'{"id": 7, "document": "x"}\n', "id", "text is expected"),
        (b'{"id": "", "document": "x"}\n', "id", "text is expected"),
        (b'{"id": "' + b"k" * 201 + b'", "document": "x"}\n', "id", "at most 200"),
        (b'{"id": "a\\u0007b", "document": "x"}\n', "id", "printable"),
        (b'{"id": "x"}\n', "document", "is missing"),
        (b'{"id": "x", "document": "  "}\n', "document", "not empty"),
        (b'{"id": "x", "document": 5}\n', "document", "text"),
        (b'{"id": "x", "document": "a\\u0000b"}\n', "document", "NUL"),
        (b'{"id": "x", "document": "\\ud800"}\n', "document", "surrogate"),
        (b'{"id": "x", "document": "y", "reference": "z"}\n', "reference", "an object"),
        (b'{"id": "x", "document": "\xff"}\n', "", "not UTF-8 at byte"),
        (b"[" * 100_000 + b"\n", "", "not a JSON object"),
        (line("good"), "id", "the same id as in line 1"),
    ],
)
def test_names_line_and_field(bad: bytes, field: str, words: str) -> None:
    result = submit_lines([line("good"), b"\n", bad], version=approved(), name="first", by=None)
    assert [(e.line, e.field) for e in result.errors] == [(3, field)]
    assert words in result.errors[0].message
    assert result.batch is None
    assert not Batch.objects.exists()
    assert not Record.objects.exists()


def test_too_large_document_is_refused(settings: object) -> None:
    settings.COUNTERSIGN_DOCUMENT_BYTES = 10  # type: ignore[attr-defined]
    result = submit_lines([line("a", "é" * 6)], version=approved(), name="first", by=None)
    assert result.errors[0].message == "is 12 bytes; at most 10"


def test_errors_are_listed_then_counted() -> None:
    result = submit_lines([b"{}\n"] * 250, version=approved(), name="first", by=None)
    assert (len(result.errors), result.more_errors) == (200, 50)


def test_nothing_is_an_error() -> None:
    assert "no record" in str(submit_lines([b"\n"], version=approved(), name="first", by=None).errors[0])


def test_unknown_fields_are_named() -> None:
    assert submit_lines([line("a", layout="x")], version=approved(), name="first", by=None).ignored_fields == ["layout"]


def test_only_approved_versions_take_records() -> None:
    version = approved()
    retire_version(version, by=person("owner"), why="wrong")
    version.refresh_from_db()
    with pytest.raises(NotAllowed, match="retired"):
        submit_lines([line("a")], version=version, name="first", by=None)


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_are_checked_without_a_crash(chunks: list[bytes]) -> None:
    reading = submission.check(chunks)
    assert reading.total + len(reading.errors) + reading.more_errors >= 0


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_chunks_cut_lines_anywhere(sizes: list[int]) -> None:
    data = b"".join(line(f"k{i}", "Total ä") for i in range(5))
    chunks, at = [], 0
    for size in sizes:
        chunks.append(data[at : at + size])
        at += size
    reading = submission.check([*chunks, data[at:]])
    assert [row.key for row in reading.rows()] == [f"k{i}" for i in range(5)]


def test_memory_does_not_grow_with_the_stream() -> None:
    def lines(count: int) -> Iterator[bytes]:
        return (line(f"record-{number}", "Total 1.00 " * 60) for number in range(count))

    def peak(count: int) -> int:
        tracemalloc.start()
        submission.check(lines(count))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(10)
    # The stream is 13 MB against 1.3 MB; what is kept in memory is one spool below its limit and one line.
    assert peak(20_000) < 3 * peak(2_000) + 4_000_000


def test_command_submits_a_file(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    approved()
    path = tmp_path / "mine.jsonl"  # type: ignore[operator]
    path.write_bytes(line("a") + line("b"))
    call_command("submit", str(path), envelope="totals")
    assert "2 added, 0 unchanged" in capsys.readouterr().out
    assert Batch.objects.get().name == "mine"


def test_command_names_file_line_and_field(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    approved()
    path = tmp_path / "mine.jsonl"  # type: ignore[operator]
    path.write_bytes(line("a") + b'{"id": "b"}\n')
    with pytest.raises(CommandError, match="nothing was submitted: 1 error"):
        call_command("submit", str(path), envelope="totals")
    assert "mine.jsonl: line 2, document: is missing" in capsys.readouterr().err


def test_command_lists_what_is_approved(tmp_path: object) -> None:
    approved()
    with pytest.raises(CommandError, match="approved: totals v1"):
        call_command("submit", "x.jsonl", envelope="other")
