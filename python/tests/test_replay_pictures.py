"""Tests that each picture of a replay shows the replayed data, with units, inside its axes.

A replay applies timers to recorded delays. Its front has the timers that no other timer beats.
The compared figures are spurious retransmissions and the mean timer.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

import netspurt as ns
from netspurt.pictures.marks import Bars, Points, Polyline, Spans
from netspurt.pictures.replay import _named, histogram, pareto, replayed, timeline
from netspurt.plots.replay import KINDS, draw
from netspurt.plots.style import SERIES, root_figure
from netspurt.timers import Replay

#: The replayed timers: two that never change, and `mills`, the timer of RFC 889.
SETTINGS = ["fixed:rto=70ms,max=1s", "fixed:rto=150ms,max=1s", "mills"]


def delays(count: int = 200, seed: int = 1, scale: float = 1.0) -> NDArray[np.float64]:
    """Return random delays [s] of about 65 ms, multiplied by `scale`; some probes are lost."""
    rng = np.random.default_rng(seed)
    rtt = scale * 0.05 * (1 + rng.exponential(0.3, count))
    rtt[::23] = np.nan
    return rtt


@pytest.fixture(scope="module")
def replay() -> Replay:
    """Replay the timers on a recording."""
    return ns.replay(ns.Delays.of(delays(), every=0.5, name="folder/path.csv"), SETTINGS)


def axes_of(replay: Replay, kind: str) -> Axes:
    """Draw a picture of this kind; return its axes."""
    return draw(replay, kind).axes[0]


def shown(axes: Axes) -> dict[str, Any]:
    """Return the drawn objects of the legend by their labels."""
    handles, names = axes.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def points(line: Line2D) -> list[tuple[float, float]]:
    """Return the points of a line."""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    return list(zip(x.tolist(), y.tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_names_its_recording_and_every_timer(replay: Replay, kind: str) -> None:
    axes = axes_of(replay, kind)
    assert axes.get_title(loc="left") == "path.csv"
    names = {label.removesuffix(" (none seen)") for label in shown(axes)}
    assert set(SETTINGS) <= names
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    legend = axes.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == len(names)


def test_a_timeline_shows_all_delays_timers_and_spurious_retransmissions(replay: Replay) -> None:
    axes = axes_of(replay, "timeline")
    handles = shown(axes)
    rtt, sent = replay.delays.rtt_s, replay.delays.sent_s
    assert np.array_equal(handles["delay"].get_ydata(), rtt, equal_nan=True)
    assert handles["delay"].get_xdata().tolist() == sent.tolist()
    for algorithm in replay.algorithms:
        # Before the first delay, `mills` waits 3 s. This value is above the axis and not drawn.
        drawn = handles[algorithm.estimator].get_ydata()
        start = int(np.argmax(~np.isnan(rtt))) + 1
        assert drawn[start:].tolist() == algorithm.waits[start:].tolist()
        assert np.isnan(drawn[:start][algorithm.waits[:start] > axes.get_ylim()[1]]).all()
    crosses = [line for line in axes.lines if line.get_marker() == "x" and len(points(line))]
    marked = [len(points(line)) for line in crosses]
    assert marked == [algorithm.spurious for algorithm in replay.algorithms if algorithm.spurious]
    colours = [line.get_color() for line in crosses]
    assert colours == [handles[a.estimator].get_color() for a in replay.algorithms if a.spurious]
    heights = [{y for _, y in points(line)} for line in crosses]
    assert all(len(height) == 1 for height in heights), "a row of crosses has one height"
    rows = [height.pop() for height in heights]
    assert rows == sorted(set(rows), reverse=True), "no timer may hide the crosses of another one"
    assert np.nanmax(rtt) < rows[-1] < rows[0] < axes.get_ylim()[1]


@pytest.mark.parametrize("factor", [1.05, 1.5, 3.9, 4.4])
def test_no_timer_is_drawn_within_the_rows_of_crosses(factor: float) -> None:
    """The first timer is `factor` times the longest delay. At 4.4 times, it is above the axis."""
    rtt = delays()
    most = float(np.nanmax(rtt))
    settings = [f"fixed:rto={1e3 * factor * most:.0f}ms,max=9s", "fixed:rto=60ms,max=9s"]
    made = timeline(ns.replay(ns.Delays.of(rtt, every=1.0), settings))
    (border,) = (float(mark.y[0]) for mark in made.marks if isinstance(mark, Spans))
    assert made.y.high is not None
    lines = [mark for mark in made.marks if isinstance(mark, Polyline)]
    for line in lines:
        assert not ((line.y > border) & (line.y <= made.y.high)).any()


def test_a_timeline_has_a_mark_at_the_bottom_for_each_lost_probe(replay: Replay) -> None:
    axes = axes_of(replay, "timeline")
    ticks = points(shown(axes)["lost"])
    assert [x for x, _ in ticks] == replay.delays.sent_s[np.isnan(replay.delays.rtt_s)].tolist()
    assert {y for _, y in ticks} == {axes.get_ylim()[0]}
    complete = ns.replay(ns.Delays.of([0.1, 0.2, 0.1], every=1.0), ["mills"])
    assert "lost" not in shown(axes_of(complete, "timeline"))


def test_without_times_of_sending_the_axis_of_a_timeline_counts_probes(replay: Replay) -> None:
    assert axes_of(replay, "timeline").get_xlabel() == "sent [s]"
    unknown = ns.replay(ns.Delays.of(delays(30)), ["mills"])
    axes = axes_of(unknown, "timeline")
    assert axes.get_xlabel() == "probe"
    assert shown(axes)["delay"].get_xdata().tolist() == list(range(30))


@pytest.mark.parametrize(
    ("scale", "label", "unit"),
    [(1.0, "delay, timer [ms]", 1e-3), (40.0, "delay, timer [s]", 1.0)],
)
def test_the_axis_of_a_timeline_has_the_unit_that_fits(
    scale: float, label: str, unit: float
) -> None:
    made = ns.replay(ns.Delays.of(delays(scale=scale), every=10.0), ["mills"])
    axes = axes_of(made, "timeline")
    assert axes.get_ylabel() == label
    assert axes.yaxis.get_major_formatter()(3 * unit, 0) == "3"
    low, high = axes.get_ylim()
    # The first probe was lost, so the timer is still 3 s at the second probe. These two values must
    # not stretch the axis.
    assert made.algorithms[0].waits[:2].tolist() == [3.0, 3.0]
    most = np.nanmax(np.concatenate([made.delays.rtt_s, made.algorithms[0].waits[2:]]))
    border = 1.05 * most
    assert made.algorithms[0].spurious, "the picture must have a row of crosses above the delays"
    assert [low, high] == pytest.approx([0.0, 1.06 * border])


def test_delays_that_differ_by_large_factors_are_drawn_on_a_logarithmic_axis() -> None:
    rtt = delays()
    rtt[100] = 30.0
    made = ns.replay(ns.Delays.of(rtt, every=1.0), ["fixed:rto=70ms,max=1s"])
    axes = axes_of(made, "timeline")
    assert axes.get_yscale() == "log"
    low, high = axes.get_ylim()
    assert low < np.nanmin(rtt) < 30 < high
    written = [axes.yaxis.get_major_formatter()(value, 0) for value in (2.0, 0.05, 2e-5)]
    assert written == ["2 s", "50 ms", "20 µs"]


def test_only_some_of_many_timers_are_drawn_and_a_note_says_how_many() -> None:
    names = [f"fixed:rto={ms}ms,max=1s" for ms in range(60, 140, 5)]
    many = ns.replay(ns.Delays.of(delays(), every=1.0), names)
    for kind, most in (("timeline", 12), ("histogram", 12), ("scatter", len(SERIES))):
        axes = axes_of(many, kind)
        drawn = [name for name in names if name in shown(axes)]
        assert len(drawn) == most
        assert axes.get_title(loc="right") == f"{most} of 16 timers drawn"
        looks = {
            (shown(axes)[name].get_color(), shown(axes)[name].get_linestyle()) for name in drawn
        }
        assert len(looks) == most
        assert many.front()[0].estimator in drawn
    axes = axes_of(many, "pareto")
    assert axes.get_title(loc="right") == ""
    assert len([label for label in shown(axes) if label.startswith("fixed")]) == 16


def test_the_recommended_timer_has_a_broad_line_and_few_other_timers_are_drawn() -> None:
    names = [f"fixed:rto={ms}ms,max=1s" for ms in range(60, 140, 5)]
    many = ns.replay(ns.Delays.of(delays(), every=1.0), names)
    for picture in (timeline(many, names[-1], 5), histogram(many, names[-1], 5)):
        lines = {mark.label: mark for mark in picture.marks if isinstance(mark, Polyline)}
        assert len(lines) == 5
        assert picture.aside == "5 of 16 timers drawn"
        first = lines.pop(f"{names[-1]} (recommended)")
        assert first.width > 2 * max(line.width for line in lines.values())
        assert first.rank > max(line.rank for line in lines.values())
    front = pareto(many, names[3])
    told = [mark.label for mark in front.marks if "recommended" in mark.label]
    assert told == [f"{names[3]} (recommended)"]


def test_a_replay_that_is_reduced_to_some_timers_keeps_their_results(replay: Replay) -> None:
    only = replay.only({SETTINGS[1], "quic"})
    assert [one.estimator for one in only.algorithms] == SETTINGS[1:2]
    own, former = only[SETTINGS[1]], replay[SETTINGS[1]]
    assert own.waits.tolist() == former.waits.tolist()
    assert (own.spurious, own.timer.value) == (former.spurious, former.timer.value)


@pytest.mark.parametrize(("timers", "ahead"), [(50, 40), (100, 59), (100, 97), (30, 3)])
def test_the_legend_of_a_front_names_at_most_20_timers(timers: int, ahead: int) -> None:
    every: list[Any] = [SimpleNamespace(estimator=str(n)) for n in range(timers)]
    front: Any = SimpleNamespace(algorithms=every, front=lambda: every[:ahead])
    for first in every:
        named = _named(front, first.estimator)
        assert first in named
        assert len(named) <= 20
        places = [every.index(one) for one in named if one in every[:ahead]]
        assert places == sorted(places), "the legend must keep the order of the front"


def test_timers_far_above_all_delays_are_marked_at_the_top() -> None:
    made = ns.replay(ns.Delays.of(delays(), every=1.0), ["rfc6298", "mills"])
    most = float(np.nanmax(made.delays.rtt_s))
    assert float(made["rfc6298"].waits[5:].min()) > 4 * most
    axes = axes_of(made, "timeline")
    top = axes.get_ylim()[1]
    assert most < top < 0.5
    assert "rfc6298 (above the picture: 1 s)" in shown(axes)
    (triangles,) = (line for line in axes.lines if line.get_marker() == "^" and len(points(line)))
    border = top / 1.06  # The crosses of `mills` are in a row above this border.
    assert [y for _, y in points(triangles)] == pytest.approx([0.98 * border] * 12)
    beside = ns.replay(ns.Delays.of(delays(), every=1.0), ["rfc6298", "fixed:rto=2s", "mills"])
    both = [line for line in axes_of(beside, "timeline").lines if line.get_marker() == "^"]
    first, second = ({x for x, _ in points(line)} for line in both if len(points(line)))
    assert not first & second, "no triangle may hide another"
    assert triangles.get_color() == shown(axes)["rfc6298 (above the picture: 1 s)"].get_color()


def test_a_timer_without_spurious_retransmissions_is_drawn_at_zero() -> None:
    made = ns.replay(ns.Delays.of(delays(), every=1.0), ["rfc6298", "fixed:rto=70ms,max=1s"])
    assert [one.spurious > 0 for one in made.algorithms] == [False, True]
    axes = axes_of(made, "pareto")
    root_figure(axes).draw_without_rendering()
    (zero,) = (
        place
        for place, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        if label.get_text() == "0"
    )
    point = shown(axes)["rfc6298 (none seen)"]
    assert points(point)[0][0] == zero
    assert axes.get_xlim()[0] < zero


def test_timers_in_the_picture_of_a_front_differ_in_colour_or_shape() -> None:
    names = [f"fixed:rto={ms}ms,max=1s" for ms in range(60, 140, 4)]
    many = ns.replay(ns.Delays.of(delays(), every=1.0), names)
    marks = replayed(many, "pareto").marks
    looks = {
        mark.label: (mark.ink, mark.shape)
        for mark in marks
        if isinstance(mark, Points) and mark.label.startswith("fixed")
    }
    assert len(looks) == len(set(looks.values())) == 20


def test_the_picture_of_a_front_names_at_most_twenty_of_two_hundred_timers() -> None:
    names = [f"fixed:rto={us}us,max=1s" for us in range(60_000, 160_000, 500)]
    many = ns.replay(ns.Delays.of(delays(), every=1.0), names)
    labels = shown(axes_of(many, "pareto"))
    named = [label for label in labels if label.startswith("fixed")]
    assert 1 <= len(named) <= 20
    assert {label.removesuffix(" (none seen)") for label in named} <= {
        algorithm.estimator for algorithm in many.front()
    }
    assert f"{200 - len(named)} other timers" in labels
    first = many.algorithms[0].estimator
    shown_labels = [mark.label for mark in pareto(many, first).marks if isinstance(mark, Points)]
    assert sum(label.startswith("fixed") for label in shown_labels) <= 20
    assert any(label.startswith(first) for label in shown_labels), "the recommended timer is named"


def test_a_histogram_counts_every_delay_and_the_timer_of_every_probe_once(replay: Replay) -> None:
    axes = axes_of(replay, "histogram")
    bars = sum(patch.get_height() for patch in axes.patches if hasattr(patch, "get_height"))
    assert bars == replay.delays.received
    outlines = shown(axes)
    for algorithm in replay.algorithms:
        assert sum(np.asarray(outlines[algorithm.estimator].get_ydata())) == algorithm.probes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("delay, timer", "probes")


def test_points_below_the_diagonal_of_a_scatter_plot_are_spurious_retransmissions(
    replay: Replay,
) -> None:
    handles = shown(axes_of(replay, "scatter"))
    known = ~np.isnan(replay.delays.rtt_s)
    diagonal = points(handles["timer = delay"])
    assert [x for x, _ in diagonal] == [y for _, y in diagonal]
    ends = np.nanmin(replay.delays.rtt_s), np.nanmax(replay.delays.rtt_s)
    assert (diagonal[0][0], diagonal[-1][0]) == ends
    for algorithm in replay.algorithms:
        placed = points(handles[algorithm.estimator])
        assert len(placed) == known.sum()
        assert sum(timer < delay for delay, timer in placed) == algorithm.spurious


def test_the_picture_of_a_front_shows_the_spurious_share_and_the_mean_of_each_timer(
    replay: Replay,
) -> None:
    axes = axes_of(replay, "pareto")
    handles = shown(axes)
    front = {algorithm.estimator for algorithm in replay.front()}
    seen = [a.spurious_share.value for a in replay.algorithms if a.spurious]
    for algorithm in replay.algorithms:
        label = algorithm.estimator + ("" if algorithm.spurious else " (none seen)")
        ((x, y),) = points(handles[label])
        assert y == algorithm.timer.value
        share = algorithm.spurious_share.value
        assert x == (share if share else pytest.approx(min(seen) / 3)), (
            "a share of zero must be drawn at a third of the smallest other share"
        )
        filled = handles[label].get_markerfacecolor() != "white"
        assert filled == (algorithm.estimator in front)
    assert axes.xaxis.get_major_formatter()(0.05, 0) == "5 %"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_picture_of_a_front_shows_the_intervals_of_the_timers(replay: Replay) -> None:
    picture = replayed(replay, "pareto")
    spans = [mark for mark in picture.marks if isinstance(mark, Spans)]
    bars = [mark for mark in picture.marks if isinstance(mark, Bars)]
    for algorithm, span, bar in zip(replay.algorithms, spans, bars, strict=True):
        assert (bar.low[0], bar.high[0]) == (algorithm.timer.low, algorithm.timer.high)
        edge = min(float(span.left[0]) for span in spans)
        assert span.right[0] == max(algorithm.spurious_share.high, edge)
        assert span.left[0] == max(algorithm.spurious_share.low, edge) >= picture.ends[0][0]


def test_a_front_is_drawn_even_if_no_timer_was_too_short() -> None:
    quiet = ns.replay(ns.Delays.of([0.1] * 50, every=1.0), ["mills", "linux"])
    handles = shown(axes_of(quiet, "pareto"))
    places = [points(handles[name])[0] for name in ("mills (none seen)", "linux (none seen)")]
    assert all(np.isfinite(place).all() and place[0] > 0 for place in places)


@pytest.mark.parametrize("kind", ["histogram", "scatter"])
def test_no_histogram_or_scatter_is_drawn_if_no_probe_was_answered(kind: str) -> None:
    gone = ns.replay(ns.Delays.of([None] * 20, every=1.0, name="gone"), ["mills"])
    with pytest.raises(
        ValueError, match="gone: no probe was answered, so there is nothing to draw"
    ):
        draw(gone, kind)
    assert len(points(shown(axes_of(gone, "timeline"))["lost"])) == 20


def test_a_replay_returns_its_pictures_and_writes_them(replay: Replay, tmp_path: Path) -> None:
    for kind in KINDS:
        file = tmp_path / f"{kind}.svg"
        assert getattr(replay.plot, kind)(file).axes[0].has_data()
        assert file.exists()
        axes = Figure().add_subplot()
        assert getattr(replay.plot, kind)(ax=axes) is axes.figure
        assert "<svg" in file.read_text()[:500]
    with pytest.raises(
        ValueError, match="no kind of plot is called 'pie'; the kinds are timeline, histogram"
    ):
        draw(replay, "pie")
    with pytest.raises(ValueError, match=r"a\.gif: the name of a plot's file must end in"):
        replay.plot.pareto(tmp_path / "a.gif")
    assert len(list(tmp_path.iterdir())) == len(KINDS)
