"""Tests the axes of pictures (their ends and units), and marks that each stand for many values."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from netspurt.pictures.marks import (
    Band,
    Blocks,
    Mark,
    Picture,
    Points,
    Polyline,
    Rules,
    Scale,
    Shades,
)
from netspurt.pictures.measures import ELAPSED, alike, fitting_unit, in_unit, in_words
from netspurt.pictures.moving import dead_times, shades
from netspurt.pictures.scales import of_times, placed
from netspurt.pictures.steps import steps
from netspurt.pictures.thinning import kept, last_of_columns, merged
from netspurt.timelines import Outage, Timeline, Way

NAN, INF = float("nan"), float("inf")
#: The nanoseconds of a second.
S = 1_000_000_000


@pytest.mark.parametrize(
    ("series", "ends", "log", "zero"),
    [
        # The axis is logarithmic if the longest time exceeds 20 times the median. Otherwise the
        # axis is linear.
        ([[1.0, 1.0, 20.0]], (0.0, 21.0), False, None),
        ([[1.0, 1.0, 20.1]], (0.8, 26.13), True, None),
        # The longest time is compared with the smallest median, and not with the smallest value.
        ([[0.1, 1.0, 1.0], [20.0]], (0.0, 21.0), False, None),
        ([[0.4, 0.4, 1.0], [20.0]], (0.32, 26.0), True, None),
        # Missing and infinite values do not count. Zeros stand at half of the smallest other value.
        ([[0.0, NAN, 2.0, INF], [50.0]], (0.8, 65.0), True, 1.0),
        ([[0.0, 2.0]], (0.0, 2.1), False, None),
        ([[0.0], [NAN], []], (None, None), False, None),
    ],
)
def test_an_axis_of_times_is_logarithmic_if_the_longest_time_is_far_above_the_median(
    series: list[list[float]], ends: tuple[float, float], log: bool, zero: float | None
) -> None:
    scale = of_times("x", [np.array(values) for values in series])
    assert (scale.log, scale.zero, scale.unit) == (log, zero, "s")
    assert (scale.low, scale.high) == (ends if ends[0] is None else pytest.approx(ends))
    zeros = np.array([0.0, 3.0])
    assert placed(zeros, scale).tolist() == [zero or 0.0, 3.0]


@pytest.mark.parametrize(
    ("values", "scale", "ends"),
    [
        ([], {}, (-0.05, 1.05)),
        ([2, 4], {}, (1.9, 4.1)),
        ([2, NAN, INF, 4], {}, (1.9, 4.1)),
        ([4], {}, (3.8, 4.2)),
        ([-4], {}, (-4.2, -3.8)),
        ([0], {}, (-0.05, 0.05)),
        # The margin ends at the value `start`, unless another value lies below it.
        ([2, 4], {"start": 2.0}, (2.0, 4.1)),
        ([2, 4], {"start": 0.0}, (1.9, 4.1)),
        ([2, 4], {"start": 3.0}, (1.9, 4.1)),
        # The margin is 5 % of the whole axis, so values that hardly differ do not touch its end.
        ([2, 4], {"low": 0.0}, (0.0, 4.2)),
        ([4, 4 + 1e-15], {"low": 0.0}, (0.0, 4.2)),
        ([2, 4], {"high": 9.0}, (1.65, 9.0)),
        ([2, 4], {"low": 5.0}, (5.0, 6.0)),
        ([], {"low": 5.0, "high": 5.0}, (5.0, 6.0)),
        # On a logarithmic axis, the margins are equal ratios.
        ([1, 2**20], {"log": True}, (0.5, 2**21)),
        ([3], {"log": True}, (1.5, 6.0)),
    ],
)
def test_the_ends_of_an_axis_come_from_the_marks_and_a_margin(
    values: list[float], scale: dict[str, Any], ends: tuple[float, float]
) -> None:
    own = np.array(values, dtype=float)
    points = Points(label="", ink="red", x=own, y=own)
    shade = Shades(label="", ink="red", left=np.array([-99.0]), right=np.array([99.0]))
    rule = Rules(label="", ink="red", x=own)
    shown = Picture((points, shade, rule), Scale("y", **scale), Scale("x", **scale))
    for found in shown.ends:
        assert found == pytest.approx(ends)


def test_an_axis_of_blocks_includes_zero_and_a_line_of_one_point_is_a_dot() -> None:
    three = np.array([5.0, 7.0])
    block = Blocks(label="", ink="red", left=three, right=three + 1, y=three)
    across, up = Picture((block,), Scale("y"), Scale("x")).ends
    assert (*across, *up) == pytest.approx((4.85, 8.15, -0.35, 7.35))
    lines = [
        Polyline(label="", ink="red", x=three, y=np.array(y)) for y in ([1.0, NAN], [1.0, 2.0])
    ]
    assert [line.dot > 0 for line in lines] == [True, False]


@pytest.mark.parametrize(
    ("unit", "most", "name"),
    [
        ("s", 2.0, "s"),
        ("s", 1.99, "ms"),
        ("s", 0.002, "ms"),
        ("s", 0.0019, "µs"),
        ("s", 0.0, "µs"),
        ("B", 1999, "B"),
        ("B", 2000, "kB"),
        ("bit/s", 2e9, "Gbit/s"),
        (ELAPSED, 599.9, "s"),
        (ELAPSED, 600.0, "min"),
        (ELAPSED, 10_799.9, "min"),
        (ELAPSED, 10_800.0, "h"),
        ("packets", 1e12, "packets"),
    ],
)
def test_the_largest_value_decides_which_unit_fits(unit: str, most: float, name: str) -> None:
    assert fitting_unit(unit, most)[1] == name


def test_values_that_are_shown_together_have_the_same_prefix_of_their_unit() -> None:
    values = [in_unit(value, "s") for value in (1.0, 0.9999, -0.25, 2e-6, 0.0)]
    assert values == ["1 s", "999.9 ms", "-250 ms", "2 µs", "0 µs"]
    # A number has at most six digits before the point: 999,999 ms, but 1000 s.
    for longest, unit in ((999.999, "ms"), (1000.0, "s")):
        told = alike({"completion_ns_max": longest * 1e9, "waited_ns": 3e6, "sent": 5.0})
        assert [one.unit for one in told.values()] == [unit, unit, ""]
        assert longest * 1e9 * told["completion_ns_max"].factor == pytest.approx(
            longest * (1000 if unit == "ms" else 1)
        )


@pytest.mark.parametrize(
    ("measure", "words", "factor", "unit"),
    [
        ("acked_bytes/completion_ns", "acknowledged / completion time", 1e9, "B/s"),
        ("dropped/completion_ns", "packets dropped / completion time", 1e9, "1/s"),
        ("acked_bytes/sent", "acknowledged / packets sent", 1.0, "B"),
        ("waited_ns/completion_ns", "waited for timeouts / completion time", 1.0, ""),
        ("request_ns_p99", "99th percentile of time to the whole reply", 1e-9, "s"),
        ("cwnd_bytes_max", "largest cwnd", 1.0, "B"),
        ("queue_packets_mean", "mean queue", 1.0, "packets"),
        ("retransmissions_go_back_n", "retransmissions by go-back-N", 1.0, ""),
        ("spurious_sack_recovery", "spurious retransmissions by SACK recovery", 1.0, ""),
        ("spurious_of_it", "spurious of it", 1.0, ""),
        ("ns", "ns", 1.0, ""),
    ],
)
def test_a_measure_and_a_ratio_of_measures_have_words_and_a_unit(
    measure: str, words: str, factor: float, unit: str
) -> None:
    told, scale, named = in_words(measure)
    assert (told, named) == (words, unit)
    assert scale == pytest.approx(factor)


def changes(count: int, seed: int = 5) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the instants [s] and the values of random changes."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.exponential(1.0, count) * rng.integers(0, 2, count))
    return t, rng.integers(0, 9, count).astype(float)


@pytest.mark.parametrize(
    ("count", "whole", "banded"), [(400, False, 0), (401, False, 1), (900, True, 0)]
)
def test_more_than_400_changes_become_a_band_unless_all_changes_are_wanted(
    count: int, whole: bool, banded: int
) -> None:
    t, values = changes(count)
    marks: list[Mark] = steps("x", "red", (t, values), whole=whole)
    assert len(marks) == 1 + banded
    line = marks[-1]
    assert isinstance(line, Polyline)
    if not banded:
        assert (line.label, line.x.tolist(), line.y.tolist()) == ("x", t.tolist(), values.tolist())


def test_a_band_shows_the_range_and_a_line_shows_the_mean_of_each_span() -> None:
    t, values = changes(500)
    band, line = steps("x", "red", (t, values), whole=False)
    assert isinstance(band, Band)
    assert isinstance(line, Polyline)
    assert (line.label, len(line.x)) == ("x, mean and range", 126)
    assert line.x.tolist() == pytest.approx(np.linspace(t[0], t[-1], 126).tolist())
    for n, (low, high) in enumerate(itertools.pairwise(line.x)):
        before = values[t <= low][-1]
        inside = [(at, value) for at, value in zip(t, values, strict=True) if low < at < high]
        every = [(low, before), *inside, (high, 0.0)]
        held = sum(v * (after - at) for (at, v), (after, _) in itertools.pairwise(every))
        assert line.y[n] == pytest.approx(held / (high - low))
        assert band.low[n] <= min(v for _, v in every[:-1])
        assert band.high[n] >= max(v for _, v in every[:-1])
    assert (band.low.min(), band.high.max()) == (values.min(), values.max())


@pytest.fixture
def few_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge more than 30 marks into 10 columns."""
    monkeypatch.setattr("netspurt.pictures.thinning.MOST", 30)
    monkeypatch.setattr("netspurt.pictures.thinning.COLUMNS", 10)


