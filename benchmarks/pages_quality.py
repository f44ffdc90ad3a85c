"""How fast grading and the quality page answer at size: ``python -m benchmarks.pages_quality [--accepted N] [--samples M]``.

Rows are written in bulk into an installation of its own, the kept counts told from them; then each request is made over the
whole stack of the web app, without a network, and the 95th percentile printed. The default is small; the promise is for
``--accepted 1000000 --samples 50000``.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.scratch import installation, signed

ENVELOPE = Path(__file__).resolve().parent.parent / "examples" / "envelopes" / "receipt-fields.v1.yaml"
DOCUMENTS = Path(__file__).resolve().parent.parent / "examples" / "documents" / "receipts.jsonl"
BATCHES = 20
CHUNK = 5_000
RATES = {"rest": 200_000, "retried": 400_000, "fallback": 600_000, "low_judge": 400_000}
"""As the envelope signs them, in parts per million."""

STRATA = ("rest",) * 17 + ("retried", "fallback", "low_judge")


def seed(accepted: int, samples: int, chance: random.Random) -> Any:
    """So many accepted outputs over twenty batches and ten weeks, so many of them sampled, three quarters of these graded."""
    from django.utils import timezone

    from reviewapp.accounts.models import Membership, Role, User
    from reviewapp.batches.models import Batch, Record, RecordPayload
    from reviewapp.insights.rebuild import rebuild
    from reviewapp.runs.models import Outcome, Run
    from reviewapp.samples.drawing import open_draw
    from reviewapp.samples.models import Accepted, Grade, Sample, Task

    version = signed(ENVELOPE.read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in DOCUMENTS.read_text(encoding="utf-8").splitlines()]
    grader = User.objects.create(username="bench-grader")
    for role in (Role.REVIEWER, Role.MANAGER):
        Membership.objects.create(user=grader, role=role)
    now, done = timezone.now(), User.objects.get(username="bench-owner")
    every = max(1, accepted // samples)
    made = 0
    for number in range(BATCHES):
        batch = Batch.objects.create(version=version, name=f"batch {number}")
        open_draw(batch, now)
        left = accepted // BATCHES
        while left > 0:
            size = min(CHUNK, left)
            left -= size
            at = [now - timedelta(days=chance.randrange(70)) for _ in range(size)]
            records = Record.objects.bulk_create(
                [Record(batch=batch, key=f"r{made + i}", document_sha256="0" * 64, document_bytes=1) for i in range(size)]
            )
            runs = Run.objects.bulk_create(
                [
                    Run(
                        record=r,
                        batch=batch,
                        version=version,
                        status="accepted",
                        state="{}",
                        attempts=1,
                        calls=1,
                        accepted_on=1,
                        ended_at=t,
                    )
                    for r, t in zip(records, at, strict=True)
                ]
            )
            strata = [chance.choice(STRATA) for _ in range(size)]
            Accepted.objects.bulk_create(
                [
                    Accepted(run=run, record=run.record, batch=batch, version=version, epoch=0, stratum=s, at=t)
                    for run, s, t in zip(runs, strata, at, strict=True)
                ]
            )
            chosen = [i for i in range(size) if (made + i) % every == 0]
            made += size
            RecordPayload.objects.bulk_create(
                [RecordPayload(record=records[i], document=rows[i % len(rows)]["document"], reference="{}") for i in chosen]
            )
            Outcome.objects.bulk_create(
                [
                    Outcome(
                        run=runs[i],
                        kind="accepted",
                        result="{}",
                        value=json.dumps(rows[i % len(rows)]["reference"]),
                        created_at=at[i],
                    )
                    for i in chosen
                ]
            )
            graded = [chance.random() < 0.75 for _ in chosen]
            verdicts = ["wrong" if chance.random() < 0.05 else "right" for _ in chosen]
            drawn = Sample.objects.bulk_create(
                [
                    Sample(
                        run=runs[i],
                        batch=batch,
                        version=version,
                        envelope_id=version.envelope_id,
                        epoch=0,
                        stratum=strata[i],
                        place=chance.randrange(-(2**63), 2**63),
                        rate_ppm=RATES[strata[i]],
                        in_base=strata[i] == "rest",
                        seats=1,
                        accepted_at=at[i],
                        drawn_at=at[i],
                        status="settled" if is_graded else "waiting",
                        verdict=verdict if is_graded else "",
                        settled_at=now if is_graded else None,
                    )
                    for i, is_graded, verdict in zip(chosen, graded, verdicts, strict=True)
                ]
            )
            tasks = Task.objects.bulk_create(
                [
                    Task(
                        sample=sample,
                        run_id=sample.pk,
                        envelope_id=version.envelope_id,
                        order_place=chance.randrange(-(2**63), 2**63),
                        is_open=not is_graded,
                        created_at=now,
                    )
                    for sample, is_graded in zip(drawn, graded, strict=True)
                ]
            )
            marks = json.dumps({"/total": {"mark": "right", "type": "", "value": ""}})
            Grade.objects.bulk_create(
                [
                    Grade(
                        task=task,
                        run_id=task.run_id,
                        grader=done,
                        status="done",
                        verdict=verdict,
                        marks=marks,
                        active_ms=20_000,
                        started_at=now,
                        touched_at=now,
                        done_at=now,
                    )
                    for task, is_graded, verdict in zip(tasks, graded, verdicts, strict=True)
                    if is_graded
                ]
            )
    rebuild()
    return grader


def p95(times: int, act: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds that 95 of 100 stay below: by the clock, and of this process's own work, which others do not slow."""
    clock, work = [], []
    for _ in range(times):
        began, worked = time.perf_counter(), time.process_time()
        act()
        clock.append((time.perf_counter() - began) * 1000)
        work.append((time.process_time() - worked) * 1000)
    place = int(0.95 * (times - 1))
    return sorted(clock)[place], sorted(work)[place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accepted", type=int, default=4_000)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--times", type=int, default=40, help="requests per page")
    options = parser.parse_args()
    with installation():
        from django.db import connection
        from django.test import Client

        from reviewapp.samples.models import Grade, Task

        grader = seed(options.accepted, options.samples, random.Random(6))  # noqa: S311 - a measurement
        client = Client()
        client.force_login(grader)

        def grade_next() -> None:
            Task.objects.filter(holder=grader).update(holder=None, lease_until=None)
            Grade.objects.filter(grader=grader).delete()
            place = client.post("/samples/next")["location"]
            assert client.get(place).status_code == 200

        def quality() -> None:
            assert client.get("/quality/of/receipt-fields").status_code == 200

        print(f"{options.accepted:,} accepted, {options.samples:,} sampled")
        for name, act in (("grade next: claim and page", grade_next), ("quality page", quality)):
            act()
            asked: list[str] = []
            with connection.execute_wrapper(lambda run, sql, *rest, kept=asked: (kept.append(sql), run(sql, *rest))[1]):
                act()
            clock, work = p95(options.times, act)
            print(f"{name}: p95 {clock:.0f} ms, {work:.0f} ms of work, {len(asked)} queries")


if __name__ == "__main__":
    main()
