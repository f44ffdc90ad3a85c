from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from controller import draw
from controller.draw import PPM, Plan, Stratum
from reviewapp.accounts.models import Role
from reviewapp.audit.models import Entry
from reviewapp.batches.actions import NotAllowed, change_rate, close_batch
from reviewapp.batches.models import Batch
from reviewapp.samples import drawing
from reviewapp.samples.models import Accepted, BatchSeed, Epoch, Sample, Task
from reviewapp.samples.verification import NotDisclosed, verify_sample
from tests.reviewapp.factories import approved, batch, person
from tests.reviewapp.samples.ended import end, ready

pytestmark = pytest.mark.django_db

SAMPLING = {"rate": 0.2, "min_per_stratum": 4, "strata": {"fallback": 3, "retried": 2, "low_judge": 2}, "double": 0.3}
ENDINGS = [{}, {"attempts": 2}, {"fallback": "parser"}, {"votes": ("pass:+a,-b",)}, {"accepted": False}]


def made(count: int, **sampling: object) -> Batch:
    version = approved(sampling={**SAMPLING, **sampling})
    return batch(version, {f"r{i}": f"Total {i}.00" for i in range(count)})


def ended(count: int, **sampling: object) -> Batch:
    found = made(count, **sampling)
    for number, run in enumerate(ready(found)):
        end(run, **ENDINGS[number % len(ENDINGS)])
    return found


def test_commits_before_first_record() -> None:
    found = made(2)
    after = json.loads(Entry.objects.get(action="batch opened").after)
    seed, plan = drawing.seed_of(found.pk), json.loads(Epoch.objects.get(batch=found).plan)
    assert after["sampling_commitment"] == draw.commitment(seed, plan) == BatchSeed.objects.get(batch=found).commitment
    assert after["sampling_plan"] == plan
    assert plan["strata"] == {"fallback": 600_000, "retried": 400_000, "low_judge": 400_000, "rest": 200_000}


def test_seed_never_lies_open() -> None:
    found = made(1)
    seed = drawing.seed_of(found.pk)
    row = BatchSeed.objects.get(batch=found)
    assert bytes(seed).hex() not in row.sealed
    assert row.disclosed == ""
    assert not Entry.objects.filter(after__contains=bytes(seed).hex()).exists()


def test_strata_freeze_at_acceptance() -> None:
    found = ended(10)
    strata = list(Accepted.objects.filter(batch=found).order_by("run_id").values_list("stratum", flat=True))
    assert strata == ["rest", "retried", "fallback", "low_judge"] * 2


def test_draws_what_the_places_say() -> None:
    found = ended(60)
    seed, plans = drawing.seed_of(found.pk), drawing.plans_of(found.pk)
    expected = {
        item.record
        for item in drawing.frame_of(found.pk)
        if draw.decide(seed, str(found.pk), item, plans[item.epoch]) is not None
    }
    assert set(Sample.objects.filter(batch=found).values_list("run__record__key", flat=True)) == expected
    assert 0 < len(expected) < 48


def test_double_graded_have_two_seats() -> None:
    found = ended(60)
    seed, plan = drawing.seed_of(found.pk), drawing.plans_of(found.pk)[0]
    for sample in Sample.objects.filter(batch=found).select_related("run__record"):
        twice = draw.is_double_graded(seed, str(found.pk), sample.run.record.key, plan)
        assert sample.seats == sample.tasks.count() == (2 if twice else 1)


def test_never_rolls_twice() -> None:
    found = ended(5)
    run = Accepted.objects.filter(batch=found).first().run
    run.replay = 1  # a later run of a record whose first one is in the frame
    before = Sample.objects.count()
    assert drawing.take_in(run, used_fallback=True, attempts=9, judged_low=True, now=run.ended_at) is None
    assert (Accepted.objects.filter(record=run.record).count(), Sample.objects.count()) == (1, before)


def test_dead_letters_stay_outside() -> None:
    found = ended(5)
    assert not Accepted.objects.filter(batch=found, run__status="dead_lettered").exists()


def test_rate_change_starts_epoch() -> None:
    owner = person("owner", Role.OWNER)
    found = made(40)
    runs = ready(found)
    for run in runs[:20]:
        end(run)
    before = set(Sample.objects.values_list("pk", "place", "epoch"))
    change_rate(found, 1_000_000, by=owner, why="a new supplier")
    for run in runs[20:]:
        end(run)
    assert before <= set(Sample.objects.values_list("pk", "place", "epoch"))
    assert Sample.objects.filter(batch=found, epoch=1).count() == 20
    logged = json.loads(Entry.objects.get(action="sampling rate changed").after)
    assert (logged["epoch"], logged["sampling_plan"]["base_ppm"]) == (1, 1_000_000)


