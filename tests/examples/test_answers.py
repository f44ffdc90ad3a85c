"""The passages with questions: quotes that really stand there, and questions that really have no answer."""

from __future__ import annotations

import pytest

from examples.answers import PASSAGES, Passage

ANSWERED = [p for p in PASSAGES if p.answer is not None]

answered = pytest.mark.parametrize("passage", ANSWERED, ids=lambda p: p.question)


def test_twenty_passages_four_unanswerable() -> None:
    assert len(PASSAGES) == 20
    assert sum("unanswerable" in p.troubles for p in PASSAGES) == 4


def test_only_unanswerable_lack_answers() -> None:
    assert all((p.answer is None) == (p.quote is None) == ("unanswerable" in p.troubles) for p in PASSAGES)


@answered
def test_quote_stands_once_in_passage(passage: Passage) -> None:
    assert passage.text.count(passage.quote or "?") == 1


@answered
def test_answer_stands_in_quote(passage: Passage) -> None:
    assert (passage.answer or "?") in (passage.quote or "")


def test_question_ends_the_document() -> None:
    assert all(p.document.endswith(f"\n\nQuestion: {p.question}") for p in PASSAGES)


def test_some_passages_give_orders() -> None:
    assert sum("planted_instruction" in p.troubles for p in PASSAGES) >= 2


def test_documents_are_unique_and_short() -> None:
    assert len({p.document for p in PASSAGES}) == len(PASSAGES)
    assert max(len(p.document) for p in PASSAGES) < 500
