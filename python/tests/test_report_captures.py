"""Tests that a report on a capture is a page with the finding and the worst connections first.

The finding is a text that says where the time went, what was retransmitted, and what would help.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.loss_rate import loss_limits
from netspurt.captures import Explained, explain
from netspurt.cli.explained import pooled
from netspurt.pictures import View, picture
from netspurt.pictures.marks import Points
from netspurt.report import capture_section, page
from netspurt.report.findings import finding
from netspurt.report.parts import Section

from report_pages import all_of, opened, rows_of

#: Many short connections over a path that loses packets, seen at both of its ends.
MANY = """
title = "Many connections"
stop = "30 s"
[dumbbell]
pairs = 1
access = { rate = "100 Mbit/s", delay = "0.1 ms" }
[dumbbell.bottleneck]
rate = "5 Mbit/s"
delay = "30 ms"
queue = "50 packets"
loss = { probability = 0.03 }
[populations.web]
from = "east0"
to = "west0"
arrivals = "poisson"
load = { share = 0.2, link = "bottleneck" }
send = "400 B"
reply = "pareto:shape=1.2,mean=60 kB,most=400 kB"
profile = "linux-6"
[record]
spy = ["west0", "east0"]
capture = true
"""


#: A download with random losses, which limit its rate.
LIMITED = """
stop = "60 s"
seed = 3
[links.path]
between = ["a", "b"]
rate    = "50 Mbit/s"
delay   = "25 ms"
queue   = "1000 packets"
loss    = { probability = 0.01 }
[flows.x]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "2 MB"
tcp.congestion = "reno"
[record]
spy     = ["a", "b"]
capture = true
"""


@dataclass(frozen=True)
class Captured:
    """Holds an explained capture and its section of the page."""

    found: Explained
    section: Section


def captured(file: Path) -> Captured:
    """Explain a capture; return it with its section of the page."""
    found = explain(file, segments=True)
    return Captured(found, capture_section(found, file.name, list(pooled(found))))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with many connections."""
    file = tmp_path_factory.mktemp("runs") / "many.toml"
    file.write_text(MANY)
    return ns.load(file).run().save(file.with_suffix(""))