@pytest.mark.parametrize(("ppm", "why"), [(199_999, "less work"), (1_000_001, "more"), (300_000, " "), (200_000, "same")])
def test_refuses_other_rates(ppm: int, why: str) -> None:
    with pytest.raises(NotAllowed):
        change_rate(made(1), ppm, by=person("owner", Role.OWNER), why=why)


def test_closing_waits_for_runs() -> None:
    with pytest.raises(NotAllowed, match="not ended"):
        close_batch(made(1), by=person("manager", Role.MANAGER))


def test_closing_tops_up_and_discloses() -> None:
    found = ended(40, rate=0.0)
    assert not Sample.objects.exists()
    seed = drawing.seed_of(found.pk)
    close_batch(found, by=person("manager", Role.MANAGER))
    for stratum in Stratum:
        keys = Accepted.objects.filter(stratum=stratum).values_list("record__key", flat=True)
        smallest = sorted(keys, key=lambda key: draw.u(seed, "sample", str(found.pk), key))[:4]
        assert set(Sample.objects.filter(stratum=stratum).values_list("run__record__key", flat=True)) == set(smallest)
    assert Sample.objects.filter(topped_up=True, in_base=False).count() == 16
    assert json.loads(Entry.objects.get(action="batch closed").after)["sampling_seed"] == bytes(seed).hex()


def test_verifies_a_clean_draw() -> None:
    found = ended(50)
    change_rate(found, 500_000, by=person("owner", Role.OWNER), why="look closer")
    with pytest.raises(NotDisclosed):
        verify_sample(found)
    close_batch(found, by=person("manager", Role.MANAGER))
    out = StringIO()
    call_command("verify_sample", str(found.pk), stdout=out)
    assert f"of {Accepted.objects.filter(batch=found).count()} accepted records" in out.getvalue()


TAMPERED = {
    "a sample taken away": ("DELETE FROM samples_sample WHERE run_id = %s", "belongs into the sample"),
    "another stratum": ("UPDATE samples_accepted SET stratum = 'low_judge' WHERE run_id = %s", "stratum"),
    "another rate": ("UPDATE samples_sample SET rate_ppm = 7 WHERE run_id = %s", "another place"),
    "an output out of the frame": ("DELETE FROM samples_accepted WHERE run_id = %s", "not in the frame"),
    "another plan": ("UPDATE samples_epoch SET plan = replace(plan, '200000', '100000') WHERE %s > 0", "stored sampling plans"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_names_a_tampered_draw(how: str, lifted: None) -> None:
    found = ended(50)
    close_batch(found, by=person("manager", Role.MANAGER))
    run = Sample.objects.filter(batch=found, stratum="retried").first().pk
    Task.objects.filter(run_id=run).delete()
    statement, problem = TAMPERED[how]
    with connection.cursor() as cursor:
        cursor.execute(statement, [run])
    assert any(problem in line for line in verify_sample(found).problems)
    with pytest.raises(CommandError):
        call_command("verify_sample", str(found.pk), stderr=StringIO())


@pytest.fixture
def lifted() -> None:
    """Somebody with the database's own powers: the guards are gone for this test."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
        else:
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE '%_fts%'")
            for (name,) in cursor.fetchall():
                cursor.execute(f'DROP TRIGGER "{name}"')
    yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = DEFAULT")


@pytest.mark.parametrize(
    ("model", "change"),
    [(Sample, {"place": 1}), (Sample, {"stratum": "rest"}), (Accepted, {"stratum": "rest"}), (Epoch, {"plan": "{}"})],
)
def test_database_refuses_another_roll(model: type, change: dict[str, object]) -> None:
    ended(60)
    with pytest.raises(DatabaseError), transaction.atomic():
        model.objects.update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        model.objects.all()._raw_delete(model.objects.db)


class TheDraw(TestCase):
    @settings(max_examples=12)
    @given(st.lists(st.sampled_from(range(len(ENDINGS))), max_size=25), st.randoms(use_true_random=False))
    def test_order_of_acceptance_changes_nothing(self, kinds: list[int], random: object) -> None:
        """Whatever the order in which runs end, the closed batch's sample is what the seed says."""
        found = made(len(kinds) or 1)
        pairs = list(zip(ready(found), kinds or [0], strict=True))
        random.shuffle(pairs)  # type: ignore[attr-defined]
        for run, kind in pairs:
            end(run, **ENDINGS[kind])
        close_batch(found, by=person("manager", Role.MANAGER))
        assert verify_sample(found).problems == ()


def test_plan_survives_its_json() -> None:
    plan = Plan.of(50_000, {Stratum.FALLBACK: 3}, minimum=2, double_ppm=PPM)
    assert drawing.plan_from(draw.canonical_json(plan.as_json())) == plan
