"""Counting: the upper bound, and exactly with the file that was signed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.envelope import Tokens
from controller.tokens import CounterUnavailable, counter_for, utf8_bytes

tokenizers = pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level BPE tokenizer, trained here on a few words."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    model.train_from_iterator(["Total 15.00 total total amount"] * 9, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    model.save(str(path))
    return path


def named(path: Path, sha256: str = "") -> Tokens:
    return Tokens(counter="tokenizer_file", path=str(path), sha256=sha256 or hashlib.sha256(path.read_bytes()).hexdigest())


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_bytes_are_an_upper_bound(trained: Path, text: str) -> None:
    assert counter_for(named(trained))(text) <= utf8_bytes(text)


def test_file_counts_exactly(trained: Path) -> None:
    assert counter_for(named(trained))("total total") < utf8_bytes("total total") / 2
    assert counter_for(Tokens())("é") == 2


def test_another_file_than_signed_is_refused(trained: Path) -> None:
    with pytest.raises(CounterUnavailable, match="not the one that was signed"):
        counter_for(named(trained, "0" * 64))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CounterUnavailable, match="cannot be read"):
        counter_for(named(tmp_path / "gone.json", "0" * 64))