@pytest.fixture(scope="module")
def sender(many: Path) -> Captured:
    """Return the capture beside the sender of the replies, in the run with many connections."""
    return captured(many / "west0.pcapng")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Return the capture of four slow downloads."""
    folder = ns.load("slow-download").run().save(tmp_path_factory.mktemp("runs") / "slow")
    return captured(folder / "server.pcapng")


def test_the_page_of_a_capture_begins_with_its_finding(slow: Captured) -> None:
    (part,) = slow.section.parts
    assert re.fullmatch(
        r"The largest part of the time, 34%, went to data on its way \(.*\)\. "
        r"14 retransmissions in 3,999 data packets: loss seen in ACKs 9, timeout 5\. "
        r"None is known to be spurious\. "
        r"5 s passed in silence before retransmission timers fired\. "
        r"Repair delayed new data by [\d.]+ m?s\. "
        r"A minimum of 100 ms above srtt \(Linux: rto_min 100ms\) would have saved 4\.12 s, .*",
        part.answer,
    )
    assert part.words[0].startswith("Time went to: ")


def test_a_finding_names_an_outage_if_no_remedy_is_listed(many: Path) -> None:
    outage = "In one silence several timeouts followed each other. An outage caused this wait."
    found = explain(many / "west0.pcapng")
    assert finding(found, ["Time went to: x", outage, "With a minimum of 40 ms"]).endswith(outage)


def test_a_finding_begins_with_the_losses_that_limited_the_rate(
    tmp_path: Path,
) -> None:
    ns.load(_limited(tmp_path)).run().save(tmp_path / "run")
    near, far = (captured(tmp_path / f"run/{node}.pcapng") for node in ("a", "b"))
    told = near.section.parts[0].answer
    assert re.match(r"Losses limited the rate of c0 to [\d.]+ Mbit/s: it lost data \d+ times", told)
    assert "at the handshake" not in told
    told = far.section.parts[0].answer
    assert told.startswith("Losses may have limited the rate of c0 to ")
    later = re.escape(" (later round trips are not seen here).")
    assert re.search(rf"of 50\.\d+ ms at the handshake{later}", told)
    (limit,) = loss_limits(far.found.tables)
    assert not limit.rtt_seen
    assert limit.rtt_s == pytest.approx(0.05, rel=0.05)
    notes = far.section.parts[0].notes
    kinds = {panel.kind for panel in far.section.groups[0].sides[0].flows[0].panels}
    assert kinds == {"time-sequence", "throughput"}
    assert sum("outstanding data" in note and "beside the receiver" in note for note in notes) == 1


def _limited(folder: Path) -> Path:
    """Write a scenario of a download that random losses limit, captured at both ends."""
    file = folder / "limited.toml"
    file.write_text(LIMITED)
    return file


def test_the_page_of_a_capture_beside_the_receiver_says_what_the_capture_cannot_show(
    tmp_path: Path,
) -> None:
    run = ns.load("slow-download").replace({"record.spy": ["far"]}).run().save(tmp_path / "far")
    told = captured(run / "far.pcapng").section.parts[0].answer
    assert re.match(r"\d+% of the time went to data on its way", told)
    assert "beside the receiver. It does not show what held the sender back" in told


def test_only_the_direction_that_retransmitted_waited_for_timers_and_repair(
    slow: Captured, tmp_path: Path
) -> None:
    text = page([slow.section], tmp_path / "page.html")
    rows = {tuple(row[:2]): row for row in rows_of(text, "waited longest for timers and repair")}
    assert rows["c3", "reverse"][2] == "5.551 s"
    assert rows["c3", "forward"][2] == "-"
    mostly = {way: row[3] for way, row in rows.items()}
    assert mostly["c1", "forward"] == "receive window 99%"
    assert mostly["c2", "reverse"] == mostly["c2", "forward"] == "applications 94%"


def test_spurious_retransmissions_are_in_the_finding(sender: Captured) -> None:
    verdicts = sender.found.table("retransmissions")["verdict"]
    spurious = int((verdicts == "spurious").sum())
    assert spurious > 1
    assert f" {spurious} were spurious; for " in sender.section.parts[0].answer


def test_the_connections_that_waited_longest_for_timers_and_repair_are_first(
    sender: Captured, tmp_path: Path
) -> None:
    spent = sender.found.table("spent")
    lost = spent.seconds("timeout_ns") + spent.seconds("repair_ns")
    worst = f"c{spent['connection'][int(np.argmax(lost))]}"
    text = page([sender.section], tmp_path / "page.html")
    rows = rows_of(text, "waited longest for timers and repair are first")
    assert len(rows) > 60
    assert [row[0] for row in rows[:2]] == [worst, worst]
    first = {row[0]: n for n, row in reversed(list(enumerate(rows)))}
    order = sorted(first, key=first.__getitem__)
    times = dict(zip(spent["connection"].tolist(), lost.tolist(), strict=True))
    losses = [times[int(name[1:])] for name in order]
    assert losses == sorted(losses, reverse=True)
    flows = sender.section.groups[0].sides[0].flows
    assert flows[0].name.startswith(worst)


def test_the_table_of_directions_shows_more_than_25_rows_at_once(
    browser: Any, sender: Captured, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page([sender.section], file))
    opened(browser, file, 1400)
    script = """
    const box = [...document.querySelectorAll(".scroll")].find(
      (one) => one.textContent.includes("Directions with data"));
    const row = box.querySelector("tbody tr").offsetHeight;
    return [box.clientHeight / row, box.scrollWidth - box.clientWidth];
    """
    rows, hidden = browser.execute_script(script)
    assert rows > 25
    assert hidden == 0
    chosen = all_of(browser, ".bar select")[0].find_element("css selector", "option")
    assert chosen.is_selected()


def test_the_timer_of_a_capture_is_labelled_as_computed_and_backs_off(slow: Captured) -> None:
    shown = picture(slow.found, "rto", View(flow="c3", direction="reverse"))
    labels = [mark.label for mark in shown.marks]
    assert "RTO that Linux would compute from these samples, not observed" in labels
    assert "rto" not in labels
    own = slow.found.table("rto").where(flow="c3", direction="reverse")
    fired = np.flatnonzero(own["fired"])
    repairs = slow.found.table("retransmissions").where(cause="rto")
    assert len(fired) == len(repairs) == 5
    rto = own.seconds("rto_ns")
    for n in fired.tolist():
        assert rto[n] == pytest.approx(2 * rto[n - 1], rel=0.01)
        assert own["backoff"][n] == 2
        assert own["backoff"][n + 1] == 1
    marks = next(mark for mark in shown.marks if mark.label == "timeout (inferred)")
    assert isinstance(marks, Points)
    assert marks.x.tolist() == own.seconds()[fired].tolist()


def test_beside_the_receiver_no_timer_is_drawn_and_the_page_says_so(many: Path) -> None:
    receiver = captured(many / "east0.pcapng")
    with pytest.raises(ValueError, match="beside the receiver of c0 \\(reverse\\)"):
        picture(receiver.found, "rto", View(flow="c0", direction="reverse"))
    (part,) = receiver.section.parts
    assert any(
        note.startswith("Not drawn: round trip and RTO, outstanding data of c")
        and "(reverse), " in note
        and "beside the receiver" in note
        for note in part.notes
    )
    drawn = {
        flow.name: [panel.kind for panel in flow.panels]
        for flow in receiver.section.groups[0].sides[0].flows
    }
    assert any("rto" not in kinds for kinds in drawn.values())
    assert all(
        ("rto" in kinds) == (not name.endswith("(reverse)")) for name, kinds in drawn.items()
    )
