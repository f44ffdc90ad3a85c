"""Everything that is done to samples, in one place to look: each act is one transaction with its audit entry."""

from __future__ import annotations

from reviewapp.samples.claims import LeaseGone, claim_next
from reviewapp.samples.drawing import change_rate, close_batch, open_draw, take_in
from reviewapp.samples.gold import seed_gold
from reviewapp.samples.grading import (
    ask_for_correction,
    decide_correction,
    save_draft,
    skip_task,
    submit_grade,
    undo_last,
)

__all__ = [
    "LeaseGone",
    "ask_for_correction",
    "change_rate",
    "claim_next",
    "close_batch",
    "decide_correction",
    "open_draw",
    "save_draft",
    "seed_gold",
    "skip_task",
    "submit_grade",
    "take_in",
    "undo_last",
]
