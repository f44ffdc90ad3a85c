"""Generated purchase-order messages: items, deliveries that refer to them, and a request to change the order's status."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Set
from dataclasses import asdict, dataclass
from random import Random
from typing import TypedDict

from examples.draws import one_of, several_of, stream, whole
from examples.goods import TRADES
from examples.money import CONVENTIONS

TRANSITIONS = {
    "DRAFT": ("CONFIRMED", "CANCELLED"),
    "CONFIRMED": ("SHIPPED", "CANCELLED"),
    "SHIPPED": ("DELIVERED", "RETURNED"),
    "DELIVERED": ("RETURNED",),
    "RETURNED": (),
    "CANCELLED": (),
}
"""Which status may follow which. Requests marked ``forbidden_transition`` break it."""

TROUBLE_EVERY = 15
TROUBLE_PLACES = {
    "forbidden_transition": (4, 11),
    "unknown_sku": (7,),
    "split_delivery": (2, 9),
    "no_delivery": (0, 6, 12),
    "no_total": (1, 3, 5, 8, 10, 13),
}
"""Which of every 15 orders have which trouble. ``both_prices`` comes with its layouts. ``unknown_sku`` is a delivery of
something that was not ordered: copied rightly, it still must not pass a cross-reference check."""

SHOW = CONVENTIONS[0].show


class OrderItem(TypedDict):
    sku: str
    name: str
    quantity: int
    unit_price: str


class Delivery(TypedDict):
    """``date`` as printed, which is ISO 8601 throughout."""

    sku: str
    quantity: int
    date: str


class OrderReference(TypedDict):
    """The right values: strings as printed, quantities as whole numbers, ``order_total`` ``None`` where not printed."""

    order: str
    currency: str
    items: list[OrderItem]
    order_total: str | None
    status: str
    requested_status: str
    deliveries: list[Delivery]


@dataclass(frozen=True, slots=True)
class Order:
    id: str
    layout: str
    convention: str
    troubles: tuple[str, ...]
    document: str
    reference: OrderReference

    def line(self) -> dict[str, object]:
        """The order as one line of the shipped file."""
        fields = asdict(self)
        return {key: fields[key] for key in ("id", "document", "reference", "layout", "convention", "troubles")}


@dataclass(frozen=True, slots=True)
class Draft:
    """What a layout prints. ``amounts`` are the line totals, one per item."""

    reference: OrderReference
    amounts: tuple[str, ...]


def generate(seed: int, count: int) -> list[Order]:
    """The first ``count`` orders of a seed. More orders never change the earlier ones."""
    return [_order(seed, index) for index in range(count)]


def scheduled_troubles(index: int) -> frozenset[str]:
    """The troubles that the place in the file decides, counted from 0."""
    return frozenset(name for name, places in TROUBLE_PLACES.items() if index % TROUBLE_EVERY in places)


def _order(seed: int, index: int) -> Order:
    rng = stream(seed, "order", index)
    layout, write = LAYOUTS[index % len(LAYOUTS)]
    troubles = scheduled_troubles(index)
    draft = _draft(rng, troubles)
    inherent = BOTH_PRICES if layout in ("priced_list", "table") else frozenset()
    return Order(
        id=f"order-{index + 1:04d}",
        layout=layout,
        convention="comma_point",
        troubles=tuple(sorted(troubles | inherent)),
        document="\n".join(write(draft)),
        reference=draft.reference,
    )


BOTH_PRICES = frozenset({"both_prices"})


def _draft(rng: Random, troubles: Set[str]) -> Draft:
    trade = one_of(rng, TRADES)
    names = several_of(rng, trade.goods, whole(rng, 2, 4))
    skus = [
        f"{one_of(rng, 'ABCDEFGH')}{one_of(rng, 'KLMNPRST')}-{1000 * (place + 1) + whole(rng, 100, 999)}" for place in range(5)
    ]
    counts = [whole(rng, 2, 48) for _ in names]
    units = [whole(rng, trade.cheapest, trade.dearest) * 5 for _ in names]
    amounts = [count * unit for count, unit in zip(counts, units, strict=True)]
    status, requested = _change(rng, troubles)
    items: list[OrderItem] = [
        {"sku": sku, "name": name, "quantity": count, "unit_price": SHOW(unit)}
        for sku, name, count, unit in zip(skus, names, counts, units, strict=False)
    ]
    reference: OrderReference = {
        "order": f"PO-{whole(rng, 10000, 99999)}",
        "currency": one_of(rng, ("EUR", "USD", "GBP")),
        "items": items,
        "order_total": None if "no_total" in troubles else SHOW(sum(amounts)),
        "status": status,
        "requested_status": requested,
        "deliveries": _deliveries(rng, items, skus[-1], troubles),
    }
    return Draft(reference, tuple(SHOW(amount) for amount in amounts))


def _change(rng: Random, troubles: Set[str]) -> tuple[str, str]:
    if "forbidden_transition" not in troubles:
        status = one_of(rng, tuple(s for s, after in TRANSITIONS.items() if after))
        return status, one_of(rng, TRANSITIONS[status])
    status = one_of(rng, tuple(TRANSITIONS))
    return status, one_of(rng, tuple(s for s in TRANSITIONS if s != status and s not in TRANSITIONS[status]))


def _deliveries(rng: Random, items: list[OrderItem], stranger: str, troubles: Set[str]) -> list[Delivery]:
    """One delivery for some of the items. A split one brings an item in two parts, the stranger was never ordered."""
    if "no_delivery" in troubles:
        return []
    day = datetime.date(2025, 1, 6) + datetime.timedelta(days=whole(rng, 0, 300))

    def after(days: int) -> str:
        return (day + datetime.timedelta(days=days)).isoformat()

    chosen = items[: whole(rng, 1, len(items))]
    plan: list[Delivery] = [{"sku": i["sku"], "quantity": i["quantity"], "date": after(0)} for i in chosen]
    if "split_delivery" in troubles:
        first = plan[0]["quantity"] // 2
        rest = plan[0]["quantity"] - first
        plan[:1] = [{**plan[0], "quantity": first}, {**plan[0], "quantity": rest, "date": after(7)}]
    if "unknown_sku" in troubles:
        plan.append({"sku": stranger, "quantity": whole(rng, 2, 20), "date": after(2)})
    return plan


def _letter(draft: Draft) -> list[str]:
    ref = draft.reference
    total = [f"That makes {ref['order_total']} {ref['currency']} in all."] if ref["order_total"] else []
    return [
        f"Regarding our order {ref['order']}, which stands at {ref['status']}.",
        f"We ordered, priced in {ref['currency']}:",
        *(f"{i['quantity']} of {i['name']} ({i['sku']}) at {i['unit_price']} each," for i in ref["items"]),
        *total,
        *(f"On {d['date']} please bring {d['quantity']} of {d['sku']}." for d in ref["deliveries"]),
        f"Please move the order from {ref['status']} to {ref['requested_status']}.",
        "The purchasing desk",
    ]


def _priced_list(draft: Draft) -> list[str]:
    ref = draft.reference
    return [
        f"ORDER {ref['order']} / {ref['currency']} / {ref['status']}",
        *(
            f"- {i['sku']} {i['name']}: {i['quantity']} x {i['unit_price']} = {amount}"
            for i, amount in zip(ref["items"], draft.amounts, strict=True)
        ),
        *([f"Sum: {ref['order_total']}"] if ref["order_total"] else []),
        "Deliveries:" if ref["deliveries"] else "Deliveries: not planned yet",
        *(f"- {d['date']}: {d['sku']}, {d['quantity']} pieces" for d in ref["deliveries"]),
        f"Change request: {ref['status']} -> {ref['requested_status']}",
    ]


def _form(draft: Draft) -> list[str]:
    ref = draft.reference
    return [
        f"Order no.: {ref['order']}",
        f"Currency: {ref['currency']}",
        f"Present status: {ref['status']}",
        f"Wanted status: {ref['requested_status']}",
        *(
            f"Line {place}: article {i['sku']}; {i['name']}; quantity {i['quantity']}; unit price {i['unit_price']}"
            for place, i in enumerate(ref["items"], start=1)
        ),
        *(f"Delivery: article {d['sku']}; quantity {d['quantity']}; day {d['date']}" for d in ref["deliveries"]),
        *([f"Order value: {ref['order_total']} {ref['currency']}"] if ref["order_total"] else []),
    ]


def _table(draft: Draft) -> list[str]:
    ref = draft.reference
    return [
        f"{ref['order']}   status {ref['status']}",
        "QTY  SKU      NAME                 UNIT      AMOUNT",
        *(
            f"{i['quantity']:>3}  {i['sku']}  {i['name']:<18} {i['unit_price']:>8}  {amount:>10}"
            for i, amount in zip(ref["items"], draft.amounts, strict=True)
        ),
        *([f"TOTAL {ref['order_total']}"] if ref["order_total"] else []),
        f"All prices in {ref['currency']}.",
        *(f"SHIP {d['quantity']} {d['sku']} BY {d['date']}" for d in ref["deliveries"]),
        f"SET STATUS TO {ref['requested_status']}",
    ]


LAYOUTS: tuple[tuple[str, Callable[[Draft], list[str]]], ...] = (
    ("letter", _letter),
    ("priced_list", _priced_list),
    ("form", _form),
    ("table", _table),
)
