"""Tests measures of timers on surrogates with known results.

A measure computes the value that a claim of a paper is compared with. A surrogate is an invented
recording; its variant says how delays and losses follow each other. A setting of the timer `mills`
has two weights, F1 (falling) and F2 (rising), and the factor G.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netspurt.analysis import Interval
from netspurt.delays import Delays
from netspurt.papers.bench import Bench
from netspurt.papers.data import Paper
from netspurt.papers.recordings import PaperSurrogates, Replays, Setting, Variant
from netspurt.papers.registry import measure
from netspurt.papers.surrogates import verdict_of

from made_up_papers import host, line, paper_with, run

#: Two variants: independent delays and losses, and glitches (bursts of long delays) with losses in
#: groups of 6.
ONE, TWO = Variant("independent", 1), Variant("glitches", 6)

#: A function that gives the three results of a setting on a recording. These are its efficiency,
#: its spurious retransmissions, and its mean wait for a loss divided by the mean delay.
Outcome = Callable[[str, Variant, Setting, int], tuple[float, float, float]]


def paper(folder: Path, *accounts: dict[str, object]) -> Paper:
    """Return a paper with two variants of surrogates, and two seeds of each."""
    hosts = [host(str(row["name"]).partition(" ")[0].partition("-")[0]) for row in accounts]
    tables = paper_with(
        folder, accounts=accounts, lines=[line("A", 10, 226, 8000), line("C", 1, 2, 3)], hosts=hosts
    )
    settings = {
        "accounts": "accounts.csv",
        "lines": "lines.csv",
        "hosts": "hosts.csv",
        "probes": 512,
        "seeds": 2,
        "variants": [{"structure": "independent"}, {"structure": "glitches", "burst": 6}],
    }
    return replace(tables, surrogates=settings)


class Invented(PaperSurrogates):
    """Surrogates with invented results of their replays."""

    def __init__(self, paper: Paper, outcome: Outcome) -> None:
        super().__init__(paper)
        self.outcome = outcome

    def replayed(
        self,
        name: str,
        variant: Variant,
        falling: Sequence[float],
        rising: Sequence[float],
        g: Sequence[float],
    ) -> Replays:
        every = list(itertools.product(falling, rising, g))
        results = np.array(
            [[self.outcome(name, variant, one, seed) for one in every] for seed in (1, 2)]
        )
        return Replays(results[:, :, 0], results[:, :, 1], results[:, :, 2])


#: Rows of RFC 889's table of runs: only the rows A and C * have losses.
ROWS = [run("A", lost=128, lost_s=256), run("B"), run("C *", lost=1, lost_s=1)]


def found(folder: Path, outcome: Outcome, name: str, **arguments: str) -> Any:
    """Return the result of a measure on surrogates with this outcome of their replays."""
    own = paper(folder, *ROWS)
    bench = Bench(own)
    bench.keep("surrogates", lambda: Invented(own, outcome))
    return measure(name)(bench, **arguments)


# Leads: the efficiency of one setting minus the efficiency of another.


def by_row(leads: dict[str, float]) -> Outcome:
    """Return an outcome in which G = 1 and G = 2 give different efficiencies.

    The difference is `leads[row]`, and twice this in the variant `TWO`.
    """

    def outcome(name: str, variant: Variant, one: Setting, seed: int) -> tuple[float, float, float]:
        lead = leads[name] * (2 if variant == TWO else 1) if one[2] == 2 else 0.0
        return 0.5 + lead + 0.01 * seed, 0.0, 0.0

    return outcome


@pytest.mark.parametrize(
    ("over", "value"),
    [
        ("median", [1, 2]),
        ("mean", [5, 10]),
        ("each", [1, 2, -2, -4, 16, 32]),
    ],
)
def test_the_lead_is_summarised_over_the_rows_for_each_variant(
    tmp_path: Path, over: str, value: list[float]
) -> None:
    result = found(
        tmp_path,
        by_row({"A": 0.01, "B": -0.02, "C *": 0.16}),
        "points_ahead",
        rows="all",
        setting="1,1,2",
        against="1,1,1",
        over=over,
    )
    assert result.value == pytest.approx(value)
    verdicts = {row[0]: row[-1] for row in result.table}
    assert verdicts["all runs"] == "2 better, 1 worse"
    assert (verdicts["A"], verdicts["B"], verdicts["C *"]) == ("better", "worse", "better")
    assert result.table[0][1:3] == ("independent", "glitches, losses in groups of 6")


def interval(low: float, high: float) -> Interval:
    """Return an interval with these ends."""
    return Interval((low + high) / 2, low, high, 0.95, 1)


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ([(0, 0), (0, 0)], "no difference"),
        ([(0, 0), (1, 2)], "cannot tell"),
        ([(1, 2), (0.1, 9)], "better"),
        ([(-2, -1), (-9, -0.1)], "worse"),
        ([(1, 2), (-2, -1)], "cannot tell"),
        ([(0, 2), (0, 1)], "cannot tell"),
        ([(-1, 1)], "cannot tell"),
    ],
)
def test_a_setting_is_better_only_if_it_is_better_for_every_variant(
    ends: list[tuple[float, float]], verdict: str
) -> None:
    assert verdict_of([interval(*both) for both in ends]) == verdict


def test_an_underscore_stands_for_a_space_in_the_name_of_a_row(tmp_path: Path) -> None:
    result = found(
        tmp_path,
        by_row({"A": 0.01, "C *": 0.16}),
        "efficiency_of",
        rows="C_*,A",
        setting="1/2,1,2",
    )
    # The two seeds add 0.01 and 0.02 to the efficiency: 0.015 on average.
    assert result.value == pytest.approx([0.675, 0.525, 0.835, 0.535])
    assert [row[0] for row in result.table[1:]] == ["C *", "A", "C *", "A"]


def test_spared_retransmissions_are_those_of_the_other_setting_minus_those_of_this_setting(
    tmp_path: Path,
) -> None:
    def outcome(name: str, variant: Variant, one: Setting, seed: int) -> tuple[float, float, float]:
        return 1.0, one[2] * len(name) + seed + (variant == TWO) * one[2], 0.0

    rows = {"rows": "A,C_*", "setting": "1,1,1", "against": "1,1,3"}
    result = found(tmp_path, outcome, "spurious_spared", **rows)
    # The function `outcome` multiplies G by the length of the row's name. The settings differ by 2
    # in G, and the names have two characters on average: a difference of 4. `TWO` adds G once more,
    # so its difference is 6.
    assert result.value == pytest.approx([4, 6])
    assert result.table[1][1:] == ("3.50", "7.50")


# Grids: all combinations of the given values of F1, F2 and G.

#: Two values of F1, three values of F2, and one value of G.
GRID = "3/4,7/8:1/2,3/4,7/8:2"


def peaked(falling: float, rising: float) -> Outcome:
    """Return an outcome with an efficiency that falls with the distance from two given weights."""

    def outcome(_: str, variant: Variant, one: Setting, seed: int) -> tuple[float, float, float]:
        off = abs(one[0] - falling) + abs(one[1] - rising)
        return 0.9 - 0.1 * off * (2 if variant == TWO else 1) + 0.001 * seed, 0.0, 0.0

    return outcome


def test_the_regret_of_a_setting_is_the_lead_of_the_best_setting_of_the_grid(
    tmp_path: Path,
) -> None:
    words = {"rows": "all", "grid": GRID}
    result = found(tmp_path, peaked(7 / 8, 1 / 2), "regret", setting="7/8,3/4,2", **words)
    assert result.value == pytest.approx([2.5, 5.0])
    assert result.table[1][2] == "F1 7/8, F2 1/2, G 2"
    best = found(tmp_path, peaked(7 / 8, 1 / 2), "regret", setting="7/8,1/2,2", **words)
    assert best.value == [0, 0]


@pytest.mark.parametrize(
    ("weights", "apart", "behind"),
    [
        ((7 / 8, 1 / 2), 3 / 8, "3.75"),
        ((3 / 4, 7 / 8), -1 / 8, "1.25"),
        ((3 / 4, 3 / 4), 0, "0.00"),
    ],
)
def test_the_best_weights_are_compared_with_the_best_single_weight(
    tmp_path: Path, weights: tuple[float, float], apart: float, behind: str
) -> None:
    result = found(tmp_path, peaked(*weights), "best_weights_apart", rows="all", grid=GRID)
    assert result.value == [apart, apart]
    assert result.table[1][-1] == behind


def test_recordings_in_which_a_higher_factor_breaks_the_tradeoff_are_counted(
    tmp_path: Path,
) -> None:
    """With a higher factor, a timer should retransmit less often spuriously, and wait longer.

    Two of row B's four recordings have more spurious retransmissions with a higher factor. In one
    of row A's four recordings, the wait is not longer.
    """

    def outcome(name: str, variant: Variant, one: Setting, seed: int) -> tuple[float, float, float]:
        more = name == "B" and seed == 1 and one[2] == 3
        short = name == "A" and seed == 2 and variant == TWO and one[2] == 2
        return 1.0, max(10 - one[2], 8) + 5 * more, one[2] - short

    result = found(tmp_path, outcome, "tradeoff", rows="A,B", setting="1,1,9", g="3,1,2")
    assert result.value == [2, 1]
    assert [row[1] for row in result.table[1:4]] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("slope_one", "slope_two", "change"),
    [(1, 2, "raising F2"), (-1, -2, "lowering F2"), (1, -1, None)],
)
def test_the_effect_of_the_weight_f2_on_waits_is_returned_only_if_all_variants_agree(
    tmp_path: Path, slope_one: float, slope_two: float, change: str | None
) -> None:
    def outcome(name: str, variant: Variant, one: Setting, _: int) -> tuple[float, float, float]:
        assert name != "B", "a row without losses has no waits"
        return 1.0, 0.0, 5 + one[1] * (slope_one if variant == ONE else slope_two)

    words = {"rows": "all", "rising": "7/8,1/2", "setting": "7/8,1/2,2"}
    result = found(tmp_path, outcome, "overshoot", **words)
    assert result.value == change
    assert result.table[0][1:] == ("F2 = 0.5", "F2 = 0.875")


@pytest.mark.parametrize(("waits", "closest"), [((7.4, 9), 2), ((9, 7.4), 0), ((7.66, 7.3), 2)])
def test_a_variant_counts_if_its_first_setting_is_nearest_to_the_printed_median(
    tmp_path: Path, waits: tuple[float, float], closest: int
) -> None:
    """In row A, each lost probe waited 2 s. The mean of the 384 answered probes is 0.26733 s."""
    assert pytest.approx(7.481, abs=0.001) == 2 / (0.2005 * 512 / 384)

    def outcome(_: str, variant: Variant, one: Setting, seed: int) -> tuple[float, float, float]:
        del variant
        return 1.0, 0.0, waits[int(one[2]) - 1] + (0.5 if seed == 1 else -0.5)

    words = {"settings": "1:1:1,1:1:2", "aside": "C_*"}
    result = found(tmp_path, outcome, "setting_by_waits", **words)
    assert result.value == closest
    assert result.table[1] == ("printed", "7.48 means", "7.48 means")


# Surrogates.


def test_a_replay_has_the_sums_computed_by_hand(tmp_path: Path) -> None:
    """The estimate is 1 s, 1.25 s and 1.9375 s with weights of 3/4 and 15/16.

    The timer is 3 s before the first delay, and then twice the estimate: 2 s, 2.5 s and 3.875 s.
    The delay of 4 s exceeds the third timer, and the lost probe waits for the fourth.
    """
    surrogates = PaperSurrogates(paper(tmp_path, run("A", lost=1, lost_s=3.8)))
    own = Delays.of([1, 2, 4, math.nan, 1, 1], order="sequence")
    surrogates._made["A", ONE] = [own]
    replays = surrogates.setting("A", ONE, (15 / 16, 3 / 4, 2))
    assert replays.efficiency.tolist() == [[pytest.approx(9 / (9 + 4 + 3.875))]]
    assert replays.spurious.tolist() == [[1]]
    assert replays.waited.tolist() == [[pytest.approx(3.875 / (9 / 5))]]


def test_without_losses_there_is_no_wait(tmp_path: Path) -> None:
    surrogates = PaperSurrogates(paper(tmp_path, run("B")))
    surrogates._made["B", ONE] = [Delays.of([1, 1, 1], order="sequence")]
    replays = surrogates.setting("B", ONE, (0.5, 0.5, 2))
    assert np.isnan(replays.waited).all()
    assert replays.efficiency.tolist() == [[1]]


def test_a_surrogate_is_fitted_to_the_answered_probes_of_its_row(tmp_path: Path) -> None:
    rows = [run("A", lost=12, mean_ms=249, cov=0.3, spurious=7), run("A-2", spurious=1)]
    surrogates = PaperSurrogates(paper(tmp_path, *rows))
    mixed = surrogates.fitted(surrogates.rows["A"], burst=6)
    assert mixed.mean == pytest.approx(0.2495 * 512 / 500)
    assert (mixed.cov, mixed.probes, mixed.lost, mixed.burst) == (0.3, 512, 12, 6)
    assert (mixed.lengths, mixed.glitches) == ((40, 256), 3)
    assert mixed.line == [(40, 0.010), (256, 0.226)]
    long = surrogates.fitted(surrogates.rows["A-2"])
    assert (long.lengths, long.line, long.glitches) == (256, [], 1)
    both = surrogates.fitted(surrogates.rows["A-2"], lengths=((40, 9), (256, 9)))
    assert both.line == mixed.line


def test_the_seeds_of_surrogates_count_from_1_and_each_surrogate_is_made_once(
    tmp_path: Path,
) -> None:
    surrogates = PaperSurrogates(paper(tmp_path, *ROWS))
    made = surrogates.made("A", TWO)
    row = surrogates.fitted(surrogates.rows["A"], burst=6)
    for seed, recording in enumerate(made, 1):
        np.testing.assert_array_equal(recording.rtt_ns, row.surrogate("glitches", seed=seed).rtt_ns)
    assert len(made) == 2
    assert surrogates.made("A", TWO) is made


def test_each_variant_is_combined_with_each_row_and_the_rows_vary_fastest(tmp_path: Path) -> None:
    surrogates = PaperSurrogates(paper(tmp_path, *ROWS))
    assert surrogates.variants == [ONE, TWO]
    assert [str(variant) for variant in surrogates.variants] == [
        "independent",
        "glitches, losses in groups of 6",
    ]
    assert list(surrogates.each(["B", "A"])) == [(ONE, "B"), (ONE, "A"), (TWO, "B"), (TWO, "A")]


# A timer on a few delays.


def of_delays(name: str, algorithm: str, **arguments: str) -> Any:
    """Return the value of a measure of a timer on the delays in the arguments."""
    bench: Any = None
    return measure(name)(bench, algorithm=algorithm, **arguments).value


def test_the_timer_mills_follows_its_two_weights_and_1x3_stands_for_three_delays() -> None:
    expected, estimate = [3.0], 0.0
    delays = [1.0, 1.0, 1.0, 2.0, 0.5, 0.5]
    for place, delay in enumerate(delays[:-1]):
        weight = 15 / 16 if delay < estimate else 3 / 4
        estimate = delay if place == 0 else weight * estimate + (1 - weight) * delay
        expected.append(2 * estimate)
    assert of_delays("timers", "mills", delays="1x3,2,0.5x2") == pytest.approx(expected)


def test_a_delay_as_long_as_the_timer_is_not_spurious() -> None:
    assert of_delays("spurious_ones", "fixed", delays="3,3.001,2.999,9x2") == [2, 4, 5]


@pytest.mark.parametrize(
    ("algorithm", "up", "down"),
    [("mills", 3 / 4, 15 / 16), ("mills-single", 7 / 8, 7 / 8)],
)
def test_a_time_constant_counts_samples_until_the_error_falls_by_the_factor_e(
    algorithm: str, up: float, down: float
) -> None:
    constants = of_delays("time_constants", algorithm)
    assert constants == pytest.approx([-1 / math.log(up), -1 / math.log(down)], rel=1e-4)
