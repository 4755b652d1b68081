"""Tests that the plots of a run show the values of its tables."""

from __future__ import annotations

import importlib
import inspect
import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

import netspurt as ns
from netspurt import plots
from netspurt.pictures import picture
from netspurt.plots import KINDS, View, draw

from conftest import Command


def labels(run: ns.Run, kind: str, view: View | None = None) -> dict[str, Any]:
    """Draw a plot; return the drawn objects of its legend by their labels."""
    axes = draw(run, kind, view).axes[0]
    handles, names = axes.get_legend_handles_labels()
    return dict(zip(names, handles, strict=True))


def test_a_time_sequence_plot_has_a_bar_for_each_segment(start_run: ns.Run) -> None:
    handles = labels(start_run, "time-sequence")
    retransmission_bars = [
        handles.pop(label) for label in list(handles) if label.startswith("retransmitted: ")
    ]
    assert set(handles) >= {"sent", "ACK", "duplicate ACK", "dropped or lost"}
    sent = handles["sent"]
    assert isinstance(sent, LineCollection)
    counts = (
        len(sent.get_segments()),
        sum(len(bars.get_segments()) for bars in retransmission_bars),
    )
    flows = start_run.flows
    assert counts == (
        int(flows["sent"][0] - flows["retransmissions"][0]),
        int(flows["retransmissions"][0]),
    )
    first = sent.get_segments()[0]
    assert np.allclose(first, [[0, 1], [0, 961]])


def test_sack_blocks_are_drawn(start: ns.Scenario) -> None:
    run = start.replace({"flows.transfer.tcp.recovery": "sack"}).run()
    assert "SACK block" in labels(run, "time-sequence")


def test_every_kind_of_plot_is_drawn_within_the_view(start_run: ns.Run) -> None:
    for kind in KINDS:
        axes = draw(start_run, kind, View(start=5.0, end=30.0)).axes[0]
        low, high = axes.dataLim.intervalx
        assert 5.0 <= low <= high <= 30.0, kind


def test_the_error_for_an_impossible_plot_gives_the_reason(start_run: ns.Run) -> None:
    for view, says in [
        (View(flow="x"), "no flow in segments is called 'x'"),
        (View(node="r1"), "no spied node in segments is called 'r1'"),
        (View(start=500.0), "nothing of flow transfer"),
    ]:
        with pytest.raises(ValueError, match=says):
            draw(start_run, "time-sequence", view)
    with pytest.raises(ValueError, match="no kind of plot is called 'pie'"):
        draw(start_run, "pie")


def test_a_single_segment_has_a_legend_beside_its_bar_and_no_density() -> None:
    one = {"flows.transfer.send": "1 segment", "stop": "9 s"}
    run = ns.new_scenario().replace(one).run()
    assert picture(run, "time-sequence").corner == "lower right"
    with pytest.raises(ValueError, match="too few packets of transfer at source for a density"):
        draw(run, "density")


def test_the_plot_methods_of_a_run_draw_its_pictures(start_run: ns.Run, tmp_path: Path) -> None:
    assert isinstance(start_run.plot.time_sequence(tmp_path / "a.png"), Figure)
    assert isinstance(start_run.plot.time_sequence(), Figure)
    start_run.plot.cwnd(tmp_path / "b.svg", View(end=20.0))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "b.svg").read_text()[:500]
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ValueError, match=r"c\.gif: .* must end in \.png, \.svg or \.pdf"):
        start_run.plot.rto(tmp_path / "c.gif")


def figure_functions() -> list[Any]:
    """Return all public functions and methods of plots that draw a figure with one `Axes`."""
    found = []
    for file in sorted(Path(plots.__file__).parent.glob("*.py")):
        module = importlib.import_module(f"netspurt.plots.{file.stem}".removesuffix(".__init__"))
        own = [
            member
            for member in vars(module).values()
            if getattr(member, "__module__", "") == module.__name__
        ]
        classes = [member for member in own if isinstance(member, type)]
        methods = [method for member in classes for method in vars(member).values()]
        found += [
            member
            for member in [*own, *methods]
            if inspect.isfunction(member)
            and not member.__name__.startswith("_")
            and member.__annotations__.get("return") == "Figure"
            # Two kinds of functions are left out: `saved` and `root_figure` draw nothing, and the
            # other functions draw several axes.
            and member.__name__ not in ("saved", "root_figure", "draw_panels", "draw_series")
            and member.__name__ not in ("draw_timeline", "draw_path", "path")
        ]
    return found