def columns(values: NDArray[np.float64]) -> list[int]:
    """Return in which tenth of the range each value lies, from 0 to 9."""
    share = (values - values.min()) / np.ptp(values)
    return [min(int(10 * one), 9) for one in share]


@pytest.mark.usefixtures("few_columns")
@pytest.mark.parametrize("seed", range(5))
def test_a_column_keeps_the_range_of_its_bars_and_a_cell_keeps_its_first_point(seed: int) -> None:
    """A cell is the part of a column in one tenth of the vertical range."""
    rng = np.random.default_rng(seed)
    t, low = rng.uniform(0, 7, 200), rng.uniform(0, 5, 200)
    bars = np.column_stack([t, low, low + rng.uniform(0, 5, 200)])
    column = np.array(columns(t))
    for row, one in zip(merged(bars), sorted(set(column)), strict=True):
        own = bars[column == one]
        assert row.tolist() == [own[:, 0].min(), own[:, 1].min(), own[:, 2].max()]
    some = kept(t, low)
    cells = list(zip(columns(t), columns(low), strict=True))
    firsts = sorted(cells.index(cell) for cell in set(cells))
    assert some.tolist() == firsts
    rising = np.sort(t)
    lasts = {one: n for n, one in enumerate(columns(rising))}
    assert last_of_columns(rising).tolist() == sorted(lasts.values())


