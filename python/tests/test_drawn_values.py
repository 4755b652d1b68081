"""Tests what matplotlib draws (lines, bars, labels and limits), and files for xplot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.pictures.marks import Bars, Cells, Picture, Points, Rules, Scale, Spans
from netspurt.pictures.measures import ELAPSED
from netspurt.pictures.ranges import FitPanel, Range
from netspurt.pictures.view import View
from netspurt.plots.files import save
from netspurt.plots.marks import draw_picture
from netspurt.plots.moving import draw_timeline, name_the_times
from netspurt.plots.passes import draw_passes
from netspurt.plots.ranges import draw_panels, draw_ranges
from netspurt.plots.style import draw_scale, new_figure, new_figures, root_figure, set_title
from netspurt.plots.xplot import write_xplot
from netspurt.timelines import Outage, Timeline, Way

from made_up_tables import MS, Tables, ack, flows, rtt, sack_blocks, segments

S = 1_000_000_000
NAN = float("nan")


def y_of(line: Any) -> NDArray[np.float64]:
    """Return the y values of a line."""
    return np.asarray(line.get_ydata(), dtype=float)


def x_of(line: Any) -> NDArray[np.float64]:
    """Return the x values of a line."""
    return np.asarray(line.get_xdata(), dtype=float)


def written(axis: Any) -> list[str]:
    """Return the numbers of an axis at its major ticks."""
    places = axis.get_majorticklocs()
    low, high = axis.get_view_interval()
    texts = axis.get_major_formatter().format_ticks(places)
    return [text for text, at in zip(texts, places, strict=True) if low <= at <= high]


def bar_heights(axes: Axes) -> list[float]:
    """Return the heights of all bars."""
    patches: list[Any] = list(axes.patches)
    return [patch.get_height() for patch in patches]


@pytest.mark.parametrize(("least", "bottom"), [(1.0, 0.0), (-1.0, -1.25)])
def test_bars_of_ranges_are_as_high_as_the_means(least: float, bottom: float) -> None:
    series = {"a": [Range(2, least, 4), Range(3, 3, 3)], "b": [Range(1, 1, 1), Range(0.5, 0, 1)]}
    figure = draw_ranges(["x", "y"], series, title="t", label="l", beneath="u")
    (axes,) = figure.axes
    assert bar_heights(axes) == [2, 3, 1, 0.5]
    spans = [c.get_segments() for c in axes.collections if isinstance(c, LineCollection)]
    ends = [[segment[:, 1].tolist() for segment in own] for own in spans]
    assert ends == [[[least, 4], [3, 3]], [[1, 1], [0, 1]]]
    assert axes.get_ylim()[0] == pytest.approx(bottom)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["x", "y"]
    (legend,) = [axes.get_legend()]
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    alone = draw_ranges(["x"], {"a": series["a"][:1]}, title="t", label="l", beneath="u")
    assert alone.axes[0].get_legend() is None
    assert Range.of(np.array([1.0, 2.0, 6.0])) == Range(3.0, 1.0, 6.0)


def test_panels_stand_four_in_a_row_and_have_the_same_y_axis() -> None:
    t = np.array([0.0, 5.0])
    panels = [FitPanel(f"p{n}", t, t + n, t + n + 0.5 if n == 2 else None) for n in range(5)]
    figure = draw_panels(panels, title="t", label="l", beneath="u")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert (len(shown), len(figure.axes)) == (5, 8)
    assert [axes.get_title(loc="left") for axes in shown] == ["p0", "p1", "p2", "p3", "p4"]
    assert [axes.get_xlim() for axes in shown] == [(0.0, 5.0)] * 5
    # The values of the first panel are 0 to 5, the values of the last panel 4 to 9. Each panel adds
    # a margin of 0.25, which is 5 % of its range. All panels have the same axis.
    assert shown[4].get_ylim() == pytest.approx((-0.25, 9.25))
    assert [len(axes.lines) for axes in shown] == [1, 1, 2, 1, 1]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["computed", "polynomial"]
    alone = draw_panels(panels[:1], title="t", label="l", beneath="u")
    assert (len(alone.axes), alone.legends, alone.axes[0].get_title(loc="left")) == (1, [], "")


def test_gaps_separate_satellite_passes_and_only_the_first_twenty_passes_have_numbers() -> None:
    each = [(np.array([n, n + 0.2, n + 0.4]), np.array([0.03, 0.02, 0.03])) for n in range(22)]
    (axes,) = draw_passes(each, 3 * 3600 + 1, title="path", start="noon").axes
    (line,) = axes.lines
    assert np.flatnonzero(np.isnan(y_of(line))).tolist() == list(range(3, 88, 4))
    assert np.nanmax(y_of(line)) == pytest.approx(30.0)
    marks: Any = axes.texts
    assert [mark.get_text() for mark in marks] == [str(n + 1) for n in range(20)]
    assert marks[7].xy == pytest.approx((7.2, 20.0))
    assert axes.get_ylim() == pytest.approx((18.0, 30.8))
    assert axes.get_xlabel() == "time [h] since noon"
    with pytest.raises(ValueError, match="there is no pass to draw: take a longer span"):
        draw_passes([], 5.0, title="path", start="noon")


def test_the_number_of_a_pass_is_inside_the_axes() -> None:
    still = (np.array([0.0, 1.0, 2.0]), np.array([0.12, 0.12, 0.12]))
    (axes,) = draw_passes([still], 2.0, title="path", start="noon").axes
    (mark,) = axes.texts
    number: Any = mark
    assert (number.xy, number.get_ha()) == ((1.0, pytest.approx(120.0)), "center")
    rising = (np.array([0.0, 1.0]), np.array([0.01, 0.02]))
    falling = (np.array([2.0, 3.0]), np.array([0.02, 0.01]))
    (axes,) = draw_passes([rising, falling], 3.0, title="path", start="noon").axes
    assert [text.get_horizontalalignment() for text in axes.texts] == ["left", "right"]


@pytest.mark.parametrize(
    ("least", "numbers"), [(1e-4, ["0.0001", "0.0002", "0.0005"]), (1e-7, ["1e-07", "1e-06"])]
)
def test_bit_error_rates_over_many_decades_have_numbers_at_powers_of_ten(
    least: float, numbers: list[str]
) -> None:
    way = Way(delay=[(0, MS), (S, MS)], bit_errors=[(0, least), (S, 0.1)])
    _, axes = draw_timeline(Timeline("x", way, between="linear"), end_s=2.0).axes
    drawn = [text for text in written(axes.yaxis) if text]
    place = drawn.index(numbers[0])
    assert drawn[place : place + len(numbers)] == numbers


@pytest.mark.parametrize(
    ("span_s", "label", "one"),
    [(0.5, "time [ms]", 1e-3), (0.6, "time [s]", 1.0), (10_800, "time [s]", 1.0),
     (10_801, "time [h]", 3600.0)],
)  # fmt: skip
def test_the_time_axis_of_a_path_has_the_unit_that_fits(
    span_s: float, label: str, one: float
) -> None:
    figure = draw_timeline(Timeline("x", Way(delay=[(0, MS)])), end_s=span_s)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_xlim()) == (label, (0.0, span_s))
    if one != 1.0:
        ticks = [float(text.get_text()) * one for text in axes.get_xticklabels()]
        assert ticks == pytest.approx(axes.get_xticks().tolist())


def test_opportunities_are_drawn_as_a_mean_rate_and_the_trace_repeats() -> None:
    trace = Timeline("t", Way(opportunities=[n * MS for n in range(1, 101)]))
    (axes,) = draw_timeline(trace, end_s=1.0).axes
    # One packet of 1,500 octets in each millisecond is 12 Mbit/s. Each span of 5 ms has five
    # opportunities.
    assert axes.get_ylabel() == "mean rate in 0.005 s [Mbit/s]"
    (line,) = axes.lines
    assert len(x_of(line)) == 202
    assert y_of(line).mean() == pytest.approx(12.0, rel=0.01)
    assert y_of(line).min() >= 12 * 4 / 5 - 1e-9
    few = draw_timeline(Timeline("t", Way(opportunities=[500 * MS])), end_s=1.0)
    assert few.axes[0].get_ylabel() == "mean rate [kbit/s]"
    assert y_of(few.axes[0].lines[0]).tolist() == pytest.approx([24.0] * 3)


def test_the_picture_of_a_path_has_a_panel_for_each_value() -> None:
    rates = [(0, 10**6), (S, 5 * 10**6)]
    way = Way(delay=[(0, 5 * MS)], rate=rates, loss=[(S, 0.5)], bit_errors=[(0, 1e-6), (S, 1e-4)])
    figure = draw_timeline(Timeline("x", way, between="linear"), end_s=2.0)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["delay [ms]", "rate [Mbit/s]", "loss [%]", "bit error rate"]
    assert [axes.get_yscale() for axes in figure.axes] == ["linear"] * 3 + ["log"]
    styles = [axes.lines[0].get_drawstyle() for axes in figure.axes]
    assert styles == ["default", "steps-post", "default", "default"]
    assert y_of(figure.axes[1].lines[0]).tolist() == [1, 1, 5, 5]
    (loss,) = figure.axes[2].lines
    assert list(zip(x_of(loss), y_of(loss), strict=True)) == [(0, 50), (1, 50), (2, 50)]
    assert figure.axes[0].get_ylim() == pytest.approx((0.0, 5.4))
    assert figure.axes[0].get_title(loc="right") == ""


@pytest.mark.parametrize(
    # If the lowest value is more than 3/4 of the highest value, the axis does not begin at zero.
    ("low_ms", "limits"),
    [(74, (0.0, 102.08)), (76, (74.08, 101.92))],
)
def test_values_that_hardly_change_fill_the_axis(low_ms: int, limits: tuple[float, float]) -> None:
    way = Way(delay=[(0, low_ms * MS), (S, 100 * MS)])
    assert draw_timeline(Timeline("x", way)).axes[0].get_ylim() == pytest.approx(limits)


def test_directions_with_a_thousand_points_have_panels_of_their_own() -> None:
    def way(count: int, by: int) -> Way:
        return Way(delay=[(n * MS, (n % 7 + by) * MS) for n in range(count)], loss=by / 10)

    # The plot adds a point at the beginning and a point at the end, so 998 points become 1000.
    for count, panels in ((997, 1), (998, 2)):
        figure = draw_timeline(Timeline("x", way(count, 1), way(count, 2)))
        assert len(figure.axes) == panels
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "delay, forward [ms]",
        "delay, reverse [ms]",
    ]
    assert figure.axes[0].get_title(loc="right") == "loss 10 % forward, 20 % in reverse"


def test_a_path_with_only_outages_has_an_empty_panel_with_shades() -> None:
    way = Way(outages=[Outage(S, S), Outage(3 * S, 0)])
    (axes,) = draw_timeline(Timeline("x", way), end_s=5.0, view=View(start=1.5)).axes
    (shade,) = [c for c in axes.collections if isinstance(c, PolyCollection)]
    corners = np.asarray(shade.get_paths()[0].vertices)
    assert (corners[:, 0].min(), corners[:, 0].max()) == (1.5, 2.0)
    (change,) = axes.lines
    assert x_of(change).tolist() == [3.0, 3.0]
    assert (change.get_label(), list(axes.get_yticks())) == ("changes", [])
    with pytest.raises(ValueError, match="x has no delay, rate, changing loss, bit errors"):
        draw_timeline(Timeline("x"))


def test_the_line_of_a_paths_delay_has_a_gap_in_each_outage() -> None:
    drawn = {}
    for between, last in (("step", 4), ("linear", 4), ("step", 3)):
        delay = [(0, MS), (2 * S, 3 * MS), (last * S, 5 * MS)]
        way = Way(delay=delay, outages=[Outage(S, 2 * S)])
        (axes,) = draw_timeline(Timeline("x", way, between=between), end_s=5.0).axes
        drawn[between, last] = list(zip(x_of(axes.lines[0]), y_of(axes.lines[0]), strict=True))
    ends, begins = [(4, 5), (5, 5)], [(0, 1), (0, 1)]
    wanted = {
        ("step", 4): [*begins, (1, 1), (1, NAN), (3, 3), *ends],
        ("linear", 4): [*begins, (1, 2), (1, NAN), (3, 4), *ends],
        # The delay changes to 5 ms at 3 s, when the outage ends.
        ("step", 3): [*begins, (1, 1), (1, NAN), (3, 5), (3, 5), (5, 5)],
    }
    for key, points in wanted.items():
        np.testing.assert_allclose(drawn[key], points)


@pytest.mark.parametrize(
    ("scale", "ends", "label", "first_numbers"),
    [
        (Scale("x", "%"), (0.0, 0.5), "x", ["0 %", "10 %", "20 %"]),
        (Scale("x", "s"), (0.0, 0.05), "x [ms]", ["0", "10", "20"]),
        (Scale("x", "s", log=True), (1e-4, 2.0), "x", ["100 µs", "200 µs", "500 µs", "1 ms"]),
        (Scale("x", "B", log=True), (1e3, 2e5), "x [kB]", ["1", "2", "5", "10"]),
        # A small range of a logarithmic axis has evenly spaced numbers.
        (Scale("x", log=True), (2.0, 11.9), "x", ["2", "4", "6", "8", "10"]),
        (Scale("x", log=True), (2.0, 12.1), "x", ["2", "5", "10"]),
        (Scale("x", ELAPSED), (3600.0, 5400.0), "x [min]", ["60", "65", "70"]),
        (Scale("x", ELAPSED), (3600.0, 4199.0), "x [s]", ["3600", "3700"]),
        (Scale("x", whole=True), (0.0, 3.0), "x", ["0", "1", "2", "3"]),
        (Scale("x", ticks=((1.0, "one"), (2.0, "two"))), (0.0, 3.0), "x", ["one", "two"]),
        # A logarithmic axis has no zero. So the tick `0` is at the small value `zero`, and values
        # near it have no numbers.
        (Scale("x", "s", log=True, zero=0.01), (0.008, 100.0), "x", ["0", "20 ms", "50 ms"]),
        (Scale("x", "s", log=True, zero=0.01), (0.008, 9e6), "x", ["0", "50 ms", "100 ms"]),
    ],
)  # fmt: skip
def test_an_axis_has_numbers_in_its_unit(
    scale: Scale, ends: tuple[float, float], label: str, first_numbers: list[str]
) -> None:
    _, axes = new_figure()
    draw_scale(axes, scale, ends)
    assert (axes.get_ylabel(), axes.get_ylim()) == (label, ends)
    assert written(axes.yaxis)[: len(first_numbers)] == first_numbers
    assert (axes.get_yscale() == "log") == scale.log


def test_given_axes_must_belong_to_a_figure_and_be_as_many_as_the_plot_needs() -> None:
    figure = Figure()
    one, two = figure.subplots(1, 2)
    assert new_figures(2, [one, two], None, (3, 2)) == (figure, [one, two])
    with pytest.raises(ValueError, match="this plot needs 3 axes, and ax has 2"):
        new_figures(3, [one, two], None, (3, 2))
    with pytest.raises(ValueError, match="size is only for a new figure"):
        new_figures(2, [one, two], (3, 2), (3, 2))
    one.remove()
    with pytest.raises(ValueError, match="ax belongs to no figure"):
        root_figure(one)


def test_a_title_that_is_too_long_for_one_line_is_written_in_several_lines() -> None:
    _, axes = new_figure(size=(6, 4))
    set_title(axes, "short")
    assert axes.get_title(loc="left") == "short"
    axes.set_title("a text at the right of the title", loc="right")
    set_title(axes, "twenty-five characters now")
    assert axes.get_title(loc="left") == "twenty-five characters now\n"
    axes.set_title("", loc="right")
    set_title(axes, "word " * 20)
    assert len(axes.get_title(loc="left").splitlines()) > 1


def test_each_mark_draws_its_data_and_labels_appear_in_the_legend() -> None:
    two = np.array([1.0, 2.0])
    marks = (
        Spans(label="span", ink="red", y=two, left=two, right=two + 3),
        Bars(label="bar", ink="blue", x=two, low=two, high=two + 2, dot=3.0),
        Rules(label="rule", ink="green", x=two, dashed=True),
        Points(label="ring", ink="black", x=two, y=two, shape="ring"),
        Points(label="", ink="black", x=two, y=two, hollow=True),
    )
    _, axes = new_figure()
    draw_picture(axes, Picture(marks, Scale("y"), Scale("x"), aside="beside"))
    assert axes.get_legend_handles_labels()[1] == ["span", "bar", "rule", "ring"]
    spans, bars = [c.get_segments() for c in axes.collections if isinstance(c, LineCollection)]
    assert [one.tolist() for one in spans] == [[[1, 1], [4, 1]], [[2, 2], [5, 2]]]
    assert [one.tolist() for one in bars] == [[[1, 1], [1, 3]], [[2, 2], [2, 4]]]
    caps, dots, *rules, ring, hollow = axes.lines
    assert (caps.get_marker(), x_of(caps).tolist()) == ("|", [1, 2, 4, 5])
    assert y_of(dots).tolist() == [2, 3]
    assert [(x_of(rule)[0], rule.get_linestyle()) for rule in rules] == [(1, "--"), (2, "--")]
    faces = [line.get_markerfacecolor() for line in (ring, hollow)]
    assert faces == ["none", "white"]


def test_texts_of_dark_cells_are_white() -> None:
    values = np.array([[1.0, 2.0], [NAN, 5.0]])
    cells = Cells(label="c", ink="black", values=values, texts=(("1", "2"), ("", "5")))
    _, axes = new_figure()
    draw_picture(axes, Picture((cells,), Scale("y"), Scale("x")))
    told = {text.get_text(): (*text.get_position(), text.get_color()) for text in axes.texts}
    # The middle of the values is 3, and cells with smaller values are dark.
    assert told == {"1": (0, 0, "white"), "2": (1, 0, "white"), "5": (1, 1, "black")}


def test_a_figure_that_cannot_be_written_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure, _ = new_figure()
    good, bad = tmp_path / "a.svg", tmp_path / "b.gif"
    with pytest.raises(ValueError, match=r"b\.gif"):
        save(figure, [good, bad])

    def stop(file: Path, **_: object) -> None:
        Path(file).write_text("half a picture")
        raise KeyboardInterrupt

    monkeypatch.setattr(figure, "savefig", stop)
    with pytest.raises(KeyboardInterrupt):
        save(figure, [good])
    assert list(tmp_path.iterdir()) == []


def xplot(folder: Path, kind: str, *every: dict[str, Any], title: str = "two\nlines") -> list[str]:
    """Write a plot for xplot, and return its lines between the heading and the last line."""
    blocks = sack_blocks({"t_ns": 4 * MS, "left": 201, "right": 301})
    run = Tables(segments(*every), blocks, flows(), rtt((3, 2_500_000)), title=title)
    write_xplot(folder / "x.xpl", run, kind, View())
    lines = (folder / "x.xpl").read_text().splitlines()
    what = {"time-sequence": "time sequence graph", "rto": "round trips"}.get(kind, kind + " data")
    assert lines[:4] == ["double double", "title", f"a_==>_b ({what} of f, two lines)", "xlabel"]
    assert (lines[4:6], lines[-1]) == (["time", "ylabel"], "go")
    return lines[6:-1]


def test_a_file_for_xplot_has_a_command_for_each_mark(tmp_path: Path) -> None:
    again = {"t_ns": 5 * MS, "kind": "retransmission", "cause": "rto", "spurious": True}
    story = [{}, ack(2 * MS, 101), ack(4 * MS, 101, kind="dupack"), again]
    sequence = xplot(tmp_path, "time-sequence", *story)
    assert sequence == [
        "sequence number",
        "white",
        "line 0.000000000 1 0.000000000 101",
        "darrow 0.000000000 101",
        "uarrow 0.000000000 1",
        "red",
        "line 0.005000000 1 0.005000000 101",
        "darrow 0.005000000 101",
        "uarrow 0.005000000 1",
        "magenta",
        "diamond 0.005000000 1",
        "green",
        "line 0.002000000 101 0.004000000 101",
        "line 0.004000000 101 0.004000000 101",
        "dtick 0.004000000 101",
        "purple",
        "line 0.004000000 201 0.004000000 301",
    ]
    assert xplot(tmp_path, "rto", *story) == ["ms", "red", "dot 0.003000000 2.5"]
    assert xplot(tmp_path, "outstanding", *story[:2]) == [
        "octets",
        "red",
        "line 0.000000000 100 0.002000000 100",
        "line 0.002000000 100 0.002000000 0",
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["x.xpl"]


def test_plots_that_xplot_cannot_show_leave_no_file(
    tmp_path: Path,
) -> None:
    run = Tables(segments({}), rtt((3, 2_500_000)), flows())
    file = tmp_path / "x.xpl"
    with pytest.raises(ValueError, match="of time-sequence, rto, outstanding, but not of cwnd"):
        write_xplot(file, run, "cwnd", View())
    with pytest.raises(ValueError, match="flow f has no round trips in the selected time"):
        write_xplot(file, run, "rto", View(start=0.004))
    assert not file.exists()


@pytest.mark.parametrize(
    ("limits", "unit", "size"),
    [((0.0, 86_400.0), "h", 3600.0), ((3600.0, 18_000.0), "h", 3600.0), ((0.0, 0.02), "ms", 1e-3)],
)
def test_the_label_of_each_tick_says_the_time_of_the_tick(
    limits: tuple[float, float], unit: str, size: float
) -> None:
    axes = Figure().subplots()
    name_the_times(axes, limits)
    assert axes.get_xlabel() == f"time [{unit}]"
    assert axes.get_xlim() == pytest.approx(limits)
    places, labels = axes.get_xticks(), [label.get_text() for label in axes.get_xticklabels()]
    assert len(places) >= 4
    assert all(limits[0] <= place <= limits[1] for place in places)
    assert [float(label) * size for label in labels] == pytest.approx(list(places))
