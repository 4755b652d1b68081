"""Tests pictures of long runs and of values that change often: units, axes, ranges and legends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import netspurt as ns
from netspurt import __version__
from netspurt.pictures import View, picture
from netspurt.pictures.marks import TIME, Band, Picture, Points, Polyline, Scale
from netspurt.pictures.steps import steps
from netspurt.plots.beside import ComparedRun, draw_beside
from netspurt.plots.marks import draw_picture
from netspurt.report import page, run_section
from netspurt.report.parts import Flow, Group, Panel, Part, Section, Side

from report_pages import all_of, opened, settled


@pytest.fixture(scope="module")
def early() -> ns.Run:
    """Return a run of the scenario `early-timeout`."""
    return ns.load("early-timeout").run()


def over(seconds: float) -> Picture:
    """Return a picture of 50 points over this time."""
    x = np.linspace(0.0, seconds, 50)
    return Picture((Points(label="one", ink="blue", x=x, y=x + 1),), Scale("y"), TIME)


@pytest.mark.parametrize(
    ("seconds", "label", "step"),
    [(50, "time [s]", 1.0), (4000, "time [min]", 60.0), (40_000, "time [h]", 3600.0)],
)
def test_an_axis_of_time_counts_seconds_minutes_or_hours(
    seconds: float, label: str, step: float
) -> None:
    axes = Figure().add_subplot()
    draw_picture(axes, over(seconds))
    assert axes.get_xlabel() == label
    inside = [tick for tick in axes.get_xticks() if 0 < tick <= seconds]
    assert len(inside) > 2
    texts = [axes.xaxis.get_major_formatter()(tick, 0) for tick in inside]
    assert [float(text) * step for text in texts] == pytest.approx(inside)
    assert all(len(text) <= 4 for text in texts), "a tick's text must have at most four characters"


def test_a_label_mentions_merged_marks_only_if_some_marks_are_left_out() -> None:
    x = np.linspace(0.0, 50.0, 30_000)
    line = Polyline(label="line", ink="blue", x=x, y=x % 2)
    points = Points(label="points", ink="blue", x=x, y=x)
    for mark, merged in ((line, False), (points, True)):
        axes = Figure().add_subplot()
        draw_picture(axes, Picture((mark,), Scale("y"), TIME))
        assert ("are merged" in axes.get_xlabel()) == merged


def test_an_axis_of_time_does_not_begin_before_the_run(early: ns.Run) -> None:
    for kind in ("time-sequence", "rto", "cwnd", "throughput", "queue"):
        assert picture(early, kind).ends[0][0] == 0.0, kind
    later = picture(early, "time-sequence", View(start=20.0))
    assert later.ends[0][0] > 15.0


def test_the_page_of_a_long_run_has_hours_and_begins_at_zero(browser: Any, tmp_path: Path) -> None:
    flow = Flow("x", [Panel("rto", "one", over(40_000.0))])
    file = tmp_path / "long.html"
    section = Section("long", [Part("long")], groups=[Group([Side("long", [flow])])])
    file.write_text(page([section], file))
    opened(browser, file)
    assert all_of(browser, "output.span")[0].text == "0.00 to 11.11 h"
    all_of(browser, ".frame")[0].send_keys(".", ".")
    settled(browser)
    spoken = all_of(browser, ".spoken")[0].get_attribute("value")
    assert " 816.326530612 s (13 min 36 s)" in spoken


def test_a_page_names_its_version_once(early: ns.Run, tmp_path: Path) -> None:
    text = page([run_section(early, "early")], tmp_path / "page.html")
    assert text.count(f"netspurt {__version__}") == 1


def test_values_that_change_often_are_drawn_as_a_range_and_a_mean_if_nobody_can_zoom_in() -> None:
    """If `whole` is true, the picture is for a page, whose reader can zoom in."""
    t = np.arange(6000) / 100
    comb = np.where(np.arange(6000) % 2, 40_000.0, 0.0)
    band, mean = steps("outstanding", "blue", (t, comb), whole=False)
    assert isinstance(band, Band)
    assert isinstance(mean, Polyline)
    assert mean.label == "outstanding, mean and range"
    assert len(mean.x) < 300
    assert set(band.low) == {0.0}
    assert set(band.high) == {40_000.0}
    assert mean.y[:-2] == pytest.approx(20_000, rel=0.1)
    (line,) = steps("outstanding", "blue", (t, comb), whole=True)
    assert isinstance(line, Polyline)
    assert len(line.x) == 6000


def test_a_page_shows_frequent_changes_as_a_range_until_the_reader_zooms_in(
    browser: Any, tmp_path: Path
) -> None:
    t = np.arange(6000) / 100
    comb = np.where(np.arange(6000) % 2, 40_000.0, 0.0)
    marks = tuple(steps("outstanding", "blue", (t, comb), whole=True))
    flow = Flow("x", [Panel("outstanding", "one", Picture(marks, Scale("y", "B", low=0.0), TIME))])
    file = tmp_path / "comb.html"
    section = Section("comb", [Part("comb")], groups=[Group([Side("comb", [flow])])])
    file.write_text(page([section], file))
    opened(browser, file)
    note = "return document.querySelectorAll('figcaption .aside')[1].hidden"
    assert browser.execute_script(note) is False
    # Compute the share of pixels in the full colour of the line. In a solid block, it is nearly 1.
    # In a range, it is small, because only the line of the mean has this colour.
    full = """
    const canvas = document.querySelector(".stack canvas");
    const { data } = canvas.getContext("2d").getImageData(100, 40, canvas.width - 200, 80);
    let count = 0;
    for (let n = 0; n < data.length; n += 4) count += data[n] === 0 && data[n + 1] === 114;
    return count / (data.length / 4);
    """
    assert browser.execute_script(full) < 0.2
    all_of(browser, ".frame")[0].send_keys(*"++++++++++")
    settled(browser)
    assert browser.execute_script(note) is True


def test_an_area_on_a_page_is_not_drawn_while_its_values_are_zero(
    browser: Any, tmp_path: Path
) -> None:
    # The values fall quickly, and are zero until the next second.
    t = (np.arange(10)[:, None] + np.arange(20) / 8000).ravel()
    high = np.tile(np.arange(19.0, -1.0, -1.0), 10)
    area = Band(label="flight", ink="sky", x=t, low=np.zeros(200), high=high)
    flow = Flow("x", [Panel("flight", "one", Picture((area,), Scale("y", "B", low=0.0), TIME))])
    file = tmp_path / "area.html"
    section = Section("area", [Part("area")], groups=[Group([Side("area", [flow])])])
    file.write_text(page([section], file))
    opened(browser, file)
    settled(browser)
    # Compute the share of coloured pixels in the middle of the picture.
    share = """
    const canvas = document.querySelector(".stack canvas");
    const { data } = canvas.getContext("2d").getImageData(100, 60, canvas.width - 200, 60);
    let count = 0;
    for (let n = 0; n < data.length; n += 4) count += data[n + 3] > 0 && data[n] < data[n + 2] - 20;
    return count / (data.length / 4);
    """
    assert 0 < browser.execute_script(share) < 0.2


def test_the_legend_of_two_runs_side_by_side_is_inside_the_figure(early: ns.Run) -> None:
    sides = (
        ComparedRun(early, "one", 0.0, View(flow="transfer")),
        ComparedRun(early, "other", 0.0, View(flow="transfer")),
    )
    figure = draw_beside(sides, 50.0, None)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) >= 8
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_a_point_is_described_as_zero_where_a_logarithmic_axis_shows_zero(
    browser: Any, tmp_path: Path
) -> None:
    point = Points(label="none seen", ink="blue", x=np.array([0.001]), y=np.array([1.0]), size=6)
    other = Points(label="some", ink="red", x=np.array([0.05]), y=np.array([2.0]), size=6)
    x = Scale("spurious", "%", low=0.0008, log=True, zero=0.001)
    shown = Picture((point, other), Scale("timer", "s"), x)
    flow = Flow("x", [Panel("apart-pareto", "front", shown)])
    file = tmp_path / "zero.html"
    section = Section("zero", [Part("zero")], groups=[Group([Side("zero", [flow])], "")])
    file.write_text(page([section], file))
    opened(browser, file)
    spoken = []
    for _ in range(2):
        all_of(browser, ".frame")[0].send_keys(".")
        settled(browser)
        spoken.append(all_of(browser, ".spoken")[0].get_attribute("value"))
    assert spoken == ["front: none seen, 0 %, 1 s", "front: some, 5 %, 2 s"]
