"""Tests the page of a report on a folder: its part on all captures, and a part for each capture."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest

import netspurt as ns
from netspurt.captures import explain, explain_pooled
from netspurt.report import folders
from netspurt.report.folders import MOST_DIRECTIONS, MOST_DRAWN

from conftest import ROOT, Command, refused
from report_pages import description, rows_of


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the captures of runs with losses, and of one run without a loss."""
    folder = tmp_path_factory.mktemp("some") / "captures"
    folder.mkdir()
    kinds = {
        "calm": {"flows.transfer.send": "2 segments"},
        "early": {"stop": "20 s"},
        "long": {"stop": "60 s"},
    }
    for name, changes in kinds.items():
        run = ns.new_scenario().replace(changes).run().save(folder.parent / name)
        shutil.copy(next(run.glob("*.pcapng")), folder / f"{name}.pcapng")
    return folder


def test_the_page_of_a_folder_has_one_title_and_a_link_to_each_capture(
    captures: Path, netspurt: Command
) -> None:
    assert netspurt("report", captures, "--out", "page.html").returncode == 0
    text = Path("page.html").read_text()
    assert "<h1>3 captures in captures</h1>" in text
    headings = re.findall(r'id="part-(\d+)">\s*<h2>([^<]*)</h2>', text)
    listed = re.findall(r'<td><a href="#part-(\d+)">([^<]*)</a>', text)
    assert headings == listed
    assert text.count('<a href="#part-0">Back to the list</a>') == len(listed)
    assert len(listed) == 3


def test_the_page_has_the_text_that_netspurt_explain_prints_for_the_folder(
    captures: Path, netspurt: Command
) -> None:
    netspurt("report", captures, "--out", "page.html")
    text = unescape(re.sub("<[^>]+>", "", Path("page.html").read_text()))
    output = netspurt("explain", captures, columns=1000).stdout
    assert " ".join(output.split()) in " ".join(text.split())


def test_the_answer_is_emphasised_and_causes_have_the_same_names_everywhere(
    captures: Path, netspurt: Command
) -> None:
    netspurt("report", captures, "--out", "page.html")
    text = unescape(Path("page.html").read_text())
    answers = re.findall(r'<p class="answer">([^<]*)</p>', text)
    assert len(answers) == 4, "there must be one answer for all captures, and one for each capture"
    assert all(
        re.match(r"(.* went to .*\. )?([\d,]+ retransmissions? in |Nothing was retransmitted)", one)
        for one in answers
    )
    spent = re.findall(r"<p>(Time went to: [^<]*)</p>", text)
    assert len(spent) == 4
    assert text.count(spent[0]) == 2, "the summary must also have the shares"
    rows = rows_of(text, "Captures, sorted by the time that they waited")
    cells = " ".join(" ".join(row) for row in rows)
    assert re.search(r"timeout \d", cells), cells
    assert not re.search(r"\brto \d|go-back-n \d", cells), cells
    assert "Round trip, and the RTO that Linux would compute from it" in text


def test_the_captures_that_waited_longest_for_timers_and_repair_come_first(
    captures: Path, netspurt: Command
) -> None:
    netspurt("report", captures, "--out", "page.html")
    rows = rows_of(Path("page.html").read_text(), "Captures, sorted by the time that they waited")
    lost = {}
    for file in captures.iterdir():
        spent = explain(file).table("spent")
        lost[file.name] = float((spent["timeout_ns"] + spent["repair_ns"]).sum())
    assert [row[0] for row in rows] == sorted(lost, key=lambda name: -lost[name])
    assert all(re.fullmatch(r"[\d.]+ s", row[1]) for row in rows), (
        "the second column must be a time"
    )
    assert all(re.fullmatch(r"[a-z A-Z]+ \d+%", row[2]) for row in rows), (
        "the third column must be the largest part of the time"
    )
    rows_of_all = explain_pooled([[file] for file in captures.iterdir()]).table("retransmissions")
    assert sum(int(row[4].replace(",", "")) for row in rows) == len(rows_of_all)


