"""Generated receipts with reference values: small, varied, and with the troubles that a pilot on real ones met."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import asdict, dataclass
from random import Random
from typing import TypedDict

from examples.draws import one_of, stream, whole
from examples.layouts import LAYOUTS, Entry, Head, Layout, Row
from examples.money import CONVENTIONS, Convention
from examples.sales import Sale, draw_sale
from examples.words import WORDS_FOR, Words

TROUBLE_EVERY = 20
TROUBLE_PLACES = {
    "long_menu": (4, 14),
    "missing_total": (6,),
    "total_twice": (1, 9),
    "tax_included": (2, 8, 17),
    "no_tax": (0, 5, 11, 16),
    "no_subtotal": (2, 5, 8, 12, 17, 18),
    "discount": (7, 13),
    "rounding": (3, 13, 19),
    "no_date": (10,),
}
"""Which of every 20 receipts have which trouble: the declared shares. ``unit_price_at``, ``both_prices`` and
``label_beside`` come with their layouts instead, and a torn edge may take the date with it. 20, 11 layouts and 3 conventions share no factor, so every trouble
meets every layout and every convention in time."""


class Item(TypedDict):
    """``price`` is the line total; ``quantity`` is ``None`` where the receipt prints none. All as printed."""

    name: str
    quantity: str | None
    price: str


class Reference(TypedDict):
    """The right values, each exactly as printed, ``None`` where the receipt does not print it."""

    shop: str
    date: str | None
    items: list[Item]
    subtotal: str | None
    tax: str | None
    total: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A document with its right values. ``adjustments`` are the printed discount and rounding, which stand between
    subtotal and total; ``would_be_total`` is what the total is, printed or not."""

    id: str
    layout: str
    convention: str
    troubles: tuple[str, ...]
    document: str
    reference: Reference
    adjustments: dict[str, str]
    would_be_total: str

    def line(self) -> dict[str, object]:
        """The receipt as one line of the shipped file."""
        fields = asdict(self)
        return {key: fields[key] for key in ("id", "document", "reference", "layout", "convention", "troubles")}


def generate(seed: int, count: int) -> list[Receipt]:
    """The first ``count`` receipts of a seed. More receipts never change the earlier ones."""
    return [_receipt(seed, index) for index in range(count)]


def scheduled_troubles(index: int) -> frozenset[str]:
    """The troubles that the place in the file decides, counted from 0."""
    return frozenset(name for name, places in TROUBLE_PLACES.items() if index % TROUBLE_EVERY in places)


def _receipt(seed: int, index: int) -> Receipt:
    rng = stream(seed, "receipt", index)
    layout = LAYOUTS[index % len(LAYOUTS)]
    convention = CONVENTIONS[index % len(CONVENTIONS)]
    troubles = scheduled_troubles(index)
    sale = draw_sale(rng, convention, troubles)
    words = one_of(rng, WORDS_FOR[convention.name])
    head = _head(sale, layout, troubles)
    entries = _entries(sale, layout, convention)
    rows = _rows(rng, sale, convention, words, troubles)
    torn = "missing_total" in troubles
    reference = _reference(layout, head, entries, rows, torn=torn)
    lost_date = {"no_date"} if reference["date"] is None else set()
    return Receipt(
        id=f"receipt-{index + 1:04d}",
        layout=layout.name,
        convention=convention.name,
        troubles=tuple(sorted(troubles | layout.troubles | lost_date)),
        document=_print(layout, words, head, entries, rows, torn=torn),
        reference=reference,
        adjustments={row.role: row.value for row in rows if row.role in ("discount", "rounding")},
        would_be_total=convention.show(sale.total),
    )


def _head(sale: Sale, layout: Layout, troubles: Set[str]) -> Head:
    date = "" if "no_date" in troubles else sale.day.strftime(layout.date_format)
    return Head(sale.shop.upper() if layout.capitals else sale.shop, f"{sale.number:05d}", date)


def _entries(sale: Sale, layout: Layout, convention: Convention) -> list[Entry]:
    return [
        Entry(
            b.name.upper() if layout.capitals else b.name,
            str(b.quantity),
            convention.show(b.unit),
            convention.show(b.amount),
        )
        for b in sale.bought
    ]


def _rows(rng: Random, sale: Sale, convention: Convention, words: Words, troubles: Set[str]) -> list[Row]:
    """The totals block in printed order. Where the lower edge is torn, everything from the total on is gone."""
    show = convention.show
    subtotal = [] if "no_subtotal" in troubles else [Row("subtotal", words.subtotal, show(sale.subtotal))]
    discount = [] if sale.discount is None else [Row("discount", words.discount, show(sale.discount))]
    tax_label = (words.tax_included if sale.tax_included else words.tax).format(rate=sale.tax_rate)
    tax = [Row("tax", tax_label, show(sale.tax))] if sale.tax_rate else []
    rounding = [] if sale.rounding is None else [Row("rounding", words.rounding, show(sale.rounding))]
    total = [Row("total", words.total, show(sale.total))]
    due = [Row("due", words.due, show(sale.total))] if "total_twice" in troubles else []
    paid = _payment(rng, sale, convention, words)
    if "missing_total" in troubles:
        return subtotal + discount + tax + rounding
    if sale.tax_included:
        return subtotal + discount + rounding + total + tax + due + paid
    return subtotal + discount + tax + rounding + total + due + paid


def _payment(rng: Random, sale: Sale, convention: Convention, words: Words) -> list[Row]:
    note = convention.step * one_of(rng, (100, 200, 400))
    given = -(-sale.total // note) * note
    tail = f"{whole(rng, 0, 9999):04d}"
    if sale.paid == "cash":
        change = Row("change", words.change, convention.show(given - sale.total))
        return [Row("cash", words.cash, convention.show(given)), change]
    if sale.paid == "card":
        return [Row("card", words.card.format(tail=tail), convention.show(sale.total))]
    return []


def _print(layout: Layout, words: Words, head: Head, entries: list[Entry], rows: list[Row], *, torn: bool) -> str:
    foot = ["~ ~ ~ ~ ~ ~"] if torn else layout.foot(words, head)
    return "\n".join([*layout.head(words, head), *layout.items(words, entries), *layout.rows(rows), *foot])


def _reference(layout: Layout, head: Head, entries: list[Entry], rows: list[Row], *, torn: bool) -> Reference:
    printed = {row.role: row.value for row in rows}
    has_date = head.date and not (torn and layout.date_in_foot)
    return {
        "shop": head.shop,
        "date": head.date if has_date else None,
        "items": [
            {"name": e.name, "quantity": e.quantity if layout.prints_quantity else None, "price": e.amount} for e in entries
        ],
        "subtotal": printed.get("subtotal"),
        "tax": printed.get("tax"),
        "total": printed.get("total"),
    }
