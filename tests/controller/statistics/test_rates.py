import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.intervals import Method, NoData, Refused, closed_batch_upper, upper_limit, wilson
from controller.rates import Claim, Rate, Tally, claim_at_most, field_rates, live_rate, missing_band, rate
from controller.sequential import Light
from controller.stratified import Cell, estimate, upper

QUICK = settings(max_examples=60, deadline=None)


def tally(accepted: int, sampled: int, wrong: int, right: int, cannot_judge: int = 0, stratum: str = "rest") -> Tally:
    return Tally(stratum, accepted, sampled, wrong, right, cannot_judge)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    accepted = draw(st.integers(1, 500))
    graded = draw(st.integers(1, accepted))
    return Cell(accepted, graded, draw(st.integers(0, graded)))


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    accepted = draw(st.integers(0, 300))
    sampled = draw(st.integers(0, min(accepted, 60)))
    wrong = draw(st.integers(0, sampled))
    right = draw(st.integers(0, sampled - wrong))
    return Tally("a", accepted, sampled, wrong, right, draw(st.integers(0, sampled - wrong - right)))


@given(st.lists(cells(), min_size=1, max_size=5), st.booleans())
@QUICK
def test_stratified_interval_holds_its_point(found: list[Cell], exact: bool) -> None:
    result = estimate(found, exact=exact)
    assert 0 <= result.interval.low <= result.point <= result.interval.high <= 1
    assert result.point <= upper(found) <= 1


@given(cells())
@QUICK
def test_one_cell_is_plain_wilson(cell: Cell) -> None:
    assert estimate([cell]).interval == wilson(cell.wrong, cell.graded)
    assert upper([cell]) == pytest.approx(upper_limit(cell.wrong, cell.graded))


@given(st.lists(cells(), min_size=2, max_size=5))
@QUICK
def test_order_of_cells_does_not_matter(found: list[Cell]) -> None:
    one, other = estimate(found), estimate(found[::-1])
    assert (one.point, one.interval.low, one.interval.high) == pytest.approx(
        (other.point, other.interval.low, other.interval.high)
    )


def test_oversampling_does_not_inflate_the_rate() -> None:
    found = rate([tally(800, 30, 1, 29), tally(150, 20, 2, 18, stratum="retried"), tally(50, 10, 4, 6, stratum="fallback")])
    assert found.point == pytest.approx(0.061667, abs=1e-6)
    assert found.wrong / found.graded > 0.11


def test_ungraded_stratum_leaves_no_point() -> None:
    found = rate([tally(900, 40, 0, 40), tally(100, 5, 0, 0, stratum="fallback")])
    assert found.point is None
    assert found.ungraded_strata == ("fallback",)
    assert found.interval.high > 0.1
    assert found.text.startswith("between 0.0–")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], "nothing accepted yet"),
        ([tally(0, 0, 0, 0)], "nothing accepted yet"),
        ([tally(50, 0, 0, 0)], "nothing sampled yet"),
        ([tally(50, 5, 0, 0)], "nothing graded yet"),
        ([tally(50, 5, 0, 0, 5)], "nothing graded yet"),
    ],
)
def test_no_data_is_not_zero(found: list[Tally], reason: str) -> None:
    assert rate(found) == NoData(reason)


@given(st.lists(tallies(), min_size=1, max_size=4))
@QUICK
def test_band_holds_the_point(found: list[Tally]) -> None:
    shown = rate(found)
    if isinstance(shown, Rate):
        assert 0 <= shown.band.low <= shown.band.high <= 1
        assert 0 <= shown.interval.low <= shown.interval.high <= 1
        if shown.point is not None:
            assert shown.band.contains(shown.point)


def test_text_carries_counts_and_interval() -> None:
    found = rate([tally(300, 60, 3, 57)])
    assert found.text == "5.0 % (1.7–13.7 %): 3 wrong of 60 graded, 60 sampled of 300 accepted"


def test_band_shows_what_is_missing() -> None:
    found = rate([tally(300, 60, 3, 47)])
    assert (found.band.low, found.band.high) == pytest.approx((0.01715, 0.3362), abs=1e-5)
    assert found.band == missing_band(3, 50, 60)


