"""How amounts are printed. Amounts are whole numbers of the smallest unit, so no sum is ever rounded by a float."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Convention:
    """A way to print numbers: ``decimals`` digits after ``point``, groups of three parted by ``group``.

    ``step`` is the smallest step of shelf prices and ``coin`` the smallest coin, both in smallest units.
    """

    name: str
    group: str
    point: str
    decimals: int
    step: int
    coin: int
    tax_rates: tuple[int, ...]

    def show(self, amount: int) -> str:
        """``show(123450)`` is ``1,234.50``, ``1.234,50`` or ``123.450``; a minus sign leads."""
        whole, cents = divmod(abs(amount), 10**self.decimals)
        text = f"{whole:,}".replace(",", self.group)
        if self.decimals:
            text += f"{self.point}{cents:0{self.decimals}d}"
        return f"-{text}" if amount < 0 else text

    def read(self, text: str) -> Decimal:
        """The value of a printed amount, in whole currency units. Raises ``decimal.InvalidOperation`` on other text."""
        plain = text.replace(self.group, "")
        return Decimal(plain.replace(self.point, ".") if self.decimals else plain)


CONVENTIONS = (
    Convention("comma_point", ",", ".", 2, step=5, coin=5, tax_rates=(6, 8, 10)),
    Convention("point_comma", ".", ",", 2, step=5, coin=5, tax_rates=(7, 19)),
    Convention("point_thousands", ".", "", 0, step=500, coin=100, tax_rates=(10, 11)),
)


def nearest(amount: int, step: int) -> int:
    """The multiple of ``step`` nearest to a non-negative amount; a half goes up."""
    return (2 * amount + step) // (2 * step) * step


def share(amount: int, part: int, of: int) -> int:
    """``amount * part / of`` for non-negative amounts; a half goes up."""
    return (2 * amount * part + of) // (2 * of)
