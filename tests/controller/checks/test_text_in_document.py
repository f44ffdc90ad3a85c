from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks.folding import EVERY_FOLD, Fold, fold
from tests.controller.checks.judging import findings, printed, verdict

KIND = "text_in_document"
ALL = ["nfkc", "case", "space", "punctuation"]


@pytest.mark.parametrize(
    ("document", "value", "folds", "expected"),
    [
        ("NASI GORENG 5.00", "NASI GORENG", [], "pass"),
        ("NASI GORENGAN", "NASI GORENG", [], "fail"),
        ("XNASI", "NASI", ALL, "fail"),
        ("item 5.000", "item 5", ALL, "fail"),
        ("NASI GORENG", "nasi goreng", ["case"], "pass"),
        ("NASI GORENG", "nasi goreng", [], "gap"),
        ("NASI\n  GORENG", "NASI GORENG", ["space"], "pass"),
        ("NASI\nGORENG", "NASI GORENG", [], "gap"),
        ("NASI\u00a0GORENG", "NASI GORENG", ["space"], "pass"),
        ("JOE\u2019S BAR", "JOE'S BAR", ["punctuation"], "pass"),
        ("JOE\u2019S BAR", "JOE'S BAR", [], "gap"),
        ("A \u2013 B", "A - B", ["punctuation"], "pass"),
        ("ＡＢＣ １２", "ABC 12", ["nfkc"], "pass"),
        ("CAFE\u0301 X", "CAF\u00c9", ["nfkc"], "pass"),
        ("CAFE\u0301 X", "CAFE", ["nfkc"], "fail"),
        ("Straße 5", "STRASSE 5", ["case"], "pass"),
        ("ﬁsh", "fish", ["nfkc"], "pass"),
        ("NASI", "MIE", ALL, "fail"),
        ("NASI", "", ALL, "fail"),
        ("NASI", " ", ALL, "fail"),
        ("NASI", 5, ALL, "fail"),
        ("NASI", None, ALL, "none"),
    ],
)
def test_declared_differences_do_not_matter(document: str, value: object, folds: list[str], expected: str):
    assert verdict(KIND, {"shop": value}, document, at="/shop", fold=folds) == expected


def test_kind_of_match_is_recorded():
    assert [findings(KIND, {"shop": name}, "Nasi", at="/shop", fold=["case"])[0].match for name in ("Nasi", "NASI")] == [
        "exact",
        "folded",
    ]


@pytest.mark.parametrize(
    ("document", "value", "lit"),
    [
        ("é  Straße  12\tnasi\n\n GORENG x", "NASI GORENG", "nasi\n\n GORENG"),
        ("ﬁﬁ Straße 5", "strasse", "Straße"),
        ("a CAFE\u0301 b", "café", "CAFE\u0301"),
        ("x " * 3_000 + "Ärger \u2013 gut", "ärger - GUT", "Ärger \u2013 gut"),
        ("caf\u200be y", "CAFE", "caf\u200be"),
    ],
)
def test_lit_places_are_original_text(document: str, value: str, lit: str):
    assert printed(KIND, {"shop": value}, document, at="/shop", fold=ALL) == [lit]


@given(st.text(st.sampled_from("aAßéﬁ \n\t\u00a0\u2019'`-\u2013\u0301１x."), max_size=30), st.sets(st.sampled_from(list(Fold))))
def test_folding_keeps_its_way_back(text: str, folds: set[Fold]):
    folded = fold(text, frozenset(folds))
    for start in range(len(folded.text)):
        span = folded.span(start, start + 1)
        assert 0 <= span.start < span.end <= len(text)
    assert fold(folded.text, frozenset(folds)).text == folded.text or Fold.NFKC in folds


@given(st.text(max_size=60))
def test_long_and_short_texts_fold_alike(text: str):
    padding = "x" * 5_000
    assert fold(padding + text, EVERY_FOLD).text == padding + fold(text, EVERY_FOLD).text
