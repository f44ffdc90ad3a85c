"""How a receipt looks: heads, item lines and totals blocks, put together into the layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from examples.words import Words


@dataclass(frozen=True, slots=True)
class Head:
    """What stands around the amounts, as printed. ``date`` is empty where the receipt prints none."""

    shop: str
    number: str
    date: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One item as printed."""

    name: str
    quantity: str
    unit: str
    amount: str


@dataclass(frozen=True, slots=True)
class Row:
    """One label and value of the totals block. ``role`` is ``subtotal``, ``tax``, ``total`` …"""

    role: str
    label: str
    value: str


HeadStyle = Callable[[Words, Head], list[str]]
ItemStyle = Callable[[Words, Sequence[Entry]], list[str]]
RowStyle = Callable[[Sequence[Row]], list[str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """``troubles`` are those that every receipt of the layout has. ``foot`` is lost where the lower edge is torn off."""

    name: str
    head: HeadStyle
    items: ItemStyle
    rows: RowStyle
    foot: HeadStyle
    date_format: str
    capitals: bool = False
    prints_quantity: bool = True
    date_in_foot: bool = False
    troubles: frozenset[str] = frozenset()


# Heads and feet. A head without a date prints one line less.


def shop_address_number(words: Words, head: Head) -> list[str]:
    return [
        head.shop,
        "12 Example Street",
        f"{words.receipt} {head.number}",
        *([f"{words.date} {head.date}"] if head.date else []),
    ]


def number_and_date_in_one_line(words: Words, head: Head) -> list[str]:
    return [head.shop, "Market Hall, Stand 9", f"#{head.number} {head.date}".rstrip()]


def starred_shop(words: Words, head: Head) -> list[str]:
    return [f"*** {head.shop} ***", "Till 2", *([head.date] if head.date else []), "-" * 24]


def labelled(words: Words, head: Head) -> list[str]:
    return [
        head.shop,
        "Example Arcade 3",
        f"{words.receipt}: {head.number}",
        *([f"{words.date}: {head.date}"] if head.date else []),
    ]


def shop_only(words: Words, head: Head) -> list[str]:
    return [head.shop, "8 Sample Square", "Till 4"]


def thanks(words: Words, head: Head) -> list[str]:
    return [words.thanks]


def nothing_more(words: Words, head: Head) -> list[str]:
    return []


def date_and_number(words: Words, head: Head) -> list[str]:
    return ["-" * 20, *([f"{head.date} 14:05"] if head.date else []), f"{words.receipt} {head.number}"]


# Items.


def count_name_amount(words: Words, items: Sequence[Entry]) -> list[str]:
    return [f"{e.quantity} {e.name} {e.amount}" for e in items]


def name_over_times(words: Words, items: Sequence[Entry]) -> list[str]:
    return [line for e in items for line in (e.name, f"  {e.quantity} x {e.unit}  {e.amount}")]


def name_over_at(words: Words, items: Sequence[Entry]) -> list[str]:
    return [line for e in items for line in (e.name, f"{e.quantity}X @{e.unit} {e.amount}")]


def name_with_at(words: Words, items: Sequence[Entry]) -> list[str]:
    return [f"{e.name} {e.quantity} @ {e.unit} = {e.amount}" for e in items]


def everything_labelled(words: Words, items: Sequence[Entry]) -> list[str]:
    return [
        line
        for e in items
        for line in (
            f"{words.item}: {e.name}",
            f"{words.quantity}: {e.quantity} {words.unit}: {e.unit} {words.amount}: {e.amount}",
        )
    ]


def name_over_amount(words: Words, items: Sequence[Entry]) -> list[str]:
    return [words.item, words.amount, *(line for e in items for line in (e.name, e.amount))]


def four_columns(words: Words, items: Sequence[Entry]) -> list[str]:
    titles = f"{words.quantity} {words.item} {words.unit} {words.amount}"
    return [titles, *(f"{e.quantity:>2} {e.name:<18} {e.unit:>9} {e.amount:>9}" for e in items)]


def name_count_amount(words: Words, items: Sequence[Entry]) -> list[str]:
    return [f"{words.item} / {words.quantity} / {words.amount}", *(f"{e.name:<18} {e.quantity} {e.amount:>10}" for e in items)]


def amount_first(words: Words, items: Sequence[Entry]) -> list[str]:
    return [f"{e.amount}  {e.name} x{e.quantity}" for e in items]


def dotted(words: Words, items: Sequence[Entry]) -> list[str]:
    return [f"{e.name} {'.' * max(3, 26 - len(e.name) - len(e.amount))} {e.amount}" for e in items]


def barred(words: Words, items: Sequence[Entry]) -> list[str]:
    return [f"| {e.quantity} | {e.name} | {e.amount} |" for e in items]


# Totals blocks.


def label_space_value(rows: Sequence[Row]) -> list[str]:
    return [f"{r.label} {r.value}" for r in rows]


def ruled_columns(rows: Sequence[Row]) -> list[str]:
    return ["-" * 24, *(f"{r.label:<16} {r.value:>9}" for r in rows)]


def label_colon_value(rows: Sequence[Row]) -> list[str]:
    return [f"{r.label}: {r.value}" for r in rows]


def label_over_value(rows: Sequence[Row]) -> list[str]:
    return [line for r in rows for line in (r.label, r.value)]


def value_before_label(rows: Sequence[Row]) -> list[str]:
    return [f"{r.value}  {r.label}" for r in rows]


def dotted_rows(rows: Sequence[Row]) -> list[str]:
    return [f"{r.label} {'.' * max(3, 26 - len(r.label) - len(r.value))} {r.value}" for r in rows]


def run_together(rows: Sequence[Row]) -> list[str]:
    return [" | ".join(f"{r.label}: {r.value}" for r in rows)]


LAYOUTS = (
    Layout("count_first", shop_address_number, count_name_amount, label_space_value, thanks, "%d/%m/%Y"),
    Layout(
        "times_below_name",
        starred_shop,
        name_over_times,
        ruled_columns,
        thanks,
        "%Y-%m-%d",
        capitals=True,
        troubles=frozenset({"both_prices"}),
    ),
    Layout(
        "at_below_name",
        number_and_date_in_one_line,
        name_over_at,
        label_space_value,
        nothing_more,
        "%d.%m.%y",
        capitals=True,
        troubles=frozenset({"unit_price_at", "both_prices"}),
    ),
    Layout(
        "labels_beside",
        labelled,
        everything_labelled,
        label_colon_value,
        nothing_more,
        "%d-%m-%Y",
        troubles=frozenset({"both_prices", "label_beside"}),
    ),
    Layout("labels_above", shop_address_number, name_over_amount, label_over_value, thanks, "%d/%m/%Y", prints_quantity=False),
    Layout(
        "four_columns",
        number_and_date_in_one_line,
        four_columns,
        ruled_columns,
        nothing_more,
        "%Y/%m/%d",
        troubles=frozenset({"both_prices"}),
    ),
    Layout("name_first_columns", labelled, name_count_amount, label_space_value, thanks, "%d.%m.%Y", capitals=True),
    Layout("amount_first", shop_only, amount_first, value_before_label, date_and_number, "%d/%m/%y", date_in_foot=True),
    Layout("dotted", starred_shop, dotted, dotted_rows, nothing_more, "%Y-%m-%d", prints_quantity=False),
    Layout(
        "at_in_line",
        shop_only,
        name_with_at,
        label_colon_value,
        date_and_number,
        "%d.%m.%Y",
        date_in_foot=True,
        troubles=frozenset({"unit_price_at", "both_prices", "label_beside"}),
    ),
    Layout(
        "run_together",
        labelled,
        barred,
        run_together,
        thanks,
        "%Y-%m-%d",
        capitals=True,
        troubles=frozenset({"label_beside"}),
    ),
)
