"""Tests pictures of runs, of two runs, and of sweeps: their content, units and bounds."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import NDArray

import netspurt as ns
from netspurt import _core
from netspurt.analysis import Interval
from netspurt.pictures import View as PictureView
from netspurt.pictures import picture
from netspurt.pictures.cases import in_ratios, legible, of_cases
from netspurt.pictures.marks import Band, Bars, Points, Scale
from netspurt.pictures.measures import in_words
from netspurt.pictures.thinning import kept, last_of_columns, merged
from netspurt.pictures.traffic import not_seen_before
from netspurt.plots import KINDS, NEEDS, View, draw
from netspurt.plots.beside import ComparedRun, draw_beside
from netspurt.plots.cases import draw_cases
from netspurt.plots.style import RED, draw_scale, new_figure
from netspurt.plots.xplot import XPLOT_KINDS, write_xplot
from netspurt.quantities import positions
from netspurt.run import OF_SEGMENTS

#: For each kind of picture: the label of its vertical axis.
LABELS = {
    "time-sequence": "sequence number [kB]",
    "cwnd": "cwnd, ssthresh, flight size [kB]",
    "rto": "timer, round trip [s]",
    "queue": "queued or in transmission [packets]",
    "outstanding": "outstanding data [kB]",
    "throughput": "throughput [kbit/s]",
    "density": "packets in a second",
    "flows": "octets sent [kB]",
}


def axes_of(run: ns.Run, kind: str, view: View | None = None) -> Axes:
    """Draw a picture of a run; return its axes."""
    return draw(run, kind, view).axes[0]


def shown(axes: Axes) -> dict[str, Any]:
    """Return the drawn objects of the legend by their labels."""
    handles, names = axes.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def x_of(handle: Any) -> NDArray[np.float64]:
    """Return the horizontal positions of a line."""
    return np.asarray(handle.get_xdata(), dtype=float)


def y_of(handle: Any) -> NDArray[np.float64]:
    """Return the vertical positions of a line."""
    return np.asarray(handle.get_ydata(), dtype=float)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_picture_has_the_runs_title_units_and_a_legend(
    start_run: ns.Run, kind: str
) -> None:
    axes = axes_of(start_run, kind, View(end=20.0))
    assert axes.get_title(loc="left") == start_run.title
    assert axes.get_xlabel() == "time [s]"
    assert axes.get_ylabel() == LABELS[kind]
    legend = axes.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == set(shown(axes))
    flow = {"cwnd": "transfer", "rto": "transfer", "queue": "", "flows": ""}.get(
        kind, "transfer at source"
    )
    assert axes.get_title(loc="right") == flow


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_picture_needs_all_tables_in_its_list_and_no_other_tables(
    start_run: ns.Run, kind: str
) -> None:
    always = {"flows", "retransmissions", "links"}
    recorded = {*NEEDS[kind]} | ({*OF_SEGMENTS} if "segments" in NEEDS[kind] else set())
    tables = {name: start_run.tables[name] for name in always | recorded}
    draw(dataclasses.replace(start_run, tables=tables), kind)
    for name in NEEDS[kind]:
        fewer = {key: table for key, table in tables.items() if key != name}
        with pytest.raises(ValueError, match=f"no table '{name}'"):
            draw(dataclasses.replace(start_run, tables=fewer), kind)


@pytest.mark.parametrize(("first", "last"), [(None, None), (3.0, None), (None, 7.0), (3.3, 17.7)])
def test_a_view_has_the_same_cwnd_at_each_instant_as_the_whole_run(
    start_run: ns.Run, first: float | None, last: float | None
) -> None:
    states = start_run.cwnd
    t, kept = View(start=first, end=last).during(states, 30.0)
    first, last = first or 0.0, last or 30.0
    assert t[0] >= first
    assert t[-1] == last
    assert (np.diff(t) >= 0).all()
    every, values = states.seconds(), states["cwnd_bytes"]
    for at in np.random.default_rng(1).uniform(max(first, every[0]), last, 200):
        drawn = kept["cwnd_bytes"][np.searchsorted(t, at, side="right") - 1]
        assert drawn == values[np.searchsorted(every, at, side="right") - 1], at


@pytest.mark.parametrize(
    ("most", "label", "five"),
    [
        (5.0, "x [B]", "5"),
        (1999.0, "x [B]", "5"),
        (2000.0, "x [kB]", "0.005"),
        (5e6, "x [MB]", "5e-06"),
        (5e9, "x [GB]", "5e-09"),
    ],
)
def test_the_unit_of_octets_fits_the_largest_value(most: float, label: str, five: str) -> None:
    _, axes = new_figure()
    draw_scale(axes, Scale("x", "B", low=0.0, high=most))
    assert axes.get_ylabel() == label
    assert axes.yaxis.get_major_formatter()(5, 0) == five


@pytest.mark.parametrize(("first", "last"), [(0.0, 10.0), (10.0, 30.0)])
def test_a_time_sequence_has_a_bar_for_each_segment_in_its_span_of_time(
    start_run: ns.Run, first: float, last: float
) -> None:
    handles = shown(axes_of(start_run, "time-sequence", View(start=first, end=last)))
    seen = start_run.segments.where(node="source")
    inside = (seen.seconds() >= first) & (seen.seconds() <= last)
    for kind, label in (("data", "sent"), ("retransmission", "retransmitted: ")):
        own = seen.select(inside & (seen["kind"] == kind))
        all_bars = [handles[name] for name in handles if name.startswith(label)]
        assert (len(all_bars) > 0) == (len(own) > 0)
        segments = [bar for bars in all_bars for bar in bars.get_segments()]
        drawn = sorted((bar[0][0], bar[0][1], bar[1][1]) for bar in segments)
        ends = own["seq"] + own["len_bytes"]
        assert drawn == sorted(zip(own.seconds(), own["seq"], ends, strict=True))
    acks = y_of(handles["ACK"])
    assert (np.diff(acks) >= 0).all(), "the line of ACKs must never fall"


def test_every_drop_is_a_cross_at_its_instant(start_run: ns.Run) -> None:
    crosses = shown(axes_of(start_run, "time-sequence", View(end=40.0)))["dropped or lost"]
    drops = start_run.drops.select(start_run.drops.seconds() <= 40.0)
    assert x_of(crosses).tolist() == drops.seconds().tolist()


def test_a_cross_has_the_octets_of_the_dropped_packet(start_run: ns.Run) -> None:
    marks = picture(start_run, "time-sequence").marks
    (cross,) = (mark for mark in marks if mark.label == "dropped or lost")
    assert isinstance(cross, Points)
    sent = start_run.segments.where(direction="forward", node="source")
    rows = zip(*(sent[name].tolist() for name in ("id", "seq", "len_bytes")), strict=True)
    octets = {one: (seq, seq + length) for one, seq, length in rows}
    assert cross.low is not None
    assert cross.high is not None
    told = list(zip(cross.low.tolist(), cross.high.tolist(), strict=True))
    assert told == [octets[one] for one in start_run.drops["id"].tolist()]


def test_marks_have_packet_numbers_only_if_the_sizes_of_packets_differ() -> None:
    run = ns.load("requests").run()
    shown_picture = picture(run, "time-sequence", PictureView(direction="reverse"))
    assert shown_picture.packet_bytes is None
    (sent,) = (mark for mark in shown_picture.marks if mark.label == "sent")
    assert isinstance(sent, Bars)
    first = str(run.flows["flow"][0])
    replies = run.segments.where(flow=first, direction="reverse", way="out", kind="data")
    assert sent.packet is not None
    assert sent.packet.tolist() == replies["packet"].tolist()
    equal_sizes = picture(ns.load("early-timeout").run(), "time-sequence")
    assert equal_sizes.packet_bytes
    assert all(getattr(mark, "packet", None) is None for mark in equal_sizes.marks)


def test_every_timeout_is_a_vertical_line_in_the_picture_of_cwnd(start_run: ns.Run) -> None:
    axes = axes_of(start_run, "cwnd", View(end=60.0))
    lines = [line for line in axes.lines if to_hex(line.get_color()) == RED]
    fired = start_run.rto.where(fired=True).seconds()
    assert sorted(x_of(line)[0] for line in lines) == fired[fired <= 60.0].tolist()
    assert sum(line.get_label() == "timeout" for line in lines) == (1 if lines else 0)
    low, high = axes.get_ylim()
    assert low == 0
    assert high > y_of(shown(axes)["cwnd"]).max()


def test_a_picture_of_timers_has_a_dot_for_each_sample(start_run: ns.Run) -> None:
    axes = axes_of(start_run, "rto", View(start=5.0, end=50.0))
    dots = shown(axes)["round-trip sample"]
    rtt = start_run.rtt
    own = rtt.select((rtt.seconds() >= 5.0) & (rtt.seconds() <= 50.0))
    assert x_of(dots).tolist() == own.seconds().tolist()
    assert y_of(dots).tolist() == own.seconds("rtt_ns").tolist()
    assert axes.get_ylim()[0] == 0


def test_the_picture_of_a_queue_shows_every_change_and_drop(start_run: ns.Run) -> None:
    axes = axes_of(start_run, "queue", View(link="modem", end=30.0))
    handles = shown(axes)
    own = start_run.queue.where(link="modem", direction="forward")
    own = own.select(own.seconds() <= 30.0)
    line = handles["modem forward"]
    assert y_of(line)[1:-1].tolist() == own["queue_packets"].tolist(), (
        "after the first point, where the queue is empty, the line must have all changes"
    )
    assert x_of(line)[1:-1].tolist() == own.seconds().tolist()
    drops = start_run.drops.where(link="modem", link_direction="forward")
    crosses = handles["dropped"]
    assert x_of(crosses).tolist() == drops.seconds()[drops.seconds() <= 30.0].tolist()
    assert set(y_of(crosses)) == {3.0}, "drops must be drawn at the height of three packets"
    assert axes.get_ylim()[0] == 0


#: A scenario with two requests, each answered by a reply of 20 kB.
REPLIES = """
stop = "3 s"
[record]
spy = ["a", "b"]
[links.path]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "10 ms"
[flows.pages]
from = "a"
to = "b"
send = "200 B"
app = { reply = "20 kB", requests = 2 }
"""


def test_the_reverse_direction_shows_the_replies_as_seen_beside_their_sender() -> None:
    run = ns.Scenario.parse(REPLIES).run()
    reverse = View(direction="reverse")
    assert axes_of(run, "time-sequence", reverse).get_title(loc="right") == "pages (reverse) at b"
    assert axes_of(run, "cwnd", reverse).get_title(loc="right") == "pages (reverse)"
    bars = shown(axes_of(run, "time-sequence", reverse))["sent"]
    sent = run.segments.where(node="b", direction="reverse", kind="data")
    assert len(bars.get_segments()) == len(sent)
    with pytest.raises(ValueError, match="'up' is neither forward nor reverse"):
        View(direction="up")


#: Flows that begin after echo probes and after a population, so that the first rows of tables are
#: not about these flows.
CROWDED = """
title = "Seven late flows"
stop = "6 s"
links = { line = { between = ["a", "b"], rate = "9 Mbit/s", delay = "5 ms" } }
flows = { late = { from = "a", to = "b", send = "19 kB", count = 7, start = "4 s" } }
echo_probes = { ping = { from = "a", to = "b", lengths = ["64 B"], count = 99, gap = "20 ms" } }
populations = { web = { from = "b", to = "a", arrivals = "every:500 ms", send = "9 kB" } }
"""


@pytest.fixture(scope="module")
def crowded() -> ns.Run:
    """Return the run of late flows."""
    return ns.Scenario.parse(CROWDED).run()


@pytest.mark.parametrize(
    "kind", ["time-sequence", "cwnd", "rto", "outstanding", "throughput", "density"]
)
def test_a_picture_shows_the_first_flow_even_if_tables_begin_with_other_packets(
    crowded: ns.Run, kind: str, tmp_path: Path
) -> None:
    assert axes_of(crowded, kind).get_title(loc="right").partition(" ")[0] == "late.0"
    if kind in XPLOT_KINDS:
        write_xplot(tmp_path / "x.xpl", crowded, kind, View())
        assert " of late.0," in (tmp_path / "x.xpl").read_text()


def test_echo_probes_have_no_pictures_of_data(crowded: ns.Run) -> None:
    for kind in ("throughput", "outstanding", "density", "time-sequence", "flows"):
        with pytest.raises(ValueError, match="no flow in segments is called 'ping'"):
            draw(crowded, kind, View(flow="ping"))
    alone = ns.Scenario.parse(CROWDED).set_text({}, ["flows", "populations"]).run()
    with pytest.raises(ValueError, match="nothing to draw: all packets are of echo probes"):
        draw(alone, "flows")


def test_a_picture_of_flows_says_how_many_flows_it_leaves_out(crowded: ns.Run) -> None:
    aside = axes_of(crowded, "flows").get_title(loc="right")
    assert aside == "the 6 of 19 flows with the most data"
    assert axes_of(crowded, "flows", View(flow="late.0,late.1")).get_title(loc="right") == ""


def test_an_xplot_file_shows_the_busier_direction_and_connections_of_populations(
    crowded: ns.Run, tmp_path: Path
) -> None:
    for run, flow, title in (
        (ns.Scenario.parse(REPLIES).run(), None, "b_==>_a (time sequence graph of pages (reverse)"),
        (crowded, "web.0", "web.0 (time sequence graph of web.0"),
    ):
        write_xplot(tmp_path / "x.xpl", run, "time-sequence", View(flow=flow))
        assert (tmp_path / "x.xpl").read_text().splitlines()[2].startswith(title)


def test_a_legend_says_that_rttvar_is_below_a_logarithmic_axis(start_run: ns.Run) -> None:
    assert "rttvar of ns-2" in shown(axes_of(start_run, "rto"))
    values = {"flows.pages.profile": "plain", "links.path.rate": "9 Gbit/s"}
    axes = axes_of(ns.Scenario.parse(REPLIES).replace(values).run(), "rto")
    low = shown(axes)["rttvar of rfc6298 (below this axis)"]
    assert y_of(low).max() < axes.get_ylim()[0]


# Two runs.


def beside(start_run: ns.Run, parted: float | None) -> Figure:
    """Draw a run beside itself, with a line `parted` seconds after the first data."""
    view = View(flow="transfer", node="source")
    sides = ComparedRun(start_run, "one", 0.0, view), ComparedRun(start_run, "other", 2.0, view)
    return draw_beside(sides, 10.0, parted)


def test_runs_side_by_side_begin_with_their_first_data(start_run: ns.Run) -> None:
    figure = beside(start_run, 1.5)
    left, right = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["one", "other"]
    assert left.get_ylim() == right.get_ylim()
    for axes, start in ((left, 0.0), (right, 2.0)):
        assert axes.get_xlim() == pytest.approx((start - 0.2, start + 10.2))
        texts = [text.get_text() for text in axes.get_xticklabels()]
        places = [start + float(text) for text in texts]
        assert places == pytest.approx(axes.get_xticks())
        dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
        assert [x_of(line)[0] for line in dotted] == [start + 1.5]
        assert axes.get_legend() is None
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == len(set(names))
    assert {"sent", "ACK"} <= set(names)


def test_equal_runs_have_no_line_at_a_first_difference(start_run: ns.Run) -> None:
    for axes in beside(start_run, None).axes[:2]:
        assert not [line for line in axes.lines if line.get_linestyle() == ":"]


# Sweeps.


#: The value of a measure, with its interval, for each combination of labels.
Figures = dict[tuple[str, ...], Interval]


def interval(value: float, reach: float = 0.5) -> Interval:
    """Return a value with an interval that reaches equally far up and down."""
    return Interval(value, value - reach, value + reach, 0.95, 1)


NAN = float("nan")


def test_bars_are_as_high_as_their_values_and_have_the_known_intervals() -> None:
    figures: Figures = {
        ("a",): interval(2.0),
        ("b",): interval(5.0, 1.0),
        ("c",): interval(4.0, NAN),
    }
    axes = draw_cases("bar", figures, ["algorithm"], "timeouts", "Title").axes[0]
    assert [patch.get_height() for patch in axes.patches] == [2.0, 5.0, 4.0]  # type: ignore[attr-defined]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b", "c"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("algorithm", "timeouts")
    assert axes.get_title(loc="left") == "Title"
    spans = [c for c in axes.collections if isinstance(c, LineCollection)]
    ends = [tuple(span[:, 1].tolist()) for span in spans[0].get_segments() if len(span)]
    assert ends == [(1.5, 2.5), (4.0, 6.0)], "only known intervals may be drawn"
    assert axes.get_legend() is None


def test_bars_of_a_sweep_with_two_axes_stand_in_groups() -> None:
    figures: Figures = {(a, b): interval(1.0) for a in ("x", "y") for b in ("p", "q", "r")}
    del figures["y", "q"]
    axes = draw_cases("bar", figures, ["one", "two"], "sent").axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "two"
    assert [text.get_text() for text in legend.get_texts()] == ["p", "q", "r"]
    places = sorted(patch.get_x() for patch in axes.patches)  # type: ignore[attr-defined]
    assert len(set(np.round(places, 6))) == 6, "each bar must have its own place"
    heights = [patch.get_height() for patch in axes.patches]  # type: ignore[attr-defined]
    assert sum(np.isnan(heights)) == 1, "exactly one bar must have no height"


@pytest.mark.parametrize(
    ("labels", "scale", "places"),
    [
        (["1 kbit/s", "10 kbit/s", "1 Mbit/s"], "log", [1e3, 1e4, 1e6]),
        (["10 ms", "20 ms", "30 ms"], "linear", [0.01, 0.02, 0.03]),
    ],
)
def test_the_points_of_a_line_stand_at_the_values_of_their_labels(
    labels: list[str], scale: str, places: list[float]
) -> None:
    figures: Figures = {(label,): interval(float(n)) for n, label in enumerate(labels)}
    axes = draw_cases("line", figures, ["name"], "sent").axes[0]
    (line,) = axes.lines
    assert x_of(line) == pytest.approx(places)
    assert y_of(line).tolist() == [0.0, 1.0, 2.0]
    assert axes.get_xscale() == scale
    assert [text.get_text() for text in axes.get_xticklabels()] == labels


@pytest.mark.parametrize(
    "labels", [["sack", "reno", "tahoe"], ["1", "10 ms", "2"], [f"down-{n}.25" for n in range(10)]]
)
def test_labels_without_an_order_have_points_with_intervals_and_no_line(labels: list[str]) -> None:
    """Every label is shown. An interval with only one known end is not drawn."""
    figures: Figures = {(label,): interval(float(n)) for n, label in enumerate(labels)}
    figures[labels[1],] = Interval(0.0, np.nan, 1.8, 0.95, 1)
    axes = draw_cases("line", figures, ["name"], "sent").axes[0]
    (points,) = (line for line in axes.lines if line.get_marker() == "o")
    assert points.get_linestyle() == "None"
    assert x_of(points).tolist() == [*range(len(labels))]
    assert [text.get_text() for text in axes.get_xticklabels()] == labels
    made = of_cases("line", figures, ["name"], "sent").marks
    (bars,) = (mark for mark in made if isinstance(mark, Bars))
    assert np.isnan(bars.low).tolist() == [n == 1 for n in range(len(labels))]


def test_a_band_is_drawn_only_where_there_are_intervals() -> None:
    figures: Figures = {(f"{n} ms",): interval(float(n)) for n in range(1, 5)}
    figures["3 ms",] = Interval(0.0, np.nan, 1.8, 0.95, 1)
    made = of_cases("line", figures, ["delay"], "sent").marks
    (band,) = (mark for mark in made if isinstance(mark, Band))
    assert (
        np.isnan(band.low).tolist() == np.isnan(band.high).tolist() == [False, False, True, False]
    )


def test_a_heat_map_has_a_cell_for_each_pair_that_exists() -> None:
    figures: Figures = {
        (a, b): interval(n) for n, (a, b) in enumerate([("x", "p"), ("y", "p"), ("x", "q")])
    }
    axes = draw_cases("heat-map", figures, ["one", "two"], "sent", "Title").axes[0]
    cells = {(int(t.get_position()[0]), int(t.get_position()[1])): t.get_text() for t in axes.texts}
    assert cells == {
        (0, 0): "0\n-0.5 .. 0.5",
        (1, 0): "1\n0.5 .. 1.5",
        (0, 1): "2\n1.5 .. 2.5",
    }
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("one", "two")
    assert axes.get_title(loc="left") == "Title: packets sent"


@pytest.mark.parametrize(
    ("kind", "names", "says"),
    [
        ("pie", ["one"], "no kind of plot is called 'pie'; the kinds are bar, line, heat-map"),
        ("heat-map", ["one"], r"a heat-map shows two names, and not 1 \(one\): choose axes"),
        ("bar", [], "a bar shows one name or two, and not 0: choose axes"),
        ("line", ["a", "b", "c"], r"a line shows one name or two, and not 3 \(a, b, c\): choose"),
    ],
)
def test_an_unknown_kind_of_plot_and_a_wrong_number_of_names_are_errors(
    kind: str, names: list[str], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        draw_cases(kind, {("x",): interval(1.0)}, names, "sent")


def test_labels_are_written_only_if_there_is_room() -> None:
    labels = [f"{n} ms" for n in range(200)]
    kept = legible(np.arange(200.0), labels)
    assert kept[0] == 0
    assert 5 < len(kept) < 60
    assert kept == sorted(kept)
    assert legible([3.0], ["alone"]) == [0]
    assert positions(["1e3", "2e3"]) == [1000.0, 2000.0]
    assert positions(["inf", "1"]) is None
    assert not in_ratios([0.0, 1.0, 100.0]), (
        "values with a zero must not be put on a logarithmic axis"
    )


def test_the_axis_names_a_measure_in_words_and_with_a_unit_that_fits() -> None:
    figures: Figures = {("a",): interval(2.5e8, 1e7), ("b",): interval(1e8, 1e7)}
    for measure, label, height in (
        ("completion_ns_mean", "mean completion time [ms]", 250.0),
        ("goodput_bps", "goodput [Mbit/s]", 250.0),
        ("carried_bytes", "carried [MB]", 250.0),
        ("waited_ns/flows", "waited for timeouts / flows [ms]", 250.0),
        ("acked_bytes/carried_bytes", "acknowledged / carried", 2.5e8),
    ):
        axes = draw_cases("bar", figures, ["algorithm"], measure).axes[0]
        assert axes.get_ylabel() == label
        assert axes.patches[0].get_height() == pytest.approx(height)  # type: ignore[attr-defined]


def test_every_column_of_a_sweep_has_a_name_in_words() -> None:
    for column in _core.SWEEP_COLUMNS:
        words, _, unit = in_words(column)
        assert "_" not in words
        assert bool(unit) == bool(re.search("_(ns|bytes|bps|packets)(_|$)", column)), column


def test_ten_labels_of_an_axis_are_slanted_and_none_is_left_out() -> None:
    names = ["reno", "floor", "limited", "early", "sfr", "sfr-next", "rack-tlp", "both", "linux"]
    names.append("linux-sfr")
    figures: Figures = {(name,): interval(1.0) for name in names}
    labels = draw_cases("bar", figures, ["stack"], "sent").axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == names
    assert labels[0].get_rotation() > 0


def test_many_labels_are_thinned_or_refused() -> None:
    many: Figures = {(f"{n} ms",): interval(float(n)) for n in range(1000)}
    for kind in ("bar", "line"):
        ticks = draw_cases(kind, many, ["delay"], "sent").axes[0].get_xticklabels()
        assert 5 < len(ticks) < 100
        assert ticks[0].get_text() == "0 ms"
    square: Figures = {(f"{a}", f"{b}"): interval(1.0) for a in range(200) for b in range(200)}
    axes = draw_cases("heat-map", square, ["a", "b"], "sent").axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()][:3] == ["0", "5", "10"]
    assert 5 < len(axes.get_xticklabels()) < 100
    for kind in ("bar", "line"):
        with pytest.raises(ValueError, match=r"b has 200 labels, and a .* draw a heat-map"):
            draw_cases(kind, square, ["a", "b"], "sent")


def test_sweeps_are_drawn_into_an_axes_of_the_caller() -> None:
    figures: Figures = {(a, b): interval(1.0) for a in "xy" for b in "pq"}
    for kind in ("bar", "line", "heat-map"):
        axes = Figure().add_subplot()
        assert draw_cases(kind, figures, ["a", "b"], "sent", ax=axes) is axes.figure
        assert axes.has_data()


def test_two_runs_are_drawn_into_two_axes_of_the_caller(start_run: ns.Run) -> None:
    view = View(flow="transfer", node="source")
    sides = (ComparedRun(start_run, "one", 0.0, view), ComparedRun(start_run, "two", 0.0, view))
    both = Figure().subplots(1, 2)
    assert draw_beside(sides, 10.0, None, ax=both) is both[0].figure
    assert all(axes.has_data() for axes in both)
    with pytest.raises(ValueError, match="needs 2 axes, and ax has 1"):
        draw_beside(sides, 10.0, None, ax=both[:1])
    assert draw_beside(sides, 10.0, None, size=(8, 3)).get_size_inches().tolist() == [8, 3]


def test_a_long_title_leaves_room_for_the_text_at_its_right(start_run: ns.Run) -> None:
    long = dataclasses.replace(start_run, title="A transfer over a line of 9600 bit/s " * 4)
    axes = axes_of(long, "rto")
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in (axes._left_title, axes._right_title)]  # type: ignore[attr-defined]
    inside = figure.bbox
    assert not boxes[0].overlaps(boxes[1]) or boxes[0].y0 > boxes[1].y0
    assert all(box.x0 >= 0 and box.x1 <= inside.x1 for box in boxes)
    assert axes.get_title(loc="left").count("\n") >= 2


def test_the_picture_of_a_long_run_has_as_many_marks_as_are_allowed() -> None:
    count = 50_000
    t: NDArray[np.float64] = np.linspace(0.0, 500.0, count, endpoint=False)
    low = 1000.0 * np.arange(count)
    bars = merged(np.column_stack([t, low, low + 1000]))
    assert len(bars) == 4000
    assert (bars[0, 1], bars[-1, 2]) == (0, 1000 * count), "the bars must cover all octets"
    assert (bars[1:, 1] == bars[:-1, 2]).all(), "the bars must follow each other without a gap"
    climbing = last_of_columns(t)
    assert len(climbing) == 4000
    assert climbing[-1] == count - 1
    few = np.column_stack([t, low, low + 1])[:20_000]
    assert merged(few) is few
    assert len(kept(*few[:, :2].T)) == 20_000
    assert len(kept(t, np.zeros(count))) == 4000


def test_the_time_axis_says_that_marks_were_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ns.new_scenario().replace({"stop": "20 s"}).run()
    whole = run.plot.time_sequence().axes[0]
    monkeypatch.setattr("netspurt.plots.marks.MOST", 10)
    monkeypatch.setattr("netspurt.pictures.thinning.MOST", 10)
    monkeypatch.setattr("netspurt.pictures.thinning.COLUMNS", 5)
    thinned = run.plot.time_sequence().axes[0]
    assert "marks in one column of dots" in thinned.get_xlabel()
    assert "marks in one column of dots" not in whole.get_xlabel()
    assert thinned.get_ylim() == pytest.approx(whole.get_ylim(), rel=0.05)


@pytest.mark.parametrize("seed", range(20))
def test_octets_are_counted_as_new_only_once_in_any_order_of_segments(seed: int) -> None:
    chance = np.random.default_rng(seed)
    seq = chance.integers(0, 60, 40)
    length = chance.integers(1, 12, 40)
    seen: set[int] = set()
    expected = []
    for first, count in zip(seq.tolist(), length.tolist(), strict=True):
        own = set(range(first, first + count))
        expected.append(len(own - seen))
        seen |= own
    assert not_seen_before(seq, length).tolist() == expected