@pytest.mark.usefixtures("few_columns")
def test_many_marks_at_one_instant_are_merged_into_one_column() -> None:
    same = np.full(31, 4.0)
    assert len(kept(same[:30], same[:30])) == len(last_of_columns(same[:30])) == 30
    bars = np.column_stack([same, np.arange(31.0), np.arange(31.0) + 2])
    assert merged(bars).tolist() == [[4.0, 0.0, 32.0]]
    assert len(merged(bars[:30])) == 30
    assert last_of_columns(same).tolist() == [30]


@st.composite
def outages(draw: st.DrawFn) -> list[Outage]:
    """Draw outages of whole seconds that do not overlap, in the order of time."""
    edges = sorted(draw(st.lists(st.integers(0, 20), max_size=6, unique=True)))
    return [Outage(a * S, (b - a) * S) for a, b in zip(edges[::2], edges[1::2], strict=False)]


@settings(max_examples=80, deadline=None)
@given(outages(), st.one_of(st.none(), outages()))
def test_dead_times_show_at_each_instant_which_directions_have_an_outage(
    forward: list[Outage], reverse: list[Outage] | None
) -> None:
    back = None if reverse is None else Way(outages=reverse)
    spans = dead_times(Timeline("x", Way(outages=forward), back))

    def is_dead(own: list[Outage], at: float) -> bool:
        return any(one.at_ns / S < at < (one.at_ns + one.dead_ns) / S for one in own)

    both = forward if reverse is None else reverse
    names = {(True, True): "", (True, False): "forward", (False, True): "reverse"}
    for at in np.arange(0.5, 20):
        wanted = names.get((is_dead(forward, at), is_dead(both, at)))
        assert [way for low, high, way in spans if low < at < high] == [
            name for name in [wanted] if name is not None
        ]
    for (_, end, way), (begin, _, next_way) in itertools.pairwise(spans):
        assert end < begin or way != next_way, "spans that touch must have different directions"


def test_outages_of_a_run_are_drawn_as_shades_or_lines() -> None:
    sky = Timeline("sky", Way(outages=[Outage(2 * S, S), Outage(4 * S, 0), Outage(9 * S, S)]))
    sea = Timeline("sea", Way(outages=[Outage(1 * S, S)]), Way())
    run = SimpleNamespace(stop_ns=9 * S, timelines=lambda: {"sky": sky, "sea": sea})
    of_sky, change, of_sea = shades(run)
    assert isinstance(of_sky, Shades)
    assert (of_sky.label, of_sky.left.tolist(), of_sky.right.tolist()) == (
        "link sky dead",
        [2],
        [3],
    )
    assert isinstance(change, Rules)
    assert (change.label, change.x.tolist()) == ("link sky changes its path", [4])
    assert of_sea.label == "link sea dead, forward"
    assert [mark.label for mark in shades(run, "sea")] == [of_sea.label]
    assert list(shades(object())) == []
