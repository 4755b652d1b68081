"""Tests reports of unusual subjects: many flows, dead paths, nothing recorded, one packet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import netspurt as ns
from netspurt import timelines
from netspurt.analysis.bootstrap import Interval
from netspurt.pictures import picture
from netspurt.pictures.cases import Figures, of_cases
from netspurt.pictures.marks import Picture, Polyline, Scale, Shades
from netspurt.pictures.moving import dead_times, shades
from netspurt.plots.marks import draw_picture
from netspurt.report import compared_section, page, run_section
from netspurt.report.compared import Subject
from netspurt.report.drawn import numbers
from netspurt.report.flows import Room, directions_with_data, flows_of
from netspurt.table import Table

from conftest import Command, refused

#: A scenario with a transfer in each direction.
PATH = """
title = "A plain path"
stop = "5 s"

[links]
wire = { between = ["a", "b"], rate = "5 Mbit/s", delay = "20 ms", queue = "20 packets" }

[flows]
x = { from = "a", to = "b", profile = "linux-6", send = "1 segment" }
y = { from = "b", to = "a", profile = "linux-6", send = "90 kB", start = "1 s" }

[record]
spy = ["a"]
tables = ["segments", "rtt", "rto", "cwnd", "queue", "drops"]
"""


@pytest.fixture
def plain(tmp_path: Path) -> ns.Scenario:
    """Return the scenario with a transfer in each direction."""
    (tmp_path / "path.toml").write_text(PATH)
    return ns.load(tmp_path / "path.toml")


def text_of(run: ns.Run, out: Path) -> str:
    """Return the page of a run."""
    return page([run_section(run, "odd")], out / "page.html")


def test_directions_share_the_picture_of_queues_and_the_marks_of_this_picture_count_once() -> None:
    run = ns.load("sites").run()
    kinds = ("rto", "queue")
    flows = flows_of(run, kinds, Room())
    shared = {id(panel.picture) for flow in flows.flows for panel in flow.panels[1:]}
    assert len(flows.flows) == 40
    assert len(shared) == 1
    pictures = {id(panel.picture): panel.picture for one in flows.flows for panel in one.panels}
    enough = numbers(pictures.values())
    assert len(flows_of(run, kinds, Room(marks=enough)).flows) == 40
    # With room for half of these marks, not all 40 directions are drawn.
    assert len(flows_of(run, kinds, Room(marks=enough // 2)).flows) < 40


def test_selections_share_the_columns_taken_from_the_core(plain: ns.Scenario) -> None:
    core = plain.run().segments._core
    calls: list[str] = []

    class Counting:
        columns, name = core.columns, core.name

        def __len__(self) -> int:
            return len(core)

        def column(self, name: str) -> object:
            calls.append(name)
            return core.column(name)

    table = Table(Counting())  # type: ignore[arg-type]
    for way in ("forward", "reverse"):
        own = table.where(flow="x", direction=way).select(np.ones(1, dtype=bool))
        assert own["packet"].tolist() == core.column("packet")[0][own._rows].tolist()
    assert sorted(calls) == ["direction", "flow", "packet"]


def test_the_timelines_of_a_run_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ns.load("handover-dead").replace({"stop": "12 s"}).run()
    read = timelines.read_followed
    calls: list[object] = []

    def counting(*of: Any) -> timelines.Timeline:
        calls.append(of)
        return read(*of)

    monkeypatch.setattr(timelines, "read_followed", counting)
    for kind in ("cwnd", "rto"):
        marks = picture(run, kind).marks
        assert any("dead" in mark.label for mark in marks)
    assert len(calls) == 1
    # If a caller changes the returned timelines, the run keeps its own timelines.
    run.timelines().clear()
    assert run.timelines()


def test_dead_times_after_the_end_of_a_run_are_not_in_its_pictures() -> None:
    run = ns.load("handover-dead").replace({"stop": "12 s"}).run()
    (dead,) = {start for one in run.timelines().values() for start, _, _ in dead_times(one)}
    shown = [mark for mark in shades(run) if isinstance(mark, Shades)]
    assert {float(at) for mark in shown for at in mark.left} == {dead}
    early = ns.load("handover-dead").replace({"stop": f"{dead - 1} s"}).run()
    assert any(dead_times(one) for one in early.timelines().values())
    assert list(shades(early)) == []


def test_the_page_of_two_runs_says_which_direction_was_not_recorded_at_its_sender(
    tmp_path: Path,
) -> None:
    slow = ns.load("slow-download").replace({"stop": "5 s"})
    runs = [slow.run(), slow.replace({"flows.tail.profile": "linux-6"}).run()]
    both = [Subject(run, name) for run, name in zip(runs, "AB", strict=True)]
    text = page([compared_section(both)], tmp_path / "page.html")
    assert "tail is not compared segment by segment: no segment was recorded at its sender." in text
    assert "lossy: both " in text


def test_two_runs_without_segments_are_reported_and_the_page_says_what_to_record(
    plain: ns.Scenario, tmp_path: Path
) -> None:
    with_all = plain.run()
    without = plain.replace({"record.tables": ["cwnd", "rto", "rtt"]}).run()
    for subjects in ((without, without), (with_all, without)):
        both = [Subject(run, name) for run, name in zip(subjects, "AB", strict=True)]
        text = page([compared_section(both)], tmp_path / "page.html")
        without_segments = "A and B" if subjects[0] is without else "B"
        assert f"not compared segment by segment: {without_segments} recorded no segments." in text
        assert "Round trip and RTO" in text


def test_the_page_of_a_dead_path_says_why_it_has_no_pictures(
    plain: ns.Scenario, tmp_path: Path
) -> None:
    run = plain.replace({"links.wire.loss.probability": 1.0, "stop": "10000 s"}).run()
    assert len(directions_with_data(run)) == 0
    text = text_of(run, tmp_path)
    assert "No pictures: no direction sent data." in text
    assert "10,000 s simulated" in text
    (tmp_path / "one.toml").write_text(PATH.replace("y = {", "# y = {"))
    one = ns.load(tmp_path / "one.toml").replace({"links.wire.loss.probability": 1.0}).run()
    assert "Not finished in 5 s simulated: no data was acknowledged." in text_of(one, tmp_path)


def test_nothing_is_claimed_about_directions_without_segments(
    plain: ns.Scenario, tmp_path: Path
) -> None:
    run = plain.run()
    rows = run.segments.where(flow="x")
    run.tables["segments"] = rows
    text = text_of(run, tmp_path)
    assert "No segments of y were recorded. So there is no picture of time and sequence" in text
    run.tables["segments"] = rows.select(np.zeros(len(rows), dtype=bool))
    text = text_of(run, tmp_path)
    assert "No segments of y, x were recorded" in text
    assert "Every loss" not in text
    assert "No packet" not in text


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ([{"nth": [1]}, "none"], "loss, SYN"),
        (["none", {"nth": [1]}], "No data was lost. Other packets that were lost: SYN 1."),
        (["none", {"nth": [5]}], "No data was lost. Other packets that were lost: ACK 1."),
    ],
)
def test_a_lost_syn_or_ack_is_on_the_page(tmp_path: Path, loss: list[Any], words: str) -> None:
    (tmp_path / "one.toml").write_text(PATH.replace("y = {", "# y = {"))
    one = ns.load(tmp_path / "one.toml").replace({"flows.x.send": "30 kB"})
    text = text_of(one.replace({"links.wire.loss": loss}).run(), tmp_path)
    assert words in text
    assert "No packet was lost" not in text
    assert "Every loss" not in text


def test_the_page_reports_spurious_retransmissions_even_if_no_node_recorded_them(
    tmp_path: Path,
) -> None:
    run = ns.load("early-timeout").run()
    rows = run.segments
    run.tables["segments"] = rows.select(np.zeros(len(rows), dtype=bool))
    count = int(run.flows["spurious"].sum())
    assert count > 100
    text = text_of(run, tmp_path)
    assert f"None of the {count} spurious retransmissions was recorded." in text
    assert "No retransmission was spurious" not in text


def test_the_axis_of_bars_begins_at_zero_unless_an_interval_goes_below_zero() -> None:
    def ends(low: float) -> tuple[float, float]:
        figures: Figures = {
            ("a",): Interval(2.0, 1.0, 3.0, 0.95, 1),
            ("b",): Interval(1.0, low, 2.0, 0.95, 1),
        }
        return of_cases("bar", figures, ["sender"], "timeouts").ends[1]

    assert ends(0.5)[0] == 0
    assert ends(0.0)[0] == 0
    assert ends(-0.5)[0] < -0.5


#: A sweep in which every case with the timer in Python fails.
FAILING = """
title = "A timer that fails"
stop = "5 s"
[links]
wire = { between = ["a", "b"], rate = "5 Mbit/s", delay = "20 ms", queue = "9 packets" }
[flows]
x = { from = "a", to = "b", profile = "linux-6", send = "200 kB" }
[sweep]
seeds = 3
[sweep.over]
timer = { path = "flows.x.tcp.rto.estimator", values = ["rfc6298", "fail.py:Fails"] }
queue = { path = "links.wire.queue", values = ["5 packets", "9 packets"] }
"""


def test_failed_cases_are_reported_once_and_not_for_each_measure(netspurt: Command) -> None:
    Path("fail.py").write_text(
        "class Fails:\n"
        "    def on_sample(self, sample): raise RuntimeError('no <b>way</b>')\n"
        "    def on_timeout(self, now): pass\n"
        "    def rto(self): return 1.0\n"
    )
    Path("sweep.toml").write_text(FAILING)
    netspurt("sweep", "sweep.toml", "--out", "sweep")
    netspurt("report", "sweep", "--out", "page.html")
    text = Path("page.html").read_text()
    assert "6 done, 6 failed." in text
    assert "RuntimeError: no &lt;b&gt;way" in text
    told = re.findall(r"<li>(6 of 12 cases have no value .+?)</li>", text)
    assert len(told) == 1
    assert told[0].startswith(
        "6 of 12 cases have no value of these measures: mean completion time, goodput, "
    )
    assert told[0].endswith(
        ". Their means leave such cases out: cases that failed, did not finish, or have too few "
        "times for a quantile."
    )


def test_a_line_of_one_point_is_visible() -> None:
    single = Polyline(label="", ink="black", x=np.zeros(1), y=np.ones(1))
    assert single.dot > 0
    gap = Polyline(label="", ink="black", x=np.arange(3.0), y=np.array([np.nan, 1.0, np.nan]))
    assert gap.dot > 0
    assert Polyline(label="", ink="black", x=np.arange(2.0), y=np.ones(2)).dot == 0
    figure, axes = plt.subplots()
    draw_picture(axes, Picture((single,), Scale("sequence number", "B")))
    assert [line.get_marker() for line in axes.lines] != ["None"]
    plt.close(figure)


def test_the_verb_agrees_with_the_number_of_spurious_retransmissions(tmp_path: Path) -> None:
    run = ns.load("handover-dead").replace({"stop": "20 s"}).run()
    count = int(run.flows["retransmissions"].sum())
    assert int(run.flows["spurious"].sum()) == 1
    assert f"1 of {count} retransmissions was spurious." in text_of(run, tmp_path)
    several = text_of(ns.load("early-timeout").run(), tmp_path)
    assert "156 of 224 retransmissions were spurious." in several


def test_the_leftovers_of_a_killed_run_are_not_read_as_a_recording(
    plain: ns.Scenario, netspurt: Command, tmp_path: Path
) -> None:
    """The table of round trips in this folder could be read as delays."""
    plain.run().save(tmp_path / "whole").rename(tmp_path / ".whole.partial-5bce98f7-1-2")
    (tmp_path / ".whole.partial-5bce98f7-1-2" / "run.json").unlink()
    result = netspurt("report", ".whole.partial-5bce98f7-1-2", "--out", "page.html")
    refused(result, "is not complete: the command that makes it still runs, or was killed")
    assert not Path("page.html").exists()
