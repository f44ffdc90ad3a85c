"""The draw over rows: opened with the batch, decided at each acceptance, topped up and disclosed at closing, verified after.

Decisions are ``controller.draw``'s; here they are stored, once, in the transaction of what they belong to.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.utils import timezone

from controller import draw
from controller.draw import PPM, Plan, Purpose, Seed, Stratum
from reviewapp import statements
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.batches.models import Batch, BatchStatus
from reviewapp.batches.pausing import NotAllowed
from reviewapp.batches.rules import rules_of
from reviewapp.insights import tallies
from reviewapp.runs.models import LIVE, Run
from reviewapp.samples import seeds
from reviewapp.samples.models import HALF, Accepted, BatchSeed, Epoch, Sample, Task

CHUNK = 500


def open_draw(batch: Batch, now: datetime) -> dict[str, Any]:
    """Makes and seals the batch's seed. What it returns belongs into the audit log: the commitment, and the plan it covers."""
    seed = draw.seed(secrets.token_bytes(draw.SEED_BYTES))
    plan = rules_of(batch.version).plan.as_json()
    committed = draw.commitment(seed, plan)
    BatchSeed.objects.create(batch=batch, sealed=seeds.seal(seed), commitment=committed, opened_at=now)
    Epoch.objects.create(batch=batch, number=0, plan=draw.canonical_json(plan), began_at=now)
    return {"sampling_commitment": committed, "sampling_plan": plan}


@lru_cache(maxsize=256)
def plan_from(text: str) -> Plan:
    """A stored plan."""
    data = json.loads(text)
    strata = {Stratum(name): rate for name, rate in data["strata"].items()}
    return Plan(data["base_ppm"], strata, data["min_per_stratum"], data["double_ppm"])


def seed_of(batch_id: int) -> Seed:
    """The batch's seed, opened. ``SeedUnreadable`` where the key does not fit."""
    found = statements.first(BatchSeed, ("sealed",), {"batch_id": batch_id})
    if found is None:
        raise BatchSeed.DoesNotExist(f"batch {batch_id} has no seed")
    return seeds.unseal(found[0])


def take_in(run: Run, *, used_fallback: bool, attempts: int, judged_low: bool, now: datetime) -> Sample | None:
    """An accepted output enters the frame of its batch's draw, and the sample where its place says so.

    In the caller's transaction. A record that is in the frame already stays as it was: nothing is rolled twice.
    """
    if run.replay and statements.first(Accepted, ("run_id",), {"record_id": run.record_id}) is not None:
        return None
    found = statements.first(Epoch, ("number", "plan"), {"batch_id": run.batch_id}, order="-number")
    if found is None:
        epoch = _late_opening(run.batch, now)
        found = epoch.number, epoch.plan
    number, plan = found[0], plan_from(found[1])
    stratum = draw.stratum_of(used_fallback=used_fallback, attempts=attempts, judged_low=judged_low)
    values = {"batch_id": run.batch_id, "version_id": run.version_id, "epoch": number, "stratum": stratum.value, "at": now}
    statements.insert(Accepted, run_id=run.pk, record_id=run.record_id, **values)
    tallies.accepted(run, number, stratum.value, plan.rate(stratum), now)
    drawn = draw.decide(seed_of(run.batch_id), str(run.batch_id), draw.Accepted(run.record.key, stratum, number), plan)
    if drawn is None:
        return None
    return _store([(Accepted(run=run, record_id=run.record_id, **values), run, drawn)], plan, now)[0]


def _late_opening(batch: Batch, now: datetime) -> Epoch:
    """A batch from before there were samples: its draw opens, on the record, before its first acceptance is drawn."""
    append("draw opened", "batch", batch.pk, by=None, after=open_draw(batch, now))
    return Epoch.objects.get(batch=batch, number=0)


def _store(found: Iterable[tuple[Accepted, Run, draw.Drawn]], plan: Plan, now: datetime) -> list[Sample]:
    """Rows for drawn outputs: the sample, and its seats in the grading queue in the committed order."""
    samples, tasks = [], []
    for accepted, run, drawn in found:
        seed, batch = seed_of(accepted.batch_id), str(accepted.batch_id)
        seats = 2 if draw.is_double_graded(seed, batch, drawn.record, plan) else 1
        order = draw.u(seed, Purpose.ORDER, batch, drawn.record)
        sample = Sample(
            run=run,
            batch_id=accepted.batch_id,
            version_id=accepted.version_id,
            envelope_id=run.version.envelope_id,
            epoch=drawn.epoch,
            stratum=drawn.stratum.value,
            place=drawn.place - HALF,
            rate_ppm=drawn.rate_ppm,
            in_base=drawn.in_base,
            topped_up=drawn.topped_up,
            seats=seats,
            accepted_at=accepted.at,
            drawn_at=now,
        )
        samples.append(sample)
        tasks += [
            Task(
                sample=sample,
                run=run,
                envelope_id=sample.envelope_id,
                seat=seat,
                order_place=order - HALF,
                created_at=now,
            )
            for seat in range(1, seats + 1)
        ]
        tallies.sampled(sample)
    Sample.objects.bulk_create(samples)
    Task.objects.bulk_create(tasks)
    return samples


