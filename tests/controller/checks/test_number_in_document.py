from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks.numbers import readings
from tests.controller.checks.judging import findings, outcomes, printed, verdict

KIND = "number_in_document"


@pytest.mark.parametrize(
    ("document", "value", "locale", "expected"),
    [
        # token boundaries
        ("Total 15.000", "5.000", "auto", "fail"),
        ("Total 5.000", "5", "de", "fail"),
        ("Total 5.000", "5.000", "auto", "pass"),
        ("Total 5.000.", "5.000", "auto", "pass"),
        ("Total 5,000,000", "5,000", "en", "fail"),
        ("Total 5,000,000", "000", "en", "fail"),
        ("Ref 7923F714", "714", "auto", "fail"),
        ("Ref A12", "12", "auto", "fail"),
        ("Tel 03-5542", "5542", "auto", "fail"),
        ("Date 23/09/2017 11:23", "23", "auto", "fail"),
        ("snake_5", "5", "auto", "fail"),
        ("(Qty 2.00 60.000", "2.00", "auto", "pass"),
        # glued on
        ("RM170.00", "170.00", "en", "pass"),
        ("USD170.00", "170.00", "en", "pass"),
        ("170.00EUR", "170.00", "en", "pass"),
        ("$170.00", "170.00", "en", "pass"),
        ("170€", "170", "en", "pass"),
        ("Rp.60.000", "60.000", "de", "pass"),
        ("2x4.50", "4.50", "en", "pass"),
        ("2x4.50", "2", "en", "pass"),
        ("@4.50", "4.50", "en", "pass"),
        ("TOTAL:12.00", "12.00", "en", "pass"),
        ("6%", "6", "en", "pass"),
        ("5kg", "5", "en", "fail"),
        ("TOTAL....12.00", "12.00", "en", "pass"),
        # signs
        ("Discount -60.000", "60.000", "de", "fail"),
        ("Discount -60.000", "-60.000", "de", "pass"),
        ("Discount 60.000-", "-60.000", "de", "pass"),
        ("Discount \u221260.000", "-60.000", "de", "pass"),
        ("Discount -$5.00", "-5.00", "en", "pass"),
        ("Discount (5.00)", "-5.00", "en", "pass"),
        ("Subtotal-5.00", "5.00", "en", "pass"),
        # the same number in another print
        ("Total 1,234.50", "1234.50", "en", "pass"),
        ("Total 1,234.50", Decimal("1234.5"), "en", "pass"),
        ("Total 1.234,50", Decimal("1234.5"), "de", "pass"),
        ("Total 1.234,50", Decimal("1.2345"), "de", "fail"),
        ("Total 1 234,50", Decimal("1234.5"), "fr", "pass"),
        ("Total 1\u202f234,50", Decimal("1234.5"), "fr", "pass"),
        ("Total 1\u00a0234.50", Decimal("1234.5"), "en", "pass"),
        ("Total 1'234.50", Decimal("1234.5"), "ch", "pass"),
        ("Total 1\u2019234.50", Decimal("1234.5"), "ch", "pass"),
        ("Total １２．５０", "12.50", "en", "pass"),
        ("Total .50", Decimal("0.5"), "en", "pass"),
        ("Total .50", 50, "en", "fail"),
        ("Total 27,80", 2780, "auto", "fail"),
        ("Total 27,80", Decimal("27.8"), "auto", "pass"),
        ("Zero 0.00", 0, "en", "pass"),
        ("Total 007", 7, "en", "pass"),
        # ambiguity is its own check
        ("Total 60.000", 60000, "auto", "ambiguous"),
        ("Total 60.000", 60, "auto", "ambiguous"),
        ("Total 60.000", 60000, "de", "pass"),
        ("Total 60.000 = 60,000.00", 60000, "auto", "pass"),
        ("Total 60.000", "60,000", "auto", "ambiguous"),
        ("Total 60.000", "60.000", "auto", "pass"),
        # verbatim
        ("Total 60.000", "60.000", "verbatim", "pass"),
        ("Total 60,000", "60.000", "verbatim", "fail"),
        ("Total RM 60.000", "RM 60.000", "verbatim", "pass"),
        ("Total -60.000", "60.000", "verbatim", "fail"),
        ("Total 5", 5, "verbatim", "pass"),
        # not numbers at all, nothing to say
        ("Total five", "five", "auto", "fail"),
        ("Total 1", True, "auto", "fail"),
        ("Total 1", None, "auto", "none"),
    ],
)
def test_printed_numbers_are_found(document: str, value: object, locale: str, expected: str):
    assert verdict(KIND, {"total": value}, document, at="/total", locale=locale) == expected


