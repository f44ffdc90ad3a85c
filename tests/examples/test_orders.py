"""The generated purchase orders: verbatim references, sums, and the rules that some of them break on purpose."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from examples.make_documents import ORDERS, SEED
from examples.money import CONVENTIONS
from examples.orders import LAYOUTS, TRANSITIONS, TROUBLE_PLACES, Order, generate

SHIPPED = generate(SEED, ORDERS)
read = CONVENTIONS[0].read

every_order = pytest.mark.parametrize("order", SHIPPED, ids=lambda o: o.id)


def test_same_seed_same_orders() -> None:
    assert generate(SEED, 10) == SHIPPED[:10]


def test_ids_and_documents_are_unique() -> None:
    assert len({o.id for o in SHIPPED}) == len({o.document for o in SHIPPED}) == ORDERS


def test_every_layout_and_trouble_appears() -> None:
    assert {o.layout for o in SHIPPED} == {name for name, _ in LAYOUTS}
    assert {trouble for o in SHIPPED for trouble in o.troubles} == set(TROUBLE_PLACES) | {"both_prices"}


@every_order
def test_reference_stands_verbatim(order: Order) -> None:
    reference = order.reference
    values = [reference["order"], reference["currency"], reference["status"], reference["requested_status"]]
    values += [item[key] for item in reference["items"] for key in ("sku", "name", "unit_price")]
    values += [delivery[key] for delivery in reference["deliveries"] for key in ("sku", "date")]
    values += [reference["order_total"]] if reference["order_total"] is not None else []
    assert [value for value in values if value not in order.document] == []


@every_order
def test_quantities_share_their_line(order: Order) -> None:
    lines = order.document.splitlines()
    for part in [*order.reference["items"], *order.reference["deliveries"]]:
        with_sku = [line.replace(part["sku"], "") for line in lines if part["sku"] in line]
        assert any(re.search(rf"(?<![\d.,]){part['quantity']}(?![\d]|[.,]\d)", line) for line in with_sku)


@every_order
def test_lines_sum_to_order_total(order: Order) -> None:
    total = order.reference["order_total"]
    lines = sum((item["quantity"] * read(item["unit_price"]) for item in order.reference["items"]), Decimal(0))
    assert total is None or lines == read(total)


@every_order
def test_only_marked_orders_break_transitions(order: Order) -> None:
    allowed = order.reference["requested_status"] in TRANSITIONS[order.reference["status"]]
    assert allowed == ("forbidden_transition" not in order.troubles)


@every_order
def test_only_marked_deliveries_name_strangers(order: Order) -> None:
    ordered = {item["sku"] for item in order.reference["items"]}
    strangers = [d["sku"] for d in order.reference["deliveries"] if d["sku"] not in ordered]
    assert bool(strangers) == ("unknown_sku" in order.troubles)


@every_order
def test_deliveries_never_exceed_order(order: Order) -> None:
    for item in order.reference["items"]:
        delivered = sum(d["quantity"] for d in order.reference["deliveries"] if d["sku"] == item["sku"])
        assert delivered <= item["quantity"]


@every_order
def test_skus_are_unique_per_order(order: Order) -> None:
    skus = [item["sku"] for item in order.reference["items"]]
    assert len(set(skus)) == len(skus)


def test_split_deliveries_name_sku_twice() -> None:
    split = [o for o in SHIPPED if "split_delivery" in o.troubles]
    assert split
    assert all(len({d["sku"] for d in o.reference["deliveries"]}) < len(o.reference["deliveries"]) for o in split)


def test_unplanned_deliveries_are_empty() -> None:
    empty = {o.id for o in SHIPPED if not o.reference["deliveries"]}
    assert empty == {o.id for o in SHIPPED if "no_delivery" in o.troubles}
    assert empty
