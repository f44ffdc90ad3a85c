"""Receipts of 1 kB with the reply that is right for each, as many as wanted."""

from __future__ import annotations

import json
from pathlib import Path

ENVELOPE = Path(__file__).with_name("ten_checks.yaml")
_GOODS = ("Green tea", "Oat biscuits", "Notebook A5", "Desk lamp", "Pencil set", "Rice 5 kg", "Lemon soap", "Wool socks")


def receipt(number: int) -> tuple[str, str]:
    """Document and reply number ``number``; no two are equal."""
    prices = [199 + 37 * place + (number * (place + 3)) % 4001 for place in range(len(_GOODS))]
    subtotal = sum(prices)
    tax = subtotal * 6 // 100
    lines = [
        f"CORNER STORE NO {number}",
        "12 Harbour Lane, Ground Floor, Market Hall, opposite the old customs house",
        f"Receipt R{number:07d}   Date 0{1 + number % 9}/1{number % 3}/2024   Till 4   Cashier 17",
        "-" * 72,
        *(
            f"{name:<24} {1 + place:>3} x {'':<8} code {4000 + place:>6} {_money(price):>12}"
            for place, (name, price) in enumerate(zip(_GOODS, prices, strict=True))
        ),
        "-" * 72,
        f"Subtotal {_money(subtotal)}",
        f"Tax 6% {_money(tax)}",
        f"Total {_money(subtotal + tax)}",
        "Thank you. Goods in good order may be returned within fourteen days with this receipt.",
    ]
    reply = {
        "shop": lines[0],
        "date": f"0{1 + number % 9}/1{number % 3}/2024",
        "items": [
            {"name": name, "quantity": 1 + place, "price": _money(price)}
            for place, (name, price) in enumerate(zip(_GOODS, prices, strict=True))
        ],
        "subtotal": _money(subtotal),
        "tax": _money(tax),
        "total": _money(subtotal + tax),
    }
    return "\n".join(lines), json.dumps(reply)


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