def test_absent_values_are_left_to_the_schema():
    assert outcomes(KIND, {}, "5", at="/total") == []


def test_every_item_has_its_finding():
    value = {"items": [{"price": "4.50"}, {"price": "9.99"}, {}]}
    assert outcomes(KIND, value, "A 4.50", at="/items/*/price", locale="en") == [
        ("it", "/items/0/price", True),
        ("it", "/items/1/price", False),
    ]


def test_declared_affixes_may_be_glued():
    assert verdict(KIND, {"total": "5"}, "5kg", at="/total", locale="en", affixes=["kg"]) == "pass"


def test_reply_may_use_its_own_convention():
    assert verdict(KIND, {"total": "1234.50"}, "1.234,50", at="/total", locale="de", value_locale="plain") == "pass"
    assert verdict(KIND, {"total": "1.234"}, "1.234", at="/total", locale="de", value_locale="plain") == "fail"


def test_match_and_places_are_recorded():
    document = "A 4.50\nB RM4.50\nC 14.50 -4.50"
    assert printed(KIND, {"total": "4.50"}, document, at="/total", locale="en") == ["4.50", "4.50"]
    assert findings(KIND, {"total": "4.50"}, document, at="/total", locale="en")[0].match == "exact"
    assert findings(KIND, {"total": Decimal("4.5")}, document, at="/total", locale="en")[0].match == "number"
    assert printed(KIND, {"total": "-4.50"}, document, at="/total", locale="en") == ["-4.50"]


def test_places_are_capped():
    assert len(findings(KIND, {"total": "7"}, "7 " * 500, at="/total", locale="en")[0].spans) == 20


@pytest.mark.parametrize(
    ("text", "locale", "numbers"),
    [
        ("60.000", "auto", {"60", "60000"}),
        ("1,234.50", "auto", {"1234.50"}),
        ("1.234.567", "de", {"1234567"}),
        ("1.23.456", "de", set()),
        ("1,234,5", "en", set()),
        ("-5", "plain", {"-5"}),
        ("5.00-", "en", {"-5"}),
        ("(5.00)", "en", {"5", "-5"}),
        ("$-60", "en", {"-60"}),
        ("5 USD", "en", {"5"}),
        ("5 apples", "en", set()),
        ("1 234,50", "fr", {"1234.5"}),
        ("1 23", "fr", set()),
        ("", "auto", set()),
        ("-", "auto", set()),
        ("1e5", "auto", set()),
    ],
)
def test_readings_follow_the_convention(text: str, locale: str, numbers: set[str]):
    assert readings(text, locale) == {Decimal(number) for number in numbers}


@given(
    st.integers(0, 10**12),
    st.integers(0, 99),
    st.sampled_from([("en", ",", "."), ("de", ".", ","), ("fr", " ", ","), ("ch", "'", ".")]),
)
def test_grouped_prints_read_back(whole: int, cents: int, convention: tuple[str, str, str]):
    locale, group, point = convention
    text = f"{whole:,}".replace(",", group) + f"{point}{cents:02}"
    assert readings(text, locale) == {Decimal(f"{whole}.{cents:02}")}
    assert verdict(KIND, {"total": Decimal(f"{whole}.{cents:02}")}, f"Total: {text} incl", at="/total", locale=locale) == "pass"


@given(st.text("0123456789.,'- ()RMx$\u00a0/", max_size=40), st.text("0123456789.,-", min_size=1, max_size=8))
def test_found_spans_print_the_number(document: str, value: str):
    for locale in ("en", "de", "fr", "auto", "verbatim"):
        for found in findings(KIND, {"total": value}, document, at="/total", locale=locale):
            for span in found.spans:
                assert 0 <= span.start < span.end <= len(document)
                assert not document[span.end : span.end + 1].isdigit()
                assert not (document[span.start].isdigit() and document[: span.start][-1:].isdigit())
