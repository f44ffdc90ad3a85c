"""``manage.py check_replies``: one verdict per line, in order, exact, and what is no line is said with its number."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from tests.envelopes import data
from tests.reviewapp.factories import approved

GOOD = '{"total":"15.00","qty":2}'


@pytest.fixture
def envelope(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(data(), sort_keys=False), encoding="utf-8")
    return path


def row(reply: Any = GOOD, key: Any = "a", document: Any = "Total 15.00", **more: Any) -> bytes:
    return json.dumps({"id": key, "document": document, "reply": reply, **more}).encode() + b"\n"


def judged(envelope: Path | str, *lines: bytes, tmp_path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """(lines out, standard error, exit code)."""
    source = tmp_path / "in.jsonl"
    source.write_bytes(b"".join(lines))
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command("check_replies", str(source), envelope=str(envelope), stdout=out, stderr=err)
    except CommandError as error:
        code = error.returncode
        err.write(str(error))
    return [json.loads(line, parse_float=str) for line in out.getvalue().splitlines()], err.getvalue(), code


def test_pass_has_its_value(envelope: Path, tmp_path: Path) -> None:
    (line,), error, code = judged(envelope, row(), tmp_path=tmp_path)
    assert line == {"id": "a", "verdict": "pass", "class": None, "failures": [], "value": {"total": "15.00", "qty": 2}}
    assert (error, code) == ("", 0)


def test_failure_names_check_group_class_path(envelope: Path, tmp_path: Path) -> None:
    (line,), _, code = judged(envelope, row('{"total":"9","qty":2}'), tmp_path=tmp_path)
    assert "value" not in line
    assert (line["verdict"], line["class"], code) == ("fail", "business", 0)
    assert line["failures"] == [
        {
            "check": "total-printed",
            "group": "grounding",
            "class": "business",
            "path": "/total",
            "expected": "a number that the document prints",
        }
    ]


@pytest.mark.parametrize(
    ("reply", "fields", "failure_class"),
    [
        ("[", {}, "syntax"),
        (None, {}, "empty_output"),
        ('{"total":"1","total":"2","qty":1}', {}, "duplicate_key"),
        (GOOD, {"finish_reason": "length"}, "truncated"),
        (GOOD, {"finish_reason": None}, "truncated"),
        (GOOD, {"finish_reason": "content_filter"}, "policy_rejection"),
        ("\ud800", {}, "syntax"),
        (GOOD, {"finish_reason": "stop", "more": 1}, None),
    ],
)
def test_each_reply_has_its_class(
    envelope: Path, tmp_path: Path, reply: Any, fields: dict[str, Any], failure_class: str | None
) -> None:
    (line,), _, code = judged(envelope, row(reply, **fields), tmp_path=tmp_path)
    assert (line["class"], code) == (failure_class, 0)


def test_numbers_and_letters_are_exact(tmp_path: Path) -> None:
    free = tmp_path / "free.yaml"
    free.write_text(yaml.safe_dump(data(contract={}, checks=[], templates=[])), encoding="utf-8")
    text = '{"n":0.1000000000000000000000000001,"i":123456789012345678901234567890,"é😀":"ü\\n"}'
    source = tmp_path / "in.jsonl"
    source.write_bytes(row(text))
    out = io.StringIO()
    call_command("check_replies", str(source), envelope=str(free), stdout=out)
    assert out.getvalue().isascii()
    assert '"n":0.1000000000000000000000000001,"i":123456789012345678901234567890' in out.getvalue()
    assert json.loads(out.getvalue())["value"]["é😀"] == "ü\n"


MALFORMED = [
    (b"not json\n", "not a JSON object"),
    (b"[1]\n", "not a JSON object"),
    (b"[" * 100_000 + b"\n", "not a JSON object"),
    (b"\xff\n", "not UTF-8 at byte 1"),
    (b'{"document":"d","reply":"r"}\n', "id is missing"),
    (row(key=5), "id must be text"),
    (row(document=None), "document must be text"),
    (row(document="\ud800"), "document holds half of a surrogate pair, which is no text"),
    (b'{"id":"a","document":"d"}\n', "reply is missing"),
    (row(reply={"total": 1}), "reply must be text or null"),
    (row(finish_reason=7), "finish_reason must be text or null"),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED, ids=[message for _, message in MALFORMED])
def test_bad_line_is_told_and_the_rest_judged(envelope: Path, tmp_path: Path, line: bytes, message: str) -> None:
    lines, error, code = judged(envelope, row(key="first"), line, b"\n", row(key="last"), tmp_path=tmp_path)
    assert [found["id"] for found in lines] == ["first", "last"]
    assert f"line 2: {message}\n" in error
    assert "1 line was not judged" in error
    assert code == 2


def test_order_is_kept(envelope: Path, tmp_path: Path) -> None:
    lines, _, _ = judged(envelope, *(row(key=str(n)) for n in range(50)), tmp_path=tmp_path)
    assert [line["id"] for line in lines] == [str(n) for n in range(50)]


def test_standard_input_is_read(envelope: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(row())))
    out = io.StringIO()
    call_command("check_replies", "-", envelope=str(envelope), stdout=out)
    assert json.loads(out.getvalue())["verdict"] == "pass"


def test_memory_does_not_grow_with_the_stream(envelope: Path, tmp_path: Path) -> None:
    class Nowhere(io.TextIOBase):
        def write(self, text: str) -> int:
            return len(text)

    def peak(count: int) -> int:
        source = tmp_path / f"{count}.jsonl"
        with source.open("wb") as lines:
            for number in range(count):
                lines.write(row(f'{{"total":"15.00","qty":2,"made up {number}":"{"x" * 1_000}"}}', key=str(number)))
        tracemalloc.start()
        call_command("check_replies", str(source), envelope=str(envelope), stdout=Nowhere())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few = peak(100)
    assert peak(2_000) < few + 1_000_000


@pytest.mark.django_db
def test_stored_version_judges_too(tmp_path: Path) -> None:
    approved(slug="totals")
    for name in ("totals", "totals@1"):
        (line,), _, code = judged(name, row(), tmp_path=tmp_path)
        assert (line["verdict"], code) == ("pass", 0)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["nowhere", "totals@7", "totals@x"])
def test_unknown_envelope_is_an_error(tmp_path: Path, name: str) -> None:
    approved(slug="totals")
    lines, error, code = judged(name, row(), tmp_path=tmp_path)
    assert (lines, code) == ([], 1)
    assert "no envelope with an approved version" in error


def test_broken_envelope_says_where(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("task: Not A Slug\n", encoding="utf-8")
    _, error, code = judged(path, row(), tmp_path=tmp_path)
    assert "broken.yaml: line 1, column 7: task:" in error
    assert code == 1


def test_missing_input_is_an_error(envelope: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("check_replies", str(tmp_path / "gone.jsonl"), envelope=str(envelope))
