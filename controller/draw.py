"""Who is sampled: one keyed hash per record, compared in whole numbers, recomputable by anyone once the seed is disclosed.

A record has one u per purpose; a retry, a resume or a second acceptance does not roll again. The seed is committed to by
hash when the batch opens and disclosed when it closes. The domain strings are part of what old batches are verified by.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NewType

Seed = NewType("Seed", bytes)
"""32 random bytes, one per batch."""

PPM = 1_000_000
SEED_BYTES = 32
_DOMAIN = "silentfail/1"
_COMMIT_DOMAIN = b"silentfail/commit/1"


class Purpose(StrEnum):
    """Independent draws from one seed."""

    SAMPLE = "sample"
    DOUBLE = "double"
    GOLD = "gold"
    ORDER = "order"


class Stratum(StrEnum):
    """Fixed when a record is accepted, the first that fits."""

    FALLBACK = "fallback"
    RETRIED = "retried"
    LOW_JUDGE = "low_judge"
    REST = "rest"


def stratum_of(*, used_fallback: bool, attempts: int, judged_low: bool) -> Stratum:
    """The stratum of an accepted record."""
    if used_fallback:
        return Stratum.FALLBACK
    if attempts >= 2:
        return Stratum.RETRIED
    return Stratum.LOW_JUDGE if judged_low else Stratum.REST


def seed(value: bytes) -> Seed:
    """``ValueError`` unless 32 bytes."""
    if len(value) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes")
    return Seed(value)


def frame(*parts: str) -> bytes:
    """Each part with its UTF-8 length before it (4 bytes, big-endian), so that no two lists give the same bytes."""
    encoded = [part.encode() for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


def u(batch_seed: Seed, purpose: str, batch: str, record: str) -> int:
    """The record's place in 0 .. 2**64 - 1 for this purpose: the first 8 bytes of HMAC-SHA256."""
    digest = hmac.new(batch_seed, frame(_DOMAIN, purpose, batch, record), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big")


def is_selected(place: int, rate_ppm: int) -> bool:
    """Whether the place lies below the rate, in parts per million. Nested: a higher rate keeps everyone."""
    return place * PPM < rate_ppm << 64


def ppm(share: float | Decimal | str) -> int:
    """A share of 1 in whole parts per million. ``ValueError`` for what is not whole there, or outside 0..1."""
    parts = Decimal(str(share)) * PPM
    if parts != parts.to_integral_value() or not 0 <= parts <= PPM:
        raise ValueError("a rate is between 0 and 1, in steps of 0.000001")
    return int(parts)


def canonical_json(plan: object) -> str:
    """The plan's one text: sorted keys, no spaces, ASCII. Whole numbers and strings only, so that there is only one."""
    _check_whole(plan)
    return json.dumps(plan, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _check_whole(value: object) -> None:
    if isinstance(value, float):
        raise TypeError("a sampling plan holds no floats")
    children = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    for child in children:
        _check_whole(child)


def commitment(batch_seed: Seed, plan: object) -> str:
    """64 hex digits that fix seed and plan without telling the seed."""
    plan_hash = hashlib.sha256(canonical_json(plan).encode()).digest()
    return hashlib.sha256(_COMMIT_DOMAIN + hashlib.sha256(batch_seed).digest() + plan_hash).hexdigest()


@dataclass(frozen=True, slots=True)
class Plan:
    """Rates in parts per million per stratum. ``minimum`` is per cell, by top-up. Base sample: places below ``base_ppm``."""

    base_ppm: int
    strata: Mapping[Stratum, int]
    minimum: int = 10
    double_ppm: int = 200_000

    def __post_init__(self) -> None:
        rates = [self.base_ppm, self.double_ppm, *self.strata.values()]
        if any(not 0 <= rate <= PPM for rate in rates) or self.minimum < 0:
            raise ValueError("rates lie between 0 and 1,000,000 ppm, the minimum is not negative")
        if any(rate < self.base_ppm for rate in self.strata.values()):
            raise ValueError("no stratum is sampled below the base rate: the base sample must lie inside the sample")

    @classmethod
    def of(cls, base_ppm: int, multipliers: Mapping[Stratum, int], *, minimum: int = 10, double_ppm: int = 200_000) -> Plan:
        """Strata at a multiple of the base rate, at most everyone."""
        rates = {stratum: min(PPM, base_ppm * multipliers.get(stratum, 1)) for stratum in Stratum}
        return cls(base_ppm, rates, minimum, double_ppm)

    def rate(self, stratum: Stratum) -> int:
        return self.strata.get(stratum, self.base_ppm)

    def as_json(self) -> dict[str, object]:
        """What is committed to and logged."""
        return {
            "base_ppm": self.base_ppm,
            "double_ppm": self.double_ppm,
            "min_per_stratum": self.minimum,
            "strata": {stratum.value: self.rate(stratum) for stratum in Stratum},
        }


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted record as the draw sees it: stratum and epoch were frozen at acceptance."""

    record: str
    stratum: Stratum
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sampled record. ``rate_ppm`` is its design probability; ``topped_up`` says that the minimum brought it in."""

    record: str
    place: int
    stratum: Stratum
    epoch: int
    rate_ppm: int
    in_base: bool
    topped_up: bool


def decide(batch_seed: Seed, batch: str, accepted: Accepted, plan: Plan) -> Drawn | None:
    """At acceptance: sampled by the stratum's rate, or not (yet: a top-up may still come)."""
    place = u(batch_seed, Purpose.SAMPLE, batch, accepted.record)
    rate = plan.rate(accepted.stratum)
    return _drawn(accepted, place, plan, topped_up=False) if is_selected(place, rate) else None


def _drawn(accepted: Accepted, place: int, plan: Plan, *, topped_up: bool) -> Drawn:
    rate = plan.rate(accepted.stratum)
    in_base = is_selected(place, plan.base_ppm)
    return Drawn(accepted.record, place, accepted.stratum, accepted.epoch, rate, in_base, topped_up)


def smallest_places(places: Mapping[str, int], rate_ppm: int, minimum: int) -> list[str]:
    """The records of one cell that are in: everyone below the rate, and the next smallest up to the minimum.

    How many that is depends on the places alone, never on an outcome; so within the cell it is a simple random sample.
    """
    ordered = sorted(places, key=lambda record: (places[record], record))
    below = sum(1 for place in places.values() if is_selected(place, rate_ppm))
    return ordered[: max(below, min(minimum, len(ordered)))]


def draw(batch_seed: Seed, batch: str, accepted: Iterable[Accepted], plans: Mapping[int, Plan]) -> tuple[Drawn, ...]:
    """The whole sample of a closed batch, top-ups included, ordered by epoch, stratum and place.

    ``plans`` gives the plan of each epoch. Top-up belongs to closing: the minimum is counted over the finished cell.
    """
    cells: dict[tuple[int, Stratum], dict[str, int]] = {}
    for item in accepted:
        place = u(batch_seed, Purpose.SAMPLE, batch, item.record)
        cells.setdefault((item.epoch, item.stratum), {})[item.record] = place
    found: list[Drawn] = []
    for (epoch, stratum), places in sorted(cells.items()):
        plan = plans[epoch]
        rate = plan.rate(stratum)
        for record in smallest_places(places, rate, plan.minimum):
            place = places[record]
            found.append(_drawn(Accepted(record, stratum, epoch), place, plan, topped_up=not is_selected(place, rate)))
    return tuple(found)


def is_double_graded(batch_seed: Seed, batch: str, record: str, plan: Plan) -> bool:
    """Whether a sampled record goes to a second, blind grader."""
    return is_selected(u(batch_seed, Purpose.DOUBLE, batch, record), plan.double_ppm)


def order_key(batch_seed: Seed, batch: str, record: str) -> tuple[int, str]:
    """Graders take the smallest first, so that what is graded so far is itself a random sample."""
    return u(batch_seed, Purpose.ORDER, batch, record), record


def grading_order(batch_seed: Seed, batch: str, records: Iterable[str]) -> list[str]:
    """The queue of one batch."""
    return sorted(records, key=lambda record: order_key(batch_seed, batch, record))


@dataclass(frozen=True, slots=True)
class Audit:
    """What recomputing the draw found. ``missing`` should have been sampled and were not; ``extra`` the other way round."""

    commitment_holds: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        return self.commitment_holds and not self.missing and not self.extra


def audit(
    disclosed: Seed,
    committed: str,
    batch: str,
    accepted: Iterable[Accepted],
    plans: Mapping[int, Plan],
    sampled: Iterable[str],
) -> Audit:
    """Recompute the draw of a closed batch from its disclosed seed. The commitment is over the plan of epoch 0."""
    expected = {item.record for item in draw(disclosed, batch, accepted, plans)}
    present = set(sampled)
    holds = hmac.compare_digest(commitment(disclosed, plans[0].as_json()), committed)
    return Audit(holds, tuple(sorted(expected - present)), tuple(sorted(present - expected)))
