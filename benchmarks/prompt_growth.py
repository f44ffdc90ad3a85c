"""Prompt length over 50 identical failures: ``python -m benchmarks.prompt_growth`` prints the table of docs/controller.md.

Two ways of trying again after the same wrong reply: this controller (a directive in a capped ledger), and the conversation that
keeps every reply and every complaint. ``--svg FILE`` draws both.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from controller.backends.scripted import Scripted
from controller.envelope import Envelope
from controller.reply import Message, Request
from controller.testing import run_record
from tests.envelopes import small

FAILURES = 50
DOCUMENT = "CORNER SHOP\n" + "".join(f"Article {n:02d}   {n}.50\n" for n in range(1, 31)) + "Total 465.00\n"
WRONG = '{"total":"456.00","qty":30}'
COMPLAINT = "/total: copy the number as printed. Reply again with the whole object."


def envelope() -> Envelope:
    """The small envelope with every fuse wide open, so that it fails as often as is asked."""
    changes: dict[str, Any] = {
        f"limits__{fuse}": FAILURES for fuse in ("attempts", "same_plan", "same_signature", "same_shape", "no_progress")
    }
    return small(**changes, limits__total_tokens=10**6, graph__edges=[{"from": "copy", "on": "*", "to": "copy"}])


def sizes_of_controller() -> list[int]:
    """Bytes of the messages of each request."""
    model = Scripted([WRONG] * FAILURES)
    run_record(envelope(), DOCUMENT, model)
    return [_size(request) for request in model.requests]


def sizes_of_conversation() -> list[int]:
    """The same failures answered the other way: what was said before is said again each time."""
    model = Scripted([WRONG] * FAILURES)
    run_record(envelope(), DOCUMENT, model)
    messages = list(model.requests[0].messages)
    sizes = []
    for _ in range(FAILURES):
        sizes.append(_size(Request("default", tuple(messages), 200)))
        messages += [Message("assistant", WRONG), Message("user", COMPLAINT)]
    return sizes


def _size(request: Request) -> int:
    return len(json.dumps([[m.role, m.content] for m in request.messages], ensure_ascii=False).encode())


SHOWN = (1, 2, 3, 5, 10, 20, 50)


def table(flat: list[int], growing: list[int]) -> list[str]:
    rows = [f"| {n} | {flat[n - 1]:,} | {growing[n - 1]:,} | {growing[n - 1] / flat[n - 1]:.1f} |" for n in SHOWN]
    return ["| attempt | this controller, bytes | conversation, bytes | ratio |", "| ---: | ---: | ---: | ---: |", *rows]


def svg(flat: list[int], growing: list[int]) -> str:
    """Both curves in one drawing of 480 by 200, with their ends labelled."""
    width, height, left, bottom = 480, 200, 52, 24
    top = max(growing)

    def points(sizes: list[int]) -> str:
        across = (width - left - 90) / (FAILURES - 1)
        return " ".join(
            f"{left + n * across:.1f},{height - bottom - size / top * (height - bottom - 14):.1f}"
            for n, size in enumerate(sizes)
        )

    def label(sizes: list[int], words: str) -> str:
        y = height - bottom - sizes[-1] / top * (height - bottom - 14)
        return f'<text x="{width - 84}" y="{y + 4:.1f}">{words}</text>'

    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
            ' font-family="sans-serif" font-size="11">',
            "<title>Bytes of the prompt over 50 identical failures</title>",
            f'<path d="M{left} 10V{height - bottom}H{width - 90}" fill="none" stroke="#8a8578"/>',
            f'<polyline points="{points(growing)}" fill="none" stroke="#a3512b" stroke-width="2" stroke-dasharray="5 3"/>',
            f'<polyline points="{points(flat)}" fill="none" stroke="#1f5f5b" stroke-width="2"/>',
            label(growing, "conversation"),
            label(flat, "controller"),
            f'<text x="{left - 6}" y="18" text-anchor="end">{top:,}</text>',
            f'<text x="{left - 6}" y="{height - bottom}" text-anchor="end">0</text>',
            f'<text x="{left}" y="{height - 8}">attempt 1</text>',
            f'<text x="{width - 90}" y="{height - 8}" text-anchor="end">{FAILURES}</text>',
            "</svg>",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Prompt length over identical failures, two ways of trying again.")
    parser.add_argument("--svg", type=Path, help="draw both curves into this file")
    options = parser.parse_args()
    flat, growing = sizes_of_controller(), sizes_of_conversation()
    print("\n".join(table(flat, growing)))
    if options.svg:
        options.svg.write_text(svg(flat, growing) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