def test_every_plot_that_returns_a_figure_takes_an_axes_and_a_size() -> None:
    functions = figure_functions()
    assert len(functions) >= 12
    for function in functions:
        parameters = inspect.signature(function).parameters
        for name in ("ax", "size"):
            assert parameters[name].default is None, f"{function.__qualname__}({name})"
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_is_drawn_into_an_axes_of_the_caller(start_run: ns.Run, kind: str) -> None:
    figure = Figure(figsize=(4, 3))
    left, right = figure.subplots(1, 2)
    assert draw(start_run, kind, ax=right) is figure
    assert right.has_data()
    assert not left.has_data()
    assert " ".join(right.get_title(loc="left").split()) == start_run.title
    inner = figure.add_subfigure(figure.add_gridspec()[0]).add_subplot()
    assert draw(start_run, kind, ax=inner) is figure
    with pytest.raises(ValueError, match="size is only for a new figure"):
        draw(start_run, kind, ax=right, size=(3, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_titles_with_dollar_signs_are_drawn_as_they_are(kind: str) -> None:
    scenario = ns.Scenario.parse(DOLLARS, "x.toml")
    run = scenario.run()
    for figure in (draw(run, kind), draw(run, kind, ax=Figure().add_subplot())):
        figure.savefig(io.BytesIO(), format="svg")
        told = [text for text in figure.findobj(Text) if "$" in text.get_text()]
        assert any(text.get_text().replace("\n", " ") == scenario.title for text in told)
        assert not [text.get_text() for text in told if text.get_parse_math()]


#: A scenario with dollar signs in its title and in the names of its link and its flow.
DOLLARS = r"""
title = "Between $5 and $6"
stop = "20 s"
links.'$\p$' = { between = ["a", "b"], rate = "1 Mbit/s", delay = "20 ms", queue = "9 packets" }
flows.'$\q$' = { from = "a", to = "b", send = "30 segments" }
"""


def test_the_size_of_a_figure_is_in_inches(start_run: ns.Run, tmp_path: Path) -> None:
    figure = start_run.plot.cwnd(tmp_path / "a.png", size=(4, 3))
    assert figure.get_size_inches().tolist() == [4, 3]
    width, height = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
    assert (width, height) == (600, 450)


def test_ssthresh_without_bound_does_not_stretch_the_axis() -> None:
    run = ns.new_scenario().replace({"flows.transfer.profile": "rfc-2026", "stop": "60 s"}).run()
    assert int(run.cwnd["ssthresh_bytes"].max()) > 2**40
    later = run.cwnd["ssthresh_bytes"][run.cwnd["ssthresh_bytes"] < 2**40]
    most = max(int(run.cwnd[f"{name}_bytes"].max()) for name in ("cwnd", "flight"))
    axes = draw(run, "cwnd").axes[0]
    assert axes.get_ylim()[1] == pytest.approx(1.15 * max(most, later.max() / 1.15 * 1.1), rel=0.01)
    assert axes.get_ylabel() == "cwnd, ssthresh, flight size [kB]"


def test_timers_that_differ_by_large_factors_have_a_logarithmic_axis(start_run: ns.Run) -> None:
    assert draw(start_run, "rto").axes[0].get_yscale() == "linear"
    values = {
        "flows.transfer.tcp.rto.min": "50 s",
        "links.modem.rate": "9 Mbit/s",
        "stop": "60 s",
        "flows.transfer.send": "60 segments",
    }
    axes = draw(ns.new_scenario().replace(values).run(), "rto").axes[0]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] > 0.05
    assert axes.yaxis.get_major_formatter()(0.5) == "500 ms"


def test_short_timers_are_drawn_in_milliseconds() -> None:
    values = {"links.modem.rate": "9 Mbit/s", "flows.transfer.tcp.rto.initial": "300 ms"}
    values |= {
        "flows.transfer.profile": "rfc-2026",
        "stop": "9 s",
        "flows.transfer.tcp.rto.min": "9 ms",
        "links.modem.delay": "5 ms",
        "links.t1.rate": "9 Mbit/s",
    }
    axes = draw(ns.new_scenario().replace(values).run(), "rto").axes[0]
    assert axes.get_ylabel() == "timer, round trip [ms]"


@pytest.mark.parametrize("name", ["x.png", "x.svg", "x.xpl"])
def test_a_picture_replaces_an_older_file_with_the_same_name(
    name: str, saved_run: Path, netspurt: Command
) -> None:
    Path(name).write_text("an older picture")
    assert netspurt("plot", saved_run, "--out", name).returncode == 0
    assert b"an older picture" not in Path(name).read_bytes()


def test_the_folder_of_a_picture_is_made(start_run: ns.Run, tmp_path: Path) -> None:
    start_run.plot.cwnd(tmp_path / "new" / "inner" / "a.png")
    assert (tmp_path / "new" / "inner" / "a.png").is_file()


def test_the_same_run_draws_the_same_svg(start_run: ns.Run, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        start_run.plot.queue(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.fixture(scope="module")
def short_run() -> ns.Run:
    """Run a transfer whose last packet is short; after the transfer the path is idle."""
    values = {"flows.transfer.send": "40700 B", "flows.transfer.tcp.recovery": "reno"}
    return ns.new_scenario().replace(values).run()


def y_of(handle: Any) -> NDArray[Any]:
    """Return the vertical positions of a line."""
    return np.asarray(handle.get_ydata())


def x_of(handle: Any) -> NDArray[Any]:
    """Return the horizontal positions of a line."""
    return np.asarray(handle.get_xdata())


def test_the_lines_of_a_flow_end_when_the_flow_ends(short_run: ns.Run) -> None:
    end = float(short_run.flows.seconds("finished_ns")[0])
    assert end < short_run.stop_ns / 1e9
    for kind, name in (("cwnd", "cwnd"), ("rto", "rto")):
        assert x_of(labels(short_run, kind)[name])[-1] == pytest.approx(end), kind


def test_the_lines_of_an_endless_flow_end_with_the_run(start_run: ns.Run) -> None:
    for kind, name in (("cwnd", "cwnd"), ("rto", "rto")):
        assert x_of(labels(start_run, kind)[name])[-1] == pytest.approx(240.0), kind
    assert x_of(labels(start_run, "cwnd", View(end=30.0))["cwnd"])[-1] == pytest.approx(30.0)


def test_the_picture_of_a_timer_shows_its_initial_and_its_expired_values(start_run: ns.Run) -> None:
    handles = labels(start_run, "rto")
    assert (x_of(handles["rto"])[0], y_of(handles["rto"])[0]) == (0.0, 3.0)
    fired = start_run.rto.where(fired=True)
    assert len(fired) == int(start_run.flows["timeouts"][0]) > 0
    marks = y_of(handles["timeout"])
    # The table has the value after the timeout: ns-2 doubles the value that expired.
    assert np.allclose(2 * marks, fired.seconds("rto_ns"))


def test_retransmissions_are_drawn_on_top_and_visible_at_every_zoom(start_run: ns.Run) -> None:
    handles = labels(start_run, "time-sequence")
    handles.pop("spurious", None)
    retransmission_bars = {
        label: handles.pop(label) for label in list(handles) if label.startswith("retransmitted")
    }
    above = max(handle.get_zorder() for handle in handles.values())
    assert min(bars.get_zorder() for bars in retransmission_bars.values()) > above
    axes = draw(start_run, "time-sequence").axes[0]
    counts = [len(bars.get_segments()) for bars in retransmission_bars.values()]
    assert sum(counts) == int(start_run.flows["retransmissions"][0])
    dots = [line for line in axes.lines if line.get_marker() == "o" and line.get_markersize() >= 4]
    assert {len(x_of(dot)) for dot in dots} >= set(counts)


def test_spurious_segments_and_timeouts_and_go_back_n_have_marks_of_their_own(
    start_run: ns.Run,
) -> None:
    handles = labels(start_run, "time-sequence")
    retransmissions = start_run.segments.where(node="source", kind="retransmission")
    for label, causes in (
        ("retransmitted: timeout", {"rto"}),
        ("retransmitted: go-back-N", {"go-back-n"}),
    ):
        count = sum(cause in causes for cause in retransmissions["cause"].tolist())
        assert len(handles[label].get_segments()) == count > 0
    rings = x_of(handles["spurious"])
    assert rings.tolist() == retransmissions.select(retransmissions["spurious"]).seconds().tolist()


def test_the_tick_for_a_duplicate_ack_has_the_height_of_a_packet(start_run: ns.Run) -> None:
    ticks = labels(start_run, "time-sequence")["duplicate ACK"]
    assert isinstance(ticks, LineCollection)
    assert {float(np.ptp(tick[:, 1])) for tick in ticks.get_segments()} == {960.0}


def test_packets_are_numbered_from_1_and_the_last_packet_may_be_short(short_run: ns.Run) -> None:
    axes = draw(short_run, "time-sequence").axes[0]
    (right,) = axes.child_axes
    ticks = right.yaxis.get_major_locator().tick_values(0, 43)
    assert (ticks[0], right.get_ylabel()) == (1.0, "packet")
    assert axes.get_ylabel() == "sequence number [kB]"
    of_one = right.yaxis.get_major_locator().tick_values(0.6, 1.5)
    assert [tick for tick in of_one if tick < 1.5] == [1.0]


def test_fast_retransmits_are_marked_in_the_picture_of_cwnd(start_run: ns.Run) -> None:
    handles = labels(start_run, "cwnd")
    repairs = int(start_run.flows["fast_retransmits"][0])
    assert len(x_of(handles["fast retransmit"])) == repairs > 0
    assert "recovery begins" not in handles, "Tahoe has no recovery"


def test_queues_with_drops_or_many_packets_are_drawn_by_default(start_run: ns.Run) -> None:
    handles = labels(start_run, "queue", View(end=20.0))
    assert set(handles) == {"modem forward", "dropped"}
    line = handles["modem forward"]
    assert (x_of(line)[0], x_of(line)[-1]) == (0.0, 20.0)
    named = labels(start_run, "queue", View(link="t1", start=2.0, end=20.0))
    assert set(named) == {"t1 forward", "t1 reverse"}
    assert x_of(named["t1 reverse"])[0] == 2.0


def test_a_queue_that_changes_too_often_is_drawn_as_a_band_around_its_mean(
    start_run: ns.Run,
) -> None:
    axes = draw(start_run, "queue").axes[0]
    ((band,), (mean, *_)) = axes.collections, axes.lines
    edges = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert (edges.min(), edges.max()) == (0.0, 3.0)
    own = start_run.queue.where(link="modem", direction="forward")
    t = np.append(own.seconds(), 240.0)
    true = float(np.sum(own["queue_packets"] * np.diff(t))) / 240
    assert np.mean(y_of(mean)[:-1]) == pytest.approx(true)


def test_an_option_that_does_not_apply_to_a_kind_is_refused(start_run: ns.Run) -> None:
    with pytest.raises(ValueError, match="--link does not apply to cwnd plots, but to queue"):
        draw(start_run, "cwnd", View(link="modem"))
    with pytest.raises(ValueError, match="--flow does not apply to queue plots"):
        draw(start_run, "queue", View(flow="transfer"))
    with pytest.raises(ValueError, match="ends at 5 s, before its start, 8 s"):
        View(start=8, end=5)


def test_the_error_for_a_flow_at_the_wrong_node_names_the_right_node() -> None:
    text = """
        stop = "5 s"
        dumbbell = { pairs = 2, access = { rate = "9 Mbit/s" }, bottleneck = { rate = "1 Mbit/s" } }
        flows = { a = { from = "west0", to = "east0" }, b = { from = "west1", to = "east1" } }
    """
    run = ns.Scenario.parse(text).run()
    with pytest.raises(ValueError, match="flow b was not seen at west0, but at west1"):
        draw(run, "time-sequence", View(flow="b", node="west0"))
    with pytest.raises(ValueError, match="no spied node in segments is called 'r9'"):
        draw(run, "time-sequence", View(flow="b", node="r9"))


def test_the_error_for_a_full_disk_names_the_picture(
    start_run: ns.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("encoder error -2 when writing image file")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    with pytest.raises(OSError, match=r"x\.png cannot be written: encoder error") as caught:
        start_run.plot.cwnd(tmp_path / "x.png")
    assert "None" not in str(caught.value)
    assert "partial" not in str(caught.value)
