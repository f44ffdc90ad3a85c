from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.checks.dates import Order, date_text
from tests.controller.checks.judging import printed, verdict

KIND = "date_in_document"


@pytest.mark.parametrize(
    ("document", "value", "orders", "expected"),
    [
        ("DATE: 23/09/2017 11:23", "2017-09-23", ["dmy"], "pass"),
        ("DATE:23.9.17", "2017-09-23", ["dmy"], "pass"),
        ("2017-09-23T10:00", "2017-09-23", ["dmy"], "pass"),
        ("2017/9/23", "2017-09-23", ["ymd"], "pass"),
        ("20170923", "2017-09-23", ["ymd"], "pass"),
        ("23 Sep 2017", "2017-09-23", ["mdy"], "pass"),
        ("23-SEP-17", "2017-09-23", ["dmy"], "pass"),
        ("23rd September 2017", "2017-09-23", ["dmy"], "pass"),
        ("Sept 23, 2017", "2017-09-23", ["dmy"], "pass"),
        ("2017-Sep-23", "2017-09-23", ["dmy"], "pass"),
        ("17/09/23", "2017-09-23", ["ymd"], "pass"),
        ("02/01/2019", "2019-01-02", ["dmy"], "pass"),
        ("02/01/2019", "2019-02-01", ["dmy"], "fail"),
        ("02/01/2019", "2019-02-01", ["mdy"], "pass"),
        ("02/01/2019", "2019-01-02", ["dmy", "mdy"], "ambiguous"),
        ("02/02/2019", "2019-02-02", ["dmy", "mdy"], "pass"),
        ("25/01/2019", "2019-01-25", ["dmy", "mdy"], "pass"),
        ("02/01/2019 = 2 Jan 2019", "2019-01-02", ["dmy", "mdy"], "pass"),
        ("31/02/2019", "2019-02-28", ["dmy"], "fail"),
        ("123/09/2017", "2017-09-23", ["dmy"], "fail"),
        ("23/09/20171", "2017-09-23", ["dmy"], "fail"),
        ("1.23/09/2017", "2017-09-23", ["dmy"], "fail"),
        ("23/09-2017", "2017-09-23", ["dmy"], "fail"),
        ("no date", "2017-09-23", ["dmy"], "fail"),
        ("23/09/2017-13:19:16", "2017-09-23", ["dmy"], "pass"),
        ("23/09/2017-13", "2017-09-23", ["dmy"], "fail"),
        ("23/09/2017", "23/09/2017", ["dmy"], "fail"),
        ("23/09/2017", "2017-9-23", ["dmy"], "fail"),
        ("23/09/2017", "20170923", ["dmy"], "fail"),
        ("23/09/2017", 20170923, ["dmy"], "fail"),
        ("23/09/2017", None, ["dmy"], "none"),
    ],
)
def test_printed_dates_are_found(document: str, value: object, orders: list[str], expected: str):
    assert verdict(KIND, {"date": value}, document, at="/date", orders=orders) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("23/09/2017", "pass"), ("23.9.17", "pass"), ("09/23/2017", "fail"), ("soon", "fail")]
)
def test_reply_may_use_a_declared_order(value: str, expected: str):
    assert verdict(KIND, {"date": value}, "on 23/09/2017", at="/date", orders=["dmy"], format="dmy") == expected


@pytest.mark.parametrize(("window", "year"), [(1970, 1971), (1950, 1971), (2000, 2071)])
def test_two_digit_years_have_a_window(window: int, year: int):
    value = {"date": f"{year}-05-01"}
    assert verdict(KIND, value, "1/5/71", at="/date", orders=["dmy"], two_digit_years_from=window) == "pass"


def test_every_print_is_lit():
    document = "x" * 100 + " DD:23/09/2017 and 23 Sep 2017, not 24/09/2017"
    assert printed(KIND, {"date": "2017-09-23"}, document, at="/date", orders=["dmy"]) == ["23/09/2017", "23 Sep 2017"]


@given(
    st.dates(date(1970, 1, 1), date(2069, 12, 31)),
    st.sampled_from(["%d/%m/%Y", "%d.%m.%y", "%Y-%m-%d", "%d %b %Y", "%B %d, %Y", "%d-%b-%y"]),
)
def test_printed_forms_read_back(day: date, form: str):
    text = day.strftime(form)
    read = date_text(text)
    assert read is not None
    assert read.readings((Order.DMY,), 1970) == {day}
    assert verdict(KIND, {"date": day.isoformat()}, f"Printed {text} here", at="/date", orders=["dmy"]) == "pass"


@given(st.text("0123456789/.- JanuarySepT,'", max_size=40))
def test_any_text_is_searched_safely(document: str):
    assert verdict(KIND, {"date": "2017-09-23"}, document, at="/date", orders=["dmy", "mdy", "ymd"]) in {
        "pass",
        "fail",
        "ambiguous",
    }
