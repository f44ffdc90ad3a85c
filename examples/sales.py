"""One sale before it is printed: what was bought and every amount that follows from it."""

from __future__ import annotations

import datetime
from collections.abc import Set
from dataclasses import dataclass
from random import Random

from examples.draws import one_of, several_of, whole
from examples.goods import SHOP_WORDS, TRADES
from examples.money import Convention, nearest, share


@dataclass(frozen=True, slots=True)
class Bought:
    name: str
    quantity: int
    unit: int

    @property
    def amount(self) -> int:
        return self.quantity * self.unit


@dataclass(frozen=True, slots=True)
class Sale:
    """Amounts in smallest units. ``tax_rate`` in per cent, 0 for none; ``discount`` and ``rounding`` are signed, ``None``
    where the receipt has no such line; ``paid`` is ``cash``, ``card`` or ``nothing`` (no payment line)."""

    shop: str
    day: datetime.date
    number: int
    bought: tuple[Bought, ...]
    tax_rate: int
    tax_included: bool
    discount: int | None
    coin: int | None
    paid: str

    @property
    def subtotal(self) -> int:
        return sum(b.amount for b in self.bought)

    @property
    def net(self) -> int:
        return self.subtotal + (self.discount or 0)

    @property
    def tax(self) -> int:
        if self.tax_included:
            return share(self.net, self.tax_rate, 100 + self.tax_rate)
        return share(self.net, self.tax_rate, 100)

    @property
    def unrounded(self) -> int:
        return self.net if self.tax_included else self.net + self.tax

    @property
    def rounding(self) -> int | None:
        return None if self.coin is None else nearest(self.unrounded, self.coin) - self.unrounded

    @property
    def total(self) -> int:
        return self.unrounded + (self.rounding or 0)


def draw_sale(rng: Random, convention: Convention, troubles: Set[str]) -> Sale:
    """A sale with the given troubles; everything else is drawn."""
    trade = one_of(rng, TRADES)
    count = whole(rng, 12, 16) if "long_menu" in troubles else one_of(rng, (2, 3, 3, 3, 4, 5))
    bought = tuple(
        Bought(name, one_of(rng, (1, 1, 1, 2, 2, 3, 4)), whole(rng, trade.cheapest, trade.dearest) * convention.step)
        for name in several_of(rng, trade.goods, count)
    )
    subtotal = sum(b.amount for b in bought)
    percent_off = one_of(rng, (5, 10, 15))
    return Sale(
        shop=f"{one_of(rng, SHOP_WORDS)} {trade.word}",
        day=datetime.date(2024, 1, 1) + datetime.timedelta(days=whole(rng, 0, 700)),
        number=whole(rng, 101, 9899),
        bought=bought,
        tax_rate=0 if "no_tax" in troubles else one_of(rng, convention.tax_rates),
        tax_included="tax_included" in troubles,
        discount=-share(subtotal, percent_off, 100) if "discount" in troubles else None,
        coin=convention.coin if "rounding" in troubles else None,
        paid=one_of(rng, ("cash", "cash", "card", "nothing")),
    )
