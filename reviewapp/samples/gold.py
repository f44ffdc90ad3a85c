"""Gold items: outputs with a known answer, put among the others unmarked, to learn how graders err.

A known-wrong item is a right output with one value replaced by another one that stands in the same document, so that neither
the checks nor the lit evidence give it away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import simplejson
from django.db import transaction
from django.utils import timezone

from controller import draw, strict_json
from controller.draw import Purpose
from controller.report import JSON
from reviewapp.accounts.models import User
from reviewapp.audit.actions import append
from reviewapp.envelopes.models import Envelope
from reviewapp.runs import values
from reviewapp.samples import drawing, judging
from reviewapp.samples.models import HALF, GoldItem, Sample, SampleStatus, Task, Verdict

_NUMBER = re.compile(r"\d[\d.,]*\d|\d")


def altered(document: str, value_text: str) -> Iterator[tuple[str, str, str]]:
    """(pointer, what it said, the whole value as JSON) for every way to put another number of the document into one field."""
    numbers = list(dict.fromkeys(_NUMBER.findall(document)))
    for row in values.rows(value_text) or []:
        value = strict_json.parse(value_text)
        place, key = _parent(value, row.pointer)
        old = place[key]  # type: ignore[index]
        if not isinstance(old, str) or not _NUMBER.fullmatch(old):
            continue
        for other in numbers:
            if other != old and _shape(other) == _shape(old):
                place[key] = other  # type: ignore[index]
                yield row.pointer, old, simplejson.dumps(value, use_decimal=True, separators=(",", ":"), ensure_ascii=False)


def _shape(number: str) -> str:
    """How the end of a number is written: an amount is replaced by an amount, not by a telephone number."""
    return re.sub(r"\d", "0", number[-3:])


def _parent(value: JSON, pointer: str) -> tuple[JSON, str | int]:
    *path, last = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    for step in path:
        value = value[int(step)] if isinstance(value, list) else value[step]  # type: ignore[index,call-overload]
    return value, int(last) if isinstance(value, list) else last


@transaction.atomic
def seed_gold(envelope: Envelope, *, wrong: int, right: int, by: User | None) -> dict[str, int]:
    """Puts up to so many known-wrong and known-right items into the queue; how many there were right outputs for.

    They come from outputs that people found right, chosen by the draw's own independent hash. Whoever graded one of these
    outputs never gets the item made of it.
    """
    used = GoldItem.objects.filter(envelope=envelope).values("run_id")
    rows = Sample.objects.filter(envelope=envelope, status=SampleStatus.SETTLED, verdict=Verdict.RIGHT).exclude(pk__in=used)
    found = list(rows.select_related("run__record__payload", "run__outcome", "version"))
    found.sort(key=lambda s: draw.u(drawing.seed_of(s.batch_id), Purpose.GOLD, str(s.batch_id), s.run.record.key))
    made = {"wrong": 0, "right": 0}
    for sample in found:
        if made["wrong"] < wrong and (item := _altered_item(sample, by)) is not None:
            _queue(item, sample)
            made["wrong"] += 1
        elif made["right"] < right:
            item = GoldItem.objects.create(
                run=sample.run,
                envelope=envelope,
                value=sample.run.outcome.value,
                answer="right",
                created_by=by,
                created_at=timezone.now(),
            )
            _queue(item, sample)
            made["right"] += 1
    append("gold items seeded", "envelope", envelope.slug, by=by, after=made)
    return made


def _altered_item(sample: Sample, by: User | None) -> GoldItem | None:
    document = sample.run.record.payload.document
    for pointer, truth, value in altered(document, sample.run.outcome.value):
        if judging.report(sample.version, document, value).passed:
            return GoldItem.objects.create(
                run=sample.run,
                envelope_id=sample.envelope_id,
                value=value,
                answer="wrong",
                altered=pointer,
                truth=truth,
                created_by=by,
                created_at=timezone.now(),
            )
    return None


def _queue(item: GoldItem, sample: Sample) -> None:
    """At a place of its own in the order, drawn like the others."""
    seed, batch = drawing.seed_of(sample.batch_id), str(sample.batch_id)
    order = draw.u(seed, Purpose.GOLD, batch, f"{sample.run.record.key}/order/{item.pk}")
    Task.objects.create(
        gold=item, run=sample.run, envelope_id=item.envelope_id, order_place=order - HALF, created_at=timezone.now()
    )
