"""Whether the shown rate is true on real outputs: ``python -m benchmarks.real_rates [--data FOLDER] [REPLIES.jsonl …]``.

Recorded replies run under the loose envelope, which judges their form alone, through queue, executor and database. Half of
what was accepted is sampled and graded by the reference values; the rest stays ungraded, and the references say what was
really wrong in all of it. Character for character: that is stricter than a person would be with names.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.real_input import DATA, ENVELOPES, markdown, replay, replies_of
from benchmarks.scratch import installation

REPLIES = ("tuned_v1.jsonl", "tuned_v2.jsonl")
SAMPLING = "\nsampling: {rate: 0.5, min_per_stratum: 10, double: 0.2}\n"


def column(source: str, documents: Path, replies: Path, folder: Path) -> list[str]:
    """Accepted, graded, what the page says and what is true: for whole outputs, and for the total alone."""
    from controller.intervals import Interval
    from controller.rates import Rate
    from reviewapp.batches.actions import close_batch
    from reviewapp.insights import figures
    from reviewapp.insights.figures import Scope
    from reviewapp.insights.page import span
    from reviewapp.samples.models import Accepted
    from reviewapp.samples.reference import grade_by_reference, graders, marks_by, truth_in

    batch = replay(source, documents, replies_of(replies), folder, name=replies.stem)
    grade_by_reference()
    batch = close_batch(batch, by=graders()[0])
    grade_by_reference()
    scope = Scope(batch.version.envelope_id, batch_id=batch.pk)
    rate = figures.line(batch.name, figures.sample_rows(scope), 0.1, closed=True).rate
    assert isinstance(rate, Rate)
    wrong, accepted = truth_in(batch)
    total = next(found for found in figures.fields_of(scope, 0.1) if found.name == "/total")
    assert isinstance(total.interval, Interval)
    rows = Accepted.objects.filter(batch=batch).values_list("record__payload__reference", "run__outcome__value")
    wrong_totals = sum(marks_by(reference, value)["/total"]["mark"] == "wrong" for reference, value in rows)
    return [
        str(accepted),
        f"{rate.wrong} of {rate.graded}",
        span(rate.interval),
        f"{wrong} ({wrong / accepted:.1%})",
        str(rate.interval.contains(wrong / accepted)).lower(),
        f"{total.wrong} of {total.graded}",
        span(total.interval),
        f"{wrong_totals} ({wrong_totals / accepted:.1%})",
        str(total.interval.contains(wrong_totals / accepted)).lower(),
    ]


LABELS = (
    "accepted",
    "wrong of graded",
    "shown, 95 %",
    "in truth",
    "inside",
    "wrong totals of graded",
    "shown, 95 %",
    "in truth",
    "inside",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with sroie/ and replies/")
    parser.add_argument("replies", nargs="*", default=REPLIES, help=f"files of replies/ ({', '.join(REPLIES)})")
    options = parser.parse_args()
    documents = options.data / "sroie" / "test_open.jsonl"
    if not documents.is_file():
        parser.error(f"the receipts are not there: {documents}")
    source = (ENVELOPES / "sroie-loose.yaml").read_text(encoding="utf-8") + SAMPLING
    with installation() as folder:
        columns = {name: column(source, documents, options.data / "replies" / name, folder) for name in options.replies}
    rows = [(label, *(cells[place] for cells in columns.values())) for place, label in enumerate(LABELS)]
    print(markdown([("", *(Path(name).stem for name in columns)), *rows]))


if __name__ == "__main__":
    main()