@transaction.atomic
def change_rate(batch: Batch, base_ppm: int, *, by: User, why: str) -> Epoch:
    """From now on the batch is sampled at a higher base rate, strata at the same multiples. What was drawn stays drawn.

    Never below what was signed. A new epoch begins; its commitment is over the same seed and the new plan.
    """
    batch = Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("version").get(pk=batch.pk)
    if batch.status == BatchStatus.CLOSED:
        raise NotAllowed("the batch is closed")
    if not why.strip():
        raise NotAllowed("a reason is needed")
    signed = rules_of(batch.version).plan
    if not signed.base_ppm <= base_ppm <= PPM:
        raise NotAllowed(f"the rate is at least the signed {signed.base_ppm / PPM:.2%} and at most 100 %")
    last = Epoch.objects.filter(batch=batch).order_by("-number").first()
    if last is None:
        last = _late_opening(batch, timezone.now())
    before = plan_from(last.plan)
    multiples = {stratum: round(signed.rate(stratum) / signed.base_ppm) if signed.base_ppm else 1 for stratum in Stratum}
    plan = Plan.of(base_ppm, multiples, minimum=before.minimum, double_ppm=before.double_ppm)
    if plan == before:
        raise NotAllowed("that is the rate already")
    now = timezone.now()
    epoch = Epoch.objects.create(batch=batch, number=last.number + 1, plan=draw.canonical_json(plan.as_json()), began_at=now)
    append(
        "sampling rate changed",
        "batch",
        batch.pk,
        by=by,
        before={"epoch": last.number, "sampling_plan": before.as_json()},
        after={
            "epoch": epoch.number,
            "sampling_plan": plan.as_json(),
            "sampling_commitment": draw.commitment(seed_of(batch.pk), plan.as_json()),
        },
        reason=why,
    )
    return epoch


@transaction.atomic
def close_batch(batch: Batch, *, by: User) -> Batch:
    """Every run has ended: cells below their minimum get their next smallest places, and the seed is disclosed in the log."""
    batch = Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("version__envelope").get(pk=batch.pk)
    if batch.status == BatchStatus.CLOSED:
        raise NotAllowed("the batch is closed already")
    live = Run.objects.filter(batch=batch, status__in=LIVE).count()
    if live:
        raise NotAllowed(f"{live} run{'s have' if live > 1 else ' has'} not ended yet")
    now = timezone.now()
    if not Epoch.objects.filter(batch=batch).exists():
        _late_opening(batch, now)
    topped_up = _top_up(batch, now)
    seed = seed_of(batch.pk)
    BatchSeed.objects.filter(pk=batch.pk).update(disclosed=bytes(seed).hex(), disclosed_at=now)
    before = {"status": batch.status}
    batch.status, batch.paused_at, batch.paused_why = BatchStatus.CLOSED, None, ""
    batch.save(update_fields=["status", "paused_at", "paused_why"])
    after = {"status": "closed", "sampling_seed": bytes(seed).hex(), "topped_up": topped_up}
    append("batch closed", "batch", batch.pk, by=by, before=before, after=after)
    return batch


def plans_of(batch_id: int) -> dict[int, Plan]:
    """The plan of each epoch as stored."""
    return {epoch.number: plan_from(epoch.plan) for epoch in Epoch.objects.filter(batch_id=batch_id)}


def frame_of(batch_id: int) -> list[draw.Accepted]:
    """Every accepted record of the batch as the draw sees it."""
    rows = Accepted.objects.filter(batch_id=batch_id).values_list("record__key", "stratum", "epoch")
    return [draw.Accepted(key, Stratum(stratum), epoch) for key, stratum, epoch in rows.iterator(chunk_size=5_000)]


def _top_up(batch: Batch, now: datetime) -> int:
    plans: Mapping[int, Plan] = plans_of(batch.pk)
    whole = draw.draw(seed_of(batch.pk), str(batch.pk), frame_of(batch.pk), plans)
    missing = {drawn.record: drawn for drawn in whole if drawn.topped_up}
    keys = sorted(missing)
    for start in range(0, len(keys), CHUNK):
        rows = Accepted.objects.filter(batch=batch, record__key__in=keys[start : start + CHUNK])
        for accepted in rows.select_related("run__version", "record"):
            drawn = missing[accepted.record.key]
            _store([(accepted, accepted.run, drawn)], plans[drawn.epoch], now)
    return len(missing)
