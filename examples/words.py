"""The words of a receipt, in the languages that its number convention goes with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Labels. ``tax`` and ``tax_included`` take the rate in per cent as ``{rate}``."""

    receipt: str
    date: str
    item: str
    quantity: str
    unit: str
    amount: str
    subtotal: str
    discount: str
    tax: str
    tax_included: str
    rounding: str
    total: str
    due: str
    cash: str
    change: str
    card: str
    thanks: str


PLAIN = Words(
    receipt="Receipt",
    date="Date",
    item="Item",
    quantity="Qty",
    unit="Price",
    amount="Amount",
    subtotal="Subtotal",
    discount="Discount",
    tax="Tax {rate}%",
    tax_included="Incl. tax {rate}%",
    rounding="Rounding",
    total="Total",
    due="Amount due",
    cash="Cash",
    change="Change",
    card="Card ****{tail}",
    thanks="Thank you",
)

CAPITALS = Words(
    receipt="BILL NO",
    date="DATE",
    item="DESCRIPTION",
    quantity="QTY",
    unit="U.PRICE",
    amount="AMT",
    subtotal="SUB TOTAL",
    discount="DISC",
    tax="SALES TAX {rate}%",
    tax_included="TAX {rate}% INCLUDED",
    rounding="ROUND ADJ",
    total="GRAND TOTAL",
    due="BALANCE DUE",
    cash="CASH TENDERED",
    change="CHANGE DUE",
    card="CARD XX{tail}",
    thanks="PLEASE COME AGAIN",
)

GERMAN = Words(
    receipt="Bon",
    date="Datum",
    item="Artikel",
    quantity="Menge",
    unit="Einzel",
    amount="Betrag",
    subtotal="Zwischensumme",
    discount="Rabatt",
    tax="MwSt {rate}%",
    tax_included="enth. MwSt {rate}%",
    rounding="Rundung",
    total="Summe",
    due="Zu zahlen",
    cash="Bar",
    change="Rückgeld",
    card="Karte ****{tail}",
    thanks="Vielen Dank",
)

INDONESIAN = Words(
    receipt="Struk",
    date="Tanggal",
    item="Nama",
    quantity="Jml",
    unit="Harga",
    amount="Jumlah",
    subtotal="Sub Total",
    discount="Diskon",
    tax="Pajak {rate}%",
    tax_included="Termasuk pajak {rate}%",
    rounding="Pembulatan",
    total="Total",
    due="Total Bayar",
    cash="Tunai",
    change="Kembali",
    card="Kartu ****{tail}",
    thanks="Terima kasih",
)

WORDS_FOR = {
    "comma_point": (PLAIN, CAPITALS),
    "point_comma": (GERMAN, PLAIN, GERMAN),
    "point_thousands": (PLAIN, INDONESIAN, CAPITALS),
}
"""By convention name."""
