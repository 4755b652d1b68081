"""Tests how `netspurt explain` explains captures from both ends of a path that reorders packets.

`explain(..., segments=True)` also keeps the packets, as one more table. This must not change the
other tables.
"""

from __future__ import annotations

import html
import random
import re
import shutil
from pathlib import Path

import pytest

from netspurt.analysis.reordered import reorderings
from netspurt.captures import explain

from captured_path import captured
from conftest import ROOT, Command


@pytest.fixture(scope="module")
def reordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate a transfer over a path on which 2 % of the packets overtake other packets.

    The path loses nothing. It delays the other 98 % by 6 ms. The packets of a burst leave 30 µs
    apart. So a packet overtakes up to 200 other packets. The captures `a` and `b` are beside the
    sender and the receiver.
    """
    link = 'order = "overtaking"\nreorder = { probability = 0.98, by = "6 ms" }'
    folder = tmp_path_factory.mktemp("reordered")
    return captured(folder, rate="400 Mbit/s", send="6 MB", link=link)


def words(netspurt: Command, *arguments: str | Path) -> str:
    """Return what `netspurt explain` prints, in one line."""
    result = netspurt("explain", *arguments)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


def test_both_ends_report_the_reordering_and_no_retransmission(
    reordered: Path, netspurt: Command
) -> None:
    counts = []
    for end, seen in (("a", "were acknowledged"), ("b", "came")):
        found = explain(reordered / f"{end}.pcapng")
        assert found.notes == []
        (one,) = reorderings(found.tables)
        assert one.late > 1000
        assert one.by_segs_max > 40
        assert one.again == 0
        counts.append(one.late)
        if end == "b":
            assert one.behind_s_max is not None
            assert 0.004 < one.behind_s_max < 0.02
        told = words(netspurt, reordered / f"{end}.pcapng")
        assert "The path reordered packets of connection 0:" in told
        assert f"data packets {seen} after packets that were sent later, by up to" in told
        alone = words(netspurt, reordered / f"{end}.pcapng", "--connection", "0")
        assert "The path reordered packets of connection 0:" in alone
    # An ACK acknowledges two segments. These may be a late segment and a segment that was sent
    # later. Then the capture beside the sender does not show which of the two arrived first.
    assert 0.7 * counts[1] < counts[0] <= counts[1], counts


def test_a_gap_that_a_late_original_fills_does_not_count_as_a_repair(
    reordered: Path, netspurt: Command
) -> None:
    found = explain(reordered / "b.pcapng")
    assert len(found.table("retransmissions")) == 0
    assert found.table("spent")["repair_ns"].sum() == 0
    told = words(netspurt, reordered / "b.pcapng")
    assert "repair" not in told
    assert "The only cost was that data which had arrived waited for the late packets." in told


@pytest.mark.parametrize(
    ("effect", "copies"),
    [
        ('reorder = { probability = 0.02, by = "80 ms" }', 0),
        ('duplicate = { probability = 0.02, after = "30 ms" }', 41),
    ],
)
def test_duplicates_by_the_network_count_as_copies_and_late_originals_do_not(
    tmp_path: Path, effect: str, copies: int
) -> None:
    link = f'order = "overtaking"\n{effect}'
    found = explain(captured(tmp_path, rate="20 Mbit/s", link=link) / "b.pcapng")
    habits = found.table("habits").where(direction="forward")
    assert habits["copied_packets"].tolist() == [copies]
    assert (len(found.table("retransmissions")) > 20) == (copies == 0)


def test_a_line_counts_copies_by_the_network_apart_from_retransmissions(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, link="duplicate = { probability = 0.02 }")
    found = explain(folder / "b.pcapng")
    repeated = int(found.table("connections")["retransmissions"].sum())
    assert (len(found.table("retransmissions")), repeated > 1) == (0, True)
    told = words(netspurt, folder / "b.pcapng")
    assert f"No retransmissions were seen. But {repeated} packets repeat octets" in told
    assert "packets repeat" not in words(netspurt, folder / "a.pcapng")


def test_no_reordering_is_reported_for_a_path_that_keeps_the_order(
    tmp_path: Path, netspurt: Command
) -> None:
    folder = captured(tmp_path, loss=0.01)
    for end in ("a", "b"):
        assert reorderings(explain(folder / f"{end}.pcapng").tables) == []
        assert "reordered" not in words(netspurt, folder / f"{end}.pcapng")


def test_one_sentence_says_where_a_capture_was_taken(reordered: Path, netspurt: Command) -> None:
    for end in ("a", "b"):
        told = words(netspurt, reordered / f"{end}.pcapng")
        which = "sent" if end == "a" else "received"
        taken = re.search(
            r"The capture was taken beside ([\d.]+), which (\w+) all the data\.", told
        )
        assert taken is not None, told
        assert taken.group(2) == which
        assert "by capture point" not in told


def test_the_page_of_a_capture_has_the_text_of_netspurt_explain(
    reordered: Path, netspurt: Command, tmp_path: Path
) -> None:
    # If a capture is outside of its run's folder, explain prints no line about the causes that the
    # run recorded.
    capture, page = shutil.copy(reordered / "b.pcapng", tmp_path), tmp_path / "page.html"
    said = netspurt("explain", capture).stdout
    assert netspurt("report", capture, "--out", page).returncode == 0
    text = " ".join(html.unescape(re.sub("<[^>]+>", "", page.read_text())).split())
    assert "Directions with data: 1." in text
    assert "The connections that waited longest" not in text
    for line in said.split("\n")[1:]:
        for cell in re.split(" {2,}", line):
            assert cell.strip() in text, line


def mutated(capture: bytes, seed: int) -> bytes:
    """Return a capture in which some octets after the first headers are changed."""
    stream, octets = random.Random(seed), bytearray(capture)
    for _ in range(40):
        octets[stream.randrange(300, len(octets))] = stream.randrange(256)
    return bytes(octets)


@pytest.mark.parametrize("seed", range(3))
def test_keeping_the_packets_changes_nothing_in_the_tables(
    reordered: Path, tmp_path: Path, seed: int
) -> None:
    files = [*sorted((ROOT / "data" / "captures").glob("*/*.pcapng")), reordered / "b.pcapng"]
    assert len(files) > 30
    for file in files:
        copy = tmp_path / "capture.pcapng"
        copy.write_bytes(file.read_bytes() if seed == 0 else mutated(file.read_bytes(), seed))
        plain, kept = explain(copy), explain(copy, segments=True)
        assert plain.notes == kept.notes, file
        assert plain.fault == kept.fault, file
        for name, table in plain.tables.items():
            assert table.records() == kept.table(name).records(), (file, name)