def test_only_the_worst_captures_have_pictures_or_sections(
    captures: Path, netspurt: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_DRAWN", 1)
    monkeypatch.setattr(folders, "MOST_TOLD", 2)
    netspurt("report", captures, "--out", "page.html")
    text = Path("page.html").read_text()
    rows = rows_of(text, "Captures, sorted by the time that they waited")
    (group,) = description(text)["groups"]
    assert group["sides"][0]["name"] == rows[0][0]
    assert "the 1 captures" not in text
    assert "for the capture that waited longest for timers and repair" in text
    assert (
        "a section for each of the 2 captures that waited longest for timers and repair. It shows "
        "1 other only" in text
    )
    assert len(re.findall("<h2>", text)) == 2
    assert f"<h2>{rows[2][0]}</h2>" not in text


def test_only_a_few_directions_of_each_capture_in_a_folder_are_drawn(netspurt: Command) -> None:
    Path("many").mkdir()
    capture = next(ns.load("sites").run().save("sites").glob("*.pcapng"))
    for name in ("a", "b"):
        shutil.copy(capture, f"many/{name}.pcapng")
    netspurt("report", "many", "--out", "page.html")
    groups = description(Path("page.html").read_text())["groups"]
    assert len(groups) <= MOST_DRAWN
    assert all(len(group["sides"][0]["flows"]) == MOST_DIRECTIONS for group in groups)


def test_the_page_names_the_unreadable_files_and_shows_the_others(
    captures: Path, netspurt: Command
) -> None:
    shutil.copytree(captures, "cut")
    content = Path("cut/early.pcapng").read_bytes()
    Path("cut/early.pcapng").write_bytes(content[: len(content) // 2])
    Path("cut/broken.pcapng").write_bytes(content[:4] + b"nothing")
    result = netspurt("report", "cut", "--out", "page.html")
    assert result.returncode == 1, "a capture was not read to its end"
    assert "cut/early.pcapng" in result.stderr
    text = Path("page.html").read_text()
    assert "<h1>4 captures in cut</h1>" in text
    assert "Not read to the end: " in text
    assert "cut/broken.pcapng" in text


def test_recordings_beside_captures_are_on_the_page_and_estimators_need_a_recording(
    captures: Path, netspurt: Command
) -> None:
    refused(
        netspurt("report", captures, "-e", "quic", "--out", "x.html"),
        "--estimator",
        "no path has a recording",
    )
    shutil.copytree(captures, "both")
    shutil.copy(ROOT / "data" / "ping.txt", "both")
    assert netspurt("report", "both", "-e", "quic", "--out", "page.html").returncode == 0
    text = Path("page.html").read_text()
    assert re.findall("<h1>([^<]*)</h1>", text)[0].startswith("3 captures in both · ")
    assert "quic" in text


def test_a_folder_of_recordings_has_one_title_and_a_list(netspurt: Command) -> None:
    Path("pings").mkdir()
    for n in range(4):
        shutil.copy(ROOT / "data" / "ping.txt", f"pings/{n}.txt")
    # The second report ignores the page that the first one left in the folder.
    for page in ("pings/report.html", "page.html"):
        result = netspurt("report", "pings", "--out", page)
        assert result.returncode == 0
        assert result.stderr == ""
    text = Path("page.html").read_text()
    assert "<h1>4 recordings in pings</h1>" in text
    assert len(rows_of(text, "Recordings")) == 4
    assert text.count("<h2>") == 4


def test_a_page_on_many_subjects_has_a_list_of_contents(netspurt: Command) -> None:
    ping = (ROOT / "data" / "ping.txt").read_text()
    names = [f"{n}.txt" for n in range(5)]
    for name in names:
        Path(name).write_text(ping)
    netspurt("report", *names, "--out", "page.html")
    text = Path("page.html").read_text()
    assert "<h1>0.txt and 4 more</h1>" in text
    assert re.findall(r'<li><a href="#part-(\d)">', text) == list("01234")
