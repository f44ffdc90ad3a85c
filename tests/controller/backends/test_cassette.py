from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.backends import Recorded
from controller.backends.cassette import Cassette, CassetteError, Header, decode_entry, encode_entry
from controller.backends.replies_file import read_replies
from controller.reply import Fault, Finish, InfrastructureError, Reply, Usage
from tests.controller.backends.calls import a_request

HEADER = Header("digest", "qwen", {"temperature": 0.3}, "2026-07-01", "a laptop")
COUNTS = st.none() | st.integers(0, 10**6)
REPLIES = st.builds(
    Reply,
    text=st.none() | st.text(st.characters(), max_size=30) | st.just("\ud800 \u2028 \x00 é"),
    finish=st.sampled_from(Finish),
    raw_finish=st.none() | st.text(max_size=8),
    refused=st.booleans(),
    usage=st.builds(Usage, COUNTS, COUNTS),
    model=st.text(max_size=8),
    duration_ms=st.integers(0, 10**6),
)
KEYS = st.text("0123456789abcdef", min_size=64, max_size=64) | st.tuples(st.text(max_size=8), st.integers(0, 9))


def first_line(key: str = "digest") -> bytes:
    return json.dumps({"format": "countersign.cassette/1", "key": key}).encode() + b"\n"


@given(KEYS, REPLIES)
def test_entry_survives_its_line(key: str | tuple[str, int], reply: Reply) -> None:
    line = encode_entry(key, reply)
    assert line.count(b"\n") == 1
    assert decode_entry(line, "digest" if isinstance(key, str) else "place") == (key, reply)


@pytest.mark.parametrize("name", ["tape.jsonl", "tape.jsonl.gz"])
def test_file_gives_same_cassette(tmp_path: Path, name: str) -> None:
    cassette = Cassette.from_replies({"ab" * 32: Reply("{}"), "cd" * 32: Reply(None, Finish.REFUSAL, None, True)}, HEADER)
    cassette.save(tmp_path / name)
    assert Cassette.load(tmp_path / name) == cassette
    first = (tmp_path / name).read_bytes()
    cassette.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


def test_replays_reply_by_digest() -> None:
    request = a_request()
    backend = Recorded(Cassette.from_replies({request.digest: Reply("{}", duration_ms=812)}))
    assert backend.complete(request, 1) == backend.complete(request, 1) == Reply("{}", duration_ms=812)


def test_miss_names_request_not_content() -> None:
    request = a_request()
    with pytest.raises(InfrastructureError) as caught:
        Recorded(Cassette.from_replies({})).complete(request, 1_000)
    assert (caught.value.fault, caught.value.retryable) == (Fault.CONFIGURATION, False)
    assert f"cassette has no reply for request {request.digest[:12]}" in str(caught.value)
    assert "card" not in str(caught.value)


def test_replays_reply_by_place() -> None:
    backend = Recorded.by_place({("r1", 1): Reply("a"), ("r1", 2): Reply("b"), ("r2", 1): Reply("c")})
    asked = [("r1", 1), ("r1", 2), ("r1", 5), ("r2", 2)]
    assert [backend.complete(a_request(record=r, attempt=a), 1).text for r, a in asked] == ["a", "b", "b", "c"]


def test_place_misses_without_repetition() -> None:
    backend = Recorded.by_place({("r1", 1): Reply("a")}, repeat_last=False)
    assert backend.complete(a_request(record="r1", attempt=1), 1).text == "a"
    for record, attempt in (("r1", 2), ("r9", 1)):
        with pytest.raises(InfrastructureError, match=f"record '{record}', attempt {attempt}"):
            backend.complete(a_request(record=record, attempt=attempt), 1)


def test_recorded_call_needs_time() -> None:
    with pytest.raises(InfrastructureError) as caught:
        Recorded.by_place({("", 0): Reply("a")}).complete(a_request(), 0)
    assert caught.value.fault is Fault.TIMEOUT


GOOD = encode_entry("ab" * 32, Reply("{}"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ":1: the line is not a JSON object"),
        (b'{"format": "other/1"}\n', ":1: the first line must say"),
        (first_line("name"), ":1: key must be"),
        (first_line() + b"nonsense\n" + GOOD, ":2: the line is not a JSON object"),
        (first_line() + b"nonsense\n", ":2: the line is not a JSON object"),
        (first_line() + GOOD + GOOD.replace(b"abab", b"ABAB"), ":3: digest is not"),
        (first_line() + GOOD.replace(b'"stop"', b'"done"', 1), ":2: finish is none"),
        (first_line() + GOOD.replace(b"false", b"0"), ":2: refused is of the wrong type"),
        (first_line() + GOOD.replace(b'"duration_ms":0', b'"duration_ms":-1'), ":2: duration_ms is negative"),
        (first_line() + GOOD.replace(b'"text"', b'"txt"'), ":2: text is missing"),
        (first_line("place") + GOOD, ":2: record is missing"),
        (first_line("place") + encode_entry(("r", 1), Reply("x")) * 2, ":3: this record and attempt occurs twice"),
    ],
)
def test_names_line_of_mistake(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "tape.jsonl").write_bytes(content)
    with pytest.raises(CassetteError) as caught:
        Cassette.load(tmp_path / "tape.jsonl")
    assert str(caught.value).startswith(f"tape.jsonl{words}")


def test_cut_gzip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tape.jsonl.gz").write_bytes(gzip.compress(first_line() + GOOD)[:-12])
    with pytest.raises(CassetteError, match="not whole gzip"):
        Cassette.load(tmp_path / "tape.jsonl.gz")


def test_half_last_line_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tape.jsonl").write_bytes(first_line() + GOOD + GOOD[:50])
    assert len(Cassette.load(tmp_path / "tape.jsonl").replies) == 1
    assert "tape.jsonl:3" in caplog.text


def test_later_recording_of_digest_holds(tmp_path: Path) -> None:
    (tmp_path / "tape.jsonl").write_bytes(first_line() + GOOD + encode_entry("ab" * 32, Reply("new")))
    assert Cassette.load(tmp_path / "tape.jsonl").replies["ab" * 32].text == "new"


def test_kinds_of_keys_do_not_mix() -> None:
    with pytest.raises(CassetteError):
        Cassette.from_replies({"ab" * 32: Reply("x"), ("r", 1): Reply("y")})
    with pytest.raises(CassetteError):
        Cassette.from_replies({("r", 1): Reply("y")}, HEADER)


def test_reads_rows_of_replies(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "reply": "{}", "reference": {"total": "1"}},
        {"id": "b", "reply": "{", "finish_reason": "length"},
        {"id": "c", "reply": None, "finish_reason": None, "attempt": 2},
    ]
    (tmp_path / "replies.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    replies = read_replies(tmp_path / "replies.jsonl")
    assert {place: (r.text, r.finish) for place, r in replies.items()} == {
        ("a", 1): ("{}", Finish.STOP),
        ("b", 1): ("{", Finish.LENGTH),
        ("c", 2): (None, Finish.MISSING),
    }


@pytest.mark.parametrize(
    "row", ['{"reply": "x"}', '{"id": 1, "reply": "x"}', '{"id": "a"}', '{"id": "ok", "reply": "again"}', "[]"]
)
def test_bad_row_names_its_line(tmp_path: Path, row: str) -> None:
    (tmp_path / "replies.jsonl").write_text('{"id": "ok", "reply": "x"}\n' + row + "\n")
    with pytest.raises(CassetteError, match=r"replies\.jsonl:2: "):
        read_replies(tmp_path / "replies.jsonl")
