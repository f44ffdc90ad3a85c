"""Recomputing the draw of a closed batch from what the audit log says, so that no table has to be believed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from controller import draw
from controller.draw import Plan, Seed, Stratum
from controller.machine import RunStatus
from reviewapp.audit.models import Entry
from reviewapp.batches.models import Batch
from reviewapp.runs.models import Run
from reviewapp.samples import drawing
from reviewapp.samples.models import HALF, Accepted, Sample


@dataclass(frozen=True, slots=True)
class Verified:
    """What was recomputed, and every sentence that does not hold. ``accepted`` and ``sampled`` are counts."""

    accepted: int
    sampled: int
    problems: tuple[str, ...]


class NotDisclosed(Exception):
    """The batch is still open: its seed is secret until it is closed."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What the log says about one batch's draw."""

    seed: Seed
    commitments: dict[int, str]
    plans: dict[int, Plan]


def logged(batch: Batch) -> Logged:
    """From the audit log alone. ``NotDisclosed`` where it has no seed yet."""
    seed: str = ""
    commitments: dict[int, str] = {}
    plans: dict[int, Plan] = {}
    for entry in Entry.objects.filter(subject="batch", subject_id=str(batch.pk)).exclude(after="").order_by("id"):
        after = json.loads(entry.after)
        if "sampling_plan" in after:
            epoch = after.get("epoch", 0)
            plans[epoch] = drawing.plan_from(json.dumps(after["sampling_plan"]))
            commitments[epoch] = after["sampling_commitment"]
        seed = after.get("sampling_seed", seed)
    if not seed:
        raise NotDisclosed("the seed is disclosed when the batch is closed")
    return Logged(draw.seed(bytes.fromhex(seed)), commitments, plans)


def verify_sample(batch: Batch) -> Verified:
    """Commitments, frame, strata, every place, and the sample itself: all recomputed, each difference named."""
    log = logged(batch)
    problems = [
        f"the commitment of epoch {epoch} does not fit the disclosed seed and plan"
        for epoch, plan in sorted(log.plans.items())
        if draw.commitment(log.seed, plan.as_json()) != log.commitments[epoch]
    ]
    if drawing.plans_of(batch.pk) != log.plans:
        problems.append("the stored sampling plans are not those in the audit log")
    problems += _frame_problems(batch)
    frame = drawing.frame_of(batch.pk)
    unplanned = sorted({item.epoch for item in frame} - log.plans.keys())
    if unplanned:
        return Verified(len(frame), 0, (*problems, f"outputs lie in epoch {unplanned[0]}, which the log does not know"))
    expected = {drawn.record: drawn for drawn in draw.draw(log.seed, str(batch.pk), frame, log.plans)}
    stored = {row.run.record.key: row for row in Sample.objects.filter(batch=batch).select_related("run__record")}
    problems += [f"record {key} belongs into the sample and is not there" for key in sorted(expected.keys() - stored.keys())]
    problems += [f"record {key} is in the sample and does not belong there" for key in sorted(stored.keys() - expected.keys())]
    for key in sorted(expected.keys() & stored.keys()):
        problems += _row_problems(key, expected[key], stored[key], log, str(batch.pk))
    return Verified(len(frame), len(stored), tuple(problems))


def _frame_problems(batch: Batch) -> list[str]:
    """Every accepted run is in the frame, nothing else is, and each in the stratum that its run belongs to."""
    framed = dict(Accepted.objects.filter(batch=batch).values_list("run_id", "stratum"))
    runs = Run.objects.filter(batch=batch, status=RunStatus.ACCEPTED).values_list("pk", "fallback", "attempts", "record__key")
    problems = []
    for pk, fallback, attempts, key in runs.iterator(chunk_size=5_000):
        stratum = framed.pop(pk, None)
        least = draw.stratum_of(used_fallback=bool(fallback), attempts=attempts, judged_low=False)
        if stratum is None:
            problems.append(f"the accepted record {key} is not in the frame")
        elif stratum != least and not (least is Stratum.REST and stratum == Stratum.LOW_JUDGE):
            problems.append(f"record {key} lies in the stratum {stratum}, its run in {least}")
    return problems + [f"run {pk} is in the frame and was not accepted" for pk in sorted(framed)]


def _row_problems(key: str, drawn: draw.Drawn, row: Sample, log: Logged, batch: str) -> list[str]:
    plan = log.plans[drawn.epoch]
    seats = 2 if draw.is_double_graded(log.seed, batch, key, plan) else 1
    said = (row.place + HALF, row.stratum, row.epoch, row.rate_ppm, row.in_base, row.topped_up, row.seats)
    meant = (drawn.place, drawn.stratum.value, drawn.epoch, drawn.rate_ppm, drawn.in_base, drawn.topped_up, seats)
    return [] if said == meant else [f"record {key} is stored with another place, stratum, rate or number of graders"]
