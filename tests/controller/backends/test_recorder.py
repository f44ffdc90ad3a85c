from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller.backends import Recorded, Scripted
from controller.backends.cassette import Cassette, CassetteError, Header
from controller.backends.recorder import Recorder
from controller.reply import Fault, InfrastructureError, Reply, Request
from tests.controller.backends.calls import a_request

HEADER = Header(model="qwen", recorded="2026-07-01", endpoint="a laptop")


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "tape.jsonl"


def echo(request: Request) -> Reply:
    return Reply(request.messages[-1].content.upper(), duration_ms=5)


def test_recording_replays_the_same(tape: Path) -> None:
    requests = [a_request(text) for text in ("one", "two")]
    live = [Recorder(Scripted(echo), tape, header=HEADER).complete(r, 1_000) for r in requests]
    cassette = Cassette.load(tape)
    assert [Recorded(cassette).complete(r, 1_000) for r in requests] == live
    assert cassette.header == HEADER


def test_reuses_what_it_holds(tape: Path) -> None:
    Recorder(Scripted(["first"]), tape).complete(a_request(), 1_000)
    model = Scripted([])
    assert Recorder(model, tape).complete(a_request(), 1_000).text == "first"
    assert model.requests == []


def test_records_anew_on_demand(tape: Path) -> None:
    for text in ("first", "second"):
        assert Recorder(Scripted([text]), tape, reuse=False).complete(a_request(), 1_000).text == text
    assert Cassette.load(tape).replies[a_request().digest].text == "second"


def test_reply_is_on_disk_at_once(tape: Path) -> None:
    recorder = Recorder(Scripted(echo), tape)
    recorder.complete(a_request("one"), 1_000)
    assert len(Cassette.load(tape).replies) == 1


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_goes_on_after_half_line(tape: Path, cut: int) -> None:
    recorder = Recorder(Scripted(echo), tape)
    for text in ("one", "two"):
        recorder.complete(a_request(text), 1_000)
    recorder.close()
    tape.write_bytes(tape.read_bytes()[:-cut])
    model = Scripted(echo)
    again = Recorder(model, tape)
    assert [again.complete(a_request(text), 1_000).text for text in ("one", "two", "three")] == ["ONE", "TWO", "THREE"]
    assert len(model.requests) == (1 if cut == 1 else 2)
    assert len(Cassette.load(tape).replies) == 3


def test_starts_over_after_half_header(tape: Path) -> None:
    tape.write_bytes(b'{"format": "counter')
    Recorder(Scripted(echo), tape, header=HEADER).complete(a_request(), 1_000)
    assert Cassette.load(tape).header == HEADER


def test_faults_are_not_recorded(tape: Path) -> None:
    recorder = Recorder(Scripted([InfrastructureError(Fault.SERVER, "503"), "later"]), tape)
    with pytest.raises(InfrastructureError):
        recorder.complete(a_request(), 1_000)
    assert Cassette.load(tape).replies == {}
    assert recorder.complete(a_request(), 1_000).text == "later"


def test_threads_write_whole_lines(tape: Path) -> None:
    recorder = Recorder(Scripted(echo), tape)
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: recorder.complete(a_request(f"document {n} " + "x" * 9_000), 1_000), range(100)))
    assert len(Cassette.load(tape).replies) == 100


def test_same_request_at_once_has_one_reply(tape: Path) -> None:
    both, numbers = threading.Barrier(2, timeout=30), iter("ab")

    def answer(_: Request) -> str:
        both.wait()
        return next(numbers)

    recorder = Recorder(Scripted(answer), tape)
    with ThreadPoolExecutor(2) as threads:
        said = {reply.text for reply in threads.map(lambda _: recorder.complete(a_request(), 1_000), range(2))}
    assert said == {Cassette.load(tape).replies[a_request().digest].text}


def test_failed_write_leaves_no_half_line(tape: Path) -> None:
    recorder = Recorder(Scripted(echo), tape)
    real = recorder._file

    class Full:
        """A disk that takes ten bytes more."""

        def fileno(self) -> int:
            return real.fileno()

        def write(self, line: bytes) -> int:
            return real.write(line[:10])

    recorder._file = Full()  # type: ignore[assignment]
    with pytest.raises(OSError, match="could not be written"):
        recorder.complete(a_request("one"), 1_000)
    recorder._file = real
    recorder.complete(a_request("two"), 1_000)
    assert len(Cassette.load(tape).replies) == 1


def test_refuses_cassette_of_other_kind(tape: Path) -> None:
    Recorder(Scripted(echo), tape, header=HEADER).close()
    with pytest.raises(CassetteError, match="'qwen', not 'llama'"):
        Recorder(Scripted(echo), tape, header=Header(model="llama"))
    Cassette.from_replies({("r", 1): Reply("x")}).save(tape)
    with pytest.raises(CassetteError, match="keyed by place"):
        Recorder(Scripted(echo), tape)
    with pytest.raises(CassetteError, match="plain JSON Lines"):
        Recorder(Scripted(echo), tape.with_suffix(".jsonl.gz"))