def test_unjudged_are_listed_apart() -> None:
    found = rate([tally(300, 60, 3, 50, 7)])
    assert found.point == 3 / 53
    assert found.text.endswith("7 could not be judged")


def test_closed_batch_gets_whole_numbers() -> None:
    closed = rate([tally(300, 60, 3, 57)], is_closed=True).closed
    assert (closed.low, closed.high) == (4, 39)
    assert rate([tally(300, 60, 3, 57)]).closed is None
    assert rate([tally(300, 60, 3, 57), tally(20, 5, 0, 5)], is_closed=True).closed is None


def test_claim_is_refused_with_missing_grades() -> None:
    refused = claim_at_most([tally(300, 60, 0, 56)])
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("4 of 60")
    assert isinstance(claim_at_most([tally(300, 60, 0, 57)]), Claim)


def test_missing_counted_as_wrong_allows_a_claim() -> None:
    found = claim_at_most([tally(300, 60, 0, 50)], missing_as_wrong=True)
    assert (found.wrong, found.graded) == (10, 60)
    assert found.at_most == upper_limit(10, 60)


def test_unjudged_count_as_wrong_in_claims() -> None:
    assert claim_at_most([tally(300, 60, 1, 57, 2)]).wrong == 3


def test_claims_use_exact_methods() -> None:
    one = [tally(300, 60, 3, 57)]
    open_claim, closed_claim = claim_at_most(one), claim_at_most(one, is_closed=True)
    assert (open_claim.method, open_claim.at_most) == (Method.CLOPPER_PEARSON, upper_limit(3, 60))
    assert (closed_claim.method, closed_claim.at_most_count) == (Method.HYPERGEOMETRIC, closed_batch_upper(3, 60, 300))
    assert closed_claim.text == "at most 34 of the 300 accepted outputs are wrong (3 wrong of 60 graded, 95.0 % confidence)"
    two = claim_at_most([*one, tally(50, 10, 4, 6, stratum="fallback")], is_closed=True)
    assert (two.method, two.at_most_count) == (Method.SQUARE_AND_ADD_EXACT, None)


def test_claim_needs_every_stratum() -> None:
    refused = claim_at_most([tally(300, 60, 0, 60), tally(5, 0, 0, 0, stratum="fallback")])
    assert refused == Refused("no verdict in stratum fallback")
    assert claim_at_most([tally(10, 0, 0, 0)]) == NoData("nothing sampled yet")


def test_green_is_withheld_while_grades_miss() -> None:
    full, patchy = live_rate(tally(900, 60, 0, 60), 0.1), live_rate(tally(900, 60, 0, 50), 0.1)
    assert (full.light, full.reason) == (Light.GREEN, "")
    assert patchy.light is Light.AMBER
    assert patchy.reason.startswith("10 of 60")


def test_red_needs_no_complete_grading() -> None:
    assert live_rate(tally(900, 60, 8, 6), 0.1).light is Light.RED


def test_unjudged_hold_green_back() -> None:
    assert live_rate(tally(900, 40, 0, 40), 0.1).light is Light.GREEN
    assert live_rate(tally(900, 40, 0, 39, 1), 0.1).light is Light.AMBER


def test_no_base_grades_light_nothing() -> None:
    found = live_rate(tally(900, 4, 0, 0), 0.1)
    assert (found.light, found.interval) == (Light.NO_DATA, None)


def test_fields_share_one_error_level() -> None:
    alone = field_rates({"total": (4, 14)}, 0.1)
    among = field_rates({"total": (4, 14), "name": (0, 14), "date": (0, 0)}, 0.1)
    assert [field.is_flagged for field in alone] == [True]
    assert [field.is_flagged for field in among] == [False, False, False]
    assert isinstance(among[2].interval, NoData)
    assert among[0].interval == wilson(4, 14)


@pytest.mark.parametrize("counts", [(10, 11, 0, 0), (10, 5, 3, 3), (10, 5, -1, 0)])
def test_impossible_tally_raises(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError):
        tally(*counts)


@pytest.mark.parametrize("counts", [(0, 0, 0), (5, 6, 0), (5, 0, 1), (5, 3, 4)])
def test_impossible_cell_raises(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError):
        Cell(*counts)
