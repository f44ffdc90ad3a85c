"""The generated receipts: repeatable, varied, and with reference values that can be trusted."""

from __future__ import annotations

import random
import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.layouts import LAYOUTS
from examples.make_documents import DEMO_RECEIPTS, RECEIPTS, SEED
from examples.money import CONVENTIONS
from examples.receipts import TROUBLE_PLACES, Receipt, generate

CONVENTION = {c.name: c for c in CONVENTIONS}
SHIPPED = generate(SEED, RECEIPTS)
DEMO = SHIPPED[:DEMO_RECEIPTS]
LAYOUT_TROUBLES = {"unit_price_at", "both_prices", "label_beside"}

every_receipt = pytest.mark.parametrize("receipt", SHIPPED, ids=lambda r: r.id)
some_receipts = st.integers(0, 10_000).flatmap(lambda seed: st.integers(1, 25).map(lambda count: generate(seed, count)[-1]))


def prints_number(document: str, number: str) -> bool:
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", document) is not None


def amounts(receipt: Receipt) -> list[str]:
    reference = receipt.reference
    totals = (reference["subtotal"], reference["tax"], reference["total"])
    return [item["price"] for item in reference["items"]] + [amount for amount in totals if amount is not None]


def read(receipt: Receipt, amount: str | None) -> Decimal:
    return CONVENTION[receipt.convention].read(amount) if amount is not None else Decimal(0)


def sum_of_items(receipt: Receipt) -> Decimal:
    return sum((read(receipt, item["price"]) for item in receipt.reference["items"]), Decimal(0))


def sum_to_pay(receipt: Receipt) -> Decimal:
    tax = Decimal(0) if "tax_included" in receipt.troubles else read(receipt, receipt.reference["tax"])
    adjustments = sum((read(receipt, amount) for amount in receipt.adjustments.values()), Decimal(0))
    return sum_of_items(receipt) + adjustments + tax


def test_same_seed_same_receipts() -> None:
    assert generate(SEED, 30) == generate(SEED, 30)


def test_other_seed_other_receipts() -> None:
    assert all(a.document != b.document for a, b in zip(generate(1, 30), generate(2, 30), strict=True))


def test_more_receipts_keep_earlier_ones() -> None:
    assert generate(SEED, 12) == SHIPPED[:12]


def test_global_randomness_changes_nothing() -> None:
    random.seed(99)
    assert generate(SEED, 5) == SHIPPED[:5]


def test_ids_and_documents_are_unique() -> None:
    assert [r.id for r in SHIPPED] == [f"receipt-{n:04d}" for n in range(1, RECEIPTS + 1)]
    assert len({r.document for r in SHIPPED}) == RECEIPTS


def test_demo_shows_every_layout() -> None:
    assert {r.layout for r in DEMO} == {layout.name for layout in LAYOUTS}
    assert len(LAYOUTS) >= 8


def test_every_layout_meets_every_convention() -> None:
    assert {(r.layout, r.convention) for r in DEMO} == {(layout.name, c.name) for layout in LAYOUTS for c in CONVENTIONS}


def test_demo_shows_every_trouble() -> None:
    assert {trouble for r in DEMO for trouble in r.troubles} == set(TROUBLE_PLACES) | LAYOUT_TROUBLES


def test_thousands_show_each_convention() -> None:
    shape = {
        "comma_point": r"^\d{1,3},\d{3}\.\d\d$",
        "point_comma": r"^\d{1,3}\.\d{3},\d\d$",
        "point_thousands": r"^\d{1,3}(\.\d{3})+$",
    }
    assert {r.convention for r in SHIPPED for a in amounts(r) if re.match(shape[r.convention], a)} == set(shape)


def test_two_or_three_demo_totals_missing() -> None:
    assert 2 <= sum(r.reference["total"] is None for r in DEMO) <= 3


def test_long_menus_are_one_in_ten() -> None:
    assert sum(len(r.reference["items"]) >= 12 for r in SHIPPED) == RECEIPTS // 10


def test_most_documents_are_short() -> None:
    lengths = [len(r.document) for r in SHIPPED]
    assert min(lengths) >= 120
    assert max(lengths) <= 1000
    assert sum(length < 500 for length in lengths) >= RECEIPTS * 9 // 10


@every_receipt
def test_amounts_stand_as_whole_numbers(receipt: Receipt) -> None:
    assert [a for a in amounts(receipt) if not prints_number(receipt.document, a)] == []


@every_receipt
def test_words_stand_verbatim(receipt: Receipt) -> None:
    reference = receipt.reference
    words = [reference["shop"], *(item["name"] for item in reference["items"])]
    assert [w for w in words if w not in receipt.document] == []
    assert reference["date"] is None or reference["date"] in receipt.document


@every_receipt
def test_quantity_shares_its_item(receipt: Receipt) -> None:
    for item in receipt.reference["items"]:
        if item["quantity"] is not None:
            line = receipt.document.index(item["name"])
            near = receipt.document[max(0, line - 20) : line + len(item["name"]) + 60]
            assert re.search(rf"(?<!\d){item['quantity']}(?!\d)", near)


@every_receipt
def test_items_sum_to_subtotal(receipt: Receipt) -> None:
    if receipt.reference["subtotal"] is not None:
        assert sum_of_items(receipt) == read(receipt, receipt.reference["subtotal"])


@every_receipt
def test_sums_lead_to_total(receipt: Receipt) -> None:
    if receipt.reference["total"] is not None:
        assert sum_to_pay(receipt) == read(receipt, receipt.reference["total"])


@pytest.mark.parametrize(
    ("trouble", "field"), [("no_subtotal", "subtotal"), ("no_tax", "tax"), ("missing_total", "total"), ("no_date", "date")]
)
def test_only_unprinted_values_are_null(trouble: str, field: str) -> None:
    marked = [r.id for r in SHIPPED if trouble in r.troubles]
    assert marked
    assert marked == [r.id for r in SHIPPED if r.reference[field] is None]


def test_torn_receipts_print_no_total() -> None:
    torn = [r for r in SHIPPED if "missing_total" in r.troubles]
    assert torn
    assert [r.id for r in torn if prints_number(r.document, r.would_be_total)] == []


def test_total_twice_has_two_labels() -> None:
    twice = [r for r in SHIPPED if "total_twice" in r.troubles]
    assert twice
    assert all(r.document.count(r.reference["total"] or "?") >= 2 for r in twice)


def test_at_marks_unit_prices_only() -> None:
    assert {r.id for r in SHIPPED if "@" in r.document} == {r.id for r in SHIPPED if "unit_price_at" in r.troubles}


def test_discount_and_rounding_are_printed() -> None:
    for trouble in ("discount", "rounding"):
        marked = [r for r in SHIPPED if trouble in r.troubles]
        assert marked
        assert all(prints_number(r.document, r.adjustments[trouble]) for r in marked)


@settings(max_examples=60, deadline=None)
@given(some_receipts)
def test_any_seed_adds_up(receipt: Receipt) -> None:
    assert sum_to_pay(receipt) == read(receipt, receipt.would_be_total)
    assert all(prints_number(receipt.document, amount) for amount in amounts(receipt))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(CONVENTIONS), st.integers(-(10**12), 10**12))
def test_printed_amount_reads_back(convention, amount: int) -> None:
    assert convention.read(convention.show(amount)) == Decimal(amount).scaleb(-convention.decimals)
