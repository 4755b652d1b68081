"""Tests how captures of one connection at two points of its path are matched.

`netspurt match` pairs their segments. Other commands count such a connection once, in the best
capture, and do not compare the two captures as two transfers.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import struct
from pathlib import Path

import pytest

import netspurt as ns
from netspurt import _core
from netspurt.captures import explain, explain_pooled
from netspurt.matched import CutCapture, cut_off
from netspurt.shared import SharedConnection, shared_connections
from netspurt.table import Table

from conftest import Command
from made_up_captures import ACK, SYN, SYN_ACK, made_up


@pytest.fixture(scope="module")
def two_points(start: ns.Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate a transfer and capture it beside the sender and beside the receiver."""
    run = start.replace({"record.capture": True})
    return run.run().save(tmp_path_factory.mktemp("points") / "run")


def test_the_segments_of_two_captures_are_paired_by_sequence_numbers(
    netspurt: Command, two_points: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    result = netspurt("match", near, far, "--json")
    (data,) = json.loads(result.stdout)
    assert result.stderr == "", "complete captures must give no warning"
    assert data["paired"] > 50
    assert data["only_second"] == 0
    assert data["only_first"] >= 1, (
        "segments that the queue dropped must be seen only beside the sender"
    )
    assert data["out_s"] > 1


def test_captures_in_the_wrong_order_get_a_note_that_says_how_to_swap_them(
    netspurt: Command, two_points: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    assert "Swap" not in netspurt("match", near, far).stdout
    output = " ".join(netspurt("match", far, near).stdout.split())
    assert ", or because the clocks differ. Swap" in output, (
        "the note on negative times must be printed if data goes in one direction"
    )
    assert f"Swap the captures: netspurt match {near} {far}" in output


def test_two_captures_of_one_connection_are_not_compared_as_two_transfers(
    netspurt: Command, two_points: Path, tmp_path: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    (matched,) = json.loads(netspurt("match", near, far, "--json").stdout)
    for number, files in enumerate(((near, far), (far, near))):
        said = " ".join(netspurt("compare", *files).stdout.split())
        page = tmp_path / f"{number}.html"
        netspurt("report", *files, "--out", page)
        for text in (said, html.unescape(page.read_text())):
            assert "hold the same connection, 10.0.0." in text
            assert "source.pcapng is nearer to the sender" in text
            assert f"that passed source.pcapng, {matched['only_first']} (" in text
            assert "did not come to receiver.pcapng" in text
            assert "From source.pcapng to receiver.pcapng data took " in text
            assert "finishes" not in text
            assert "Both show the same events for" not in text
    told = json.loads(netspurt("compare", near, far, "--json").stdout)
    assert len(told["two_points"]) > 3
    other = netspurt("compare", near, near, "--json")
    assert json.loads(other.stdout)["two_points"] == [], "one file must not count as two points"


@pytest.mark.parametrize(
    ("delay", "delays_ms"),
    [
        ('"20 ms"', 40),
        ('{ timeline = [["0 s", "22 ms"], ["1 s", "11 ms"]], between = "step" }', 22),
    ],
)
def test_no_captured_round_trip_is_shorter_than_the_least_round_trip_between_two_points(
    netspurt: Command, tmp_path: Path, delay: str, delays_ms: float
) -> None:
    """Data takes longer than a SYN. If the path varies, later ACKs may be faster than the SYN."""
    text = f"""
stop = "20 s"
[links.path]
between = ["client", "server"]
rate = "10 Mbit/s"
queue = "100 packets"
delay = {delay}
[flows.d]
from = "server"
to = "client"
profile = "linux-6"
send = "3 MB"
[record]
capture = true
spy = ["server", "client"]
"""
    folder = ns.Scenario.parse(text, "download.toml").run().save(tmp_path / "run")
    files = [folder / "server.pcapng", folder / "client.pcapng"]
    told = " ".join(netspurt("compare", *files).stdout.split())
    found = re.search(r"takes at least ([\d.]+) ms, whatever", told)
    assert found is not None, told
    sender, *_ = explain(files[0]).table("connections").records()
    least_ms = min(sender["rtt_ns_min"], sender["handshake_rtt_ns"]) / 1e6
    assert delays_ms <= float(found[1]) <= min(delays_ms + 0.2, least_ms + 0.05)


def test_a_connection_in_two_captures_is_reported_once(netspurt: Command, two_points: Path) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    said = " ".join(netspurt("explain", near, far).stdout.split())
    told = (
        f"{far} and {near} have 1 connection in common. It counts once, in the capture nearest to "
        "the end that retransmitted more. If both ends retransmitted equally often, the end that "
        f"sent more data decides. Here it was counted in {near}. See netspurt match."
    )
    assert said.count(told) == 1, said
    assert "in common" not in netspurt("explain", near).stdout


def test_a_connection_in_two_captures_is_taken_from_the_capture_beside_its_sender(
    netspurt: Command, two_points: Path, tmp_path: Path
) -> None:
    alone = explain(two_points / "source.pcapng")
    for paths in (("receiver.pcapng", "source.pcapng"), ("source.pcapng", "receiver.pcapng")):
        both = explain_pooled([[two_points / path] for path in paths])
        for name in ("connections", "retransmissions", "waits", "spent"):
            assert len(both.table(name)) == len(alone.table(name)), name
        causes = both.table("retransmissions")["cause"].tolist()
        assert causes == alone.table("retransmissions")["cause"].tolist()

        both.write("connections", tmp_path / "pooled.parquet")
        written = Table(_core.Table.read("connections", str(tmp_path / "pooled.parquet")))
        assert written["connection"].tolist() == both.table("connections")["connection"].tolist()

    def sums(text: str) -> str:
        return next(line for line in text.splitlines() if "octets of data;" in line)

    of_folder = netspurt("explain", two_points).stdout
    assert "1 connection, 1 direction with data" in of_folder
    sent = int(alone.table("connections")["unique_bytes"].sum())
    assert sums(of_folder).startswith(f"{sent:,} octets of data; {len(causes)} retransmissions")
    told = json.loads(netspurt("explain", two_points, "--json").stdout)
    (shared,) = told["in_common"]
    assert shared["best"] == [str(two_points / "source.pcapng"), 0]
    assert shared["others"] == [[str(two_points / "receiver.pcapng"), 0]]


def test_captures_of_different_runs_have_nothing_in_common(
    start: ns.Scenario, two_points: Path, tmp_path: Path
) -> None:
    other = start.replace({"record.capture": True, "seed": 2}).run().save(tmp_path / "other")
    both = explain_pooled([[folder / "source.pcapng"] for folder in (two_points, other)])
    assert both.shared == []
    assert len(both.table("connections")) == 4


def test_connections_of_captures_outside_a_run_folder_are_not_merged(
    netspurt: Command, two_points: Path, tmp_path: Path
) -> None:
    for name in ("near", "far"):
        shutil.copy(two_points / "source.pcapng", tmp_path / f"{name}.pcapng")
    both = explain_pooled([[tmp_path / "near.pcapng"], [tmp_path / "far.pcapng"]])
    assert len(both.table("connections")) == 4
    said = " ".join(
        netspurt("explain", tmp_path / "near.pcapng", tmp_path / "far.pcapng").stdout.split()
    )
    assert "If both captures show the same connection, it counts twice here" in said


def test_connections_are_the_same_if_their_ends_and_initial_sequence_numbers_are_equal() -> None:
    def row(seq: int | None, t_ns: int, rtt_ns: int) -> dict[str, object]:
        ends = {"source": "10.0.0.1", "source_port": 1, "destination": "10.0.0.2"}
        sums = {"packets": 9, "unique_bytes": 100, "rtt_ns_min": rtt_ns, "initial_seq": seq}
        times = {"t_ns": t_ns, "duration_ns": 50}
        return {**ends, "destination_port": 2, "retransmissions": 0, **times, **sums}

    def best(*rows: dict[str, object]) -> list[tuple[str, int, bool]]:
        files = ((f"{place}.pcap", place, one) for place, one in enumerate(rows))
        return [(*one.best, one.certain) for one in shared_connections(files)]

    assert best(row(7, 0, 10), row(7, 20, 40)) == [("1.pcap", 1, True)], (
        "the capture with the longer round trip must be chosen"
    )
    assert best(row(7, 0, 40), row(7, 1000, 10)) == [("0.pcap", 0, True)], (
        "the clocks of the captures may differ"
    )
    assert best(row(7, 0, 10), row(8, 20, 40)) == [], (
        "connections with different initial sequence numbers must count as different"
    )
    assert best(row(None, 0, 10), row(None, 20, 40)) == [("0.pcap", 0, False)], (
        "connections without a SYN may be the same"
    )
    assert best(row(None, 0, 10), row(7, 1000, 40)) == [], (
        "a connection without a SYN must not count as the same as a later connection"
    )


@pytest.mark.parametrize(("retransmissions", "best"), [(0, "server"), (1, "client")])
def test_the_best_capture_is_nearest_to_the_end_with_more_retransmissions_or_more_data(
    retransmissions: int, best: str
) -> None:
    """The server sends most of the data, and only the client may retransmit.

    If the client retransmits, only the client's capture has the retransmission.
    """

    def row(sender: str, rtt_ns: int, sent_bytes: int, again: int) -> dict[str, object]:
        source, destination = ("a", "b") if sender == "client" else ("b", "a")
        ends = {"source": source, "source_port": 1, "destination": destination}
        sums = {"packets": 9, "unique_bytes": sent_bytes, "rtt_ns_min": rtt_ns}
        seq = 7 if sender == "client" else 8
        times = {"destination_port": 1, "t_ns": 0, "duration_ns": 50, "initial_seq": seq}
        return {**ends, **times, **sums, "retransmissions": again}

    client = [row("client", 40, 100, retransmissions), row("server", 10, 900, 0)]
    server = [row("client", 10, 100, 0), row("server", 40, 900, 0)]
    files = {"client": client, "server": server}
    rows = [(file, 0, one) for file, both in files.items() for one in both]
    (shared,) = shared_connections(rows)
    assert shared.best == (best, 0)


def test_a_connection_on_both_sides_of_an_address_translator_counts_once() -> None:
    """Outside, the client has the address of the translator.

    The capture outside is the best one, because it is nearest to the server, which sent more data.
    """

    def rows(client: str, numbers: tuple[int, int], far_ns: int) -> list[dict[str, object]]:
        ends = [(client, 4000, "server", 80), ("server", 80, client, 4000)]
        names = ("source", "source_port", "destination", "destination_port")
        more = {"t_ns": 0, "duration_ns": 50, "packets": 9, "retransmissions": 0}
        return [
            {**dict(zip(names, both, strict=True)), **more, "initial_seq": seq}
            | {"unique_bytes": seq, "rtt_ns_min": far_ns if both[0] == "server" else 1}
            for both, seq in zip(ends, numbers, strict=True)
        ]

    def found(outside: tuple[int, int]) -> list[SharedConnection]:
        files = {"in": rows("inner", (7, 8), 10), "out": rows("outer", outside, 40)}
        return shared_connections((f, 0, row) for f, both in files.items() for row in both)

    (shared,) = found((7, 8))
    assert (shared.best, shared.others) == (("out", 0), [("in", 0)])
    assert (shared.certain, shared.sender) == (True, ("server", 80))
    assert found((7, 9)) == []


def test_the_sum_of_times_in_both_directions_does_not_depend_on_the_clocks(
    netspurt: Command, tmp_path: Path
) -> None:
    """The second capture's clock is an hour ahead. Each direction takes 20 ms."""
    near = [(0.0, 0, 0, 0, SYN, 9000, 0), (0.04, 1, 0, 1, SYN_ACK, 9000, 0)]
    far = [(3600.02, *near[0][1:]), (3600.02, *near[1][1:])]
    for name, packets in (("near", near), ("far", far)):
        (tmp_path / f"{name}.pcap").write_bytes(made_up(packets))
    result = netspurt("match", tmp_path / "near.pcap", tmp_path / "far.pcap")
    assert result.stdout.splitlines()[1].split()[-6:] == ["3600", "s", "-3600", "s", "40", "ms"]
    note = "the clocks of the captures differ: the second clock is ahead by about 3600 s"
    assert note in result.stdout
    back = netspurt("match", tmp_path / "far.pcap", tmp_path / "near.pcap").stdout
    assert "Swap the captures" in back, "both times are too short in the wrong order"
    assert "ahead" not in netspurt("match", *[tmp_path / "near.pcap"] * 2).stdout


def test_a_note_reports_packets_that_overlap_those_of_the_other_capture(
    netspurt: Command, tmp_path: Path
) -> None:
    """Both captures were taken beside hosts with segmentation offload.

    If one capture has single segments, the packets of the other capture are divided into them.
    """
    opening = [(0.0, 0, 0, 0, SYN, 9000, 0), (0.1, 1, 0, 1, SYN_ACK, 9000, 0)]
    joined = [(0.2 + n / 10, 0, 1 + 1000 * n, 1, ACK, 9000, 1000) for n in range(5)]
    single = [
        (0.2 + n / 10 + part / 100, 0, 1 + 1000 * n + 500 * part, 1, ACK, 9000, 500)
        for n in range(5)
        for part in range(2)
    ]
    overlapping = [(0.2 + n / 10, 0, 501 + 900 * n, 1, ACK, 9000, 900) for n in range(5)]
    files = {
        "near": [*opening, *joined],
        "far": [*opening, *overlapping],
        "single": [*opening, *single[:3], *single[4:]],
        "short": opening,
    }
    for name, packets in files.items():
        (tmp_path / f"{name}.pcap").write_bytes(made_up(packets))
    near, far, parts, short = (tmp_path / f"{name}.pcap" for name in files)
    told = " ".join(netspurt("match", near, far).stdout.split())
    assert "probably because segmentation offload changed the lengths. So these numbers" in told
    (data,) = json.loads(netspurt("match", near, far, "--json").stdout)
    assert data["lengths_differ"]
    (data,) = json.loads(netspurt("match", near, parts, "--json").stdout)
    assert not data["lengths_differ"]
    assert [data[n] for n in ("segments", "paired", "only_first", "only_second")] == [12, 11, 1, 0]
    assert "offload" not in netspurt("match", near, near).stdout
    assert "offload" not in netspurt("match", near, short).stdout, (
        "offload must not be named if all data was lost"
    )


def test_a_connection_is_matched_through_an_address_translator(
    netspurt: Command, tmp_path: Path
) -> None:
    """The client 10.0.0.1 has the address 10.0.0.9 outside the translator."""
    packets = [(0.0, 0, 700, 0, SYN, 9000, 0), (0.1, 1, 90, 701, SYN_ACK, 9000, 0)]
    inside = made_up([*packets, (0.2, 1, 91, 701, ACK, 9000, 500)])
    (tmp_path / "in.pcap").write_bytes(inside)
    outside = inside.replace(bytes((10, 0, 0, 1)), bytes((10, 0, 0, 9)))
    (tmp_path / "out.pcap").write_bytes(outside)
    files = (tmp_path / "in.pcap", tmp_path / "out.pcap")
    (data,) = json.loads(netspurt("match", *files, "--json").stdout)
    assert (data["client"], data["second_client"]) == ("10.0.0.1:4000", "10.0.0.9:4000")
    assert (data["paired"], data["segments"]) == (3, 3)
    told = " ".join(netspurt("match", *files).stdout.split())
    assert "10.0.0.1:4000 and 10.0.0.2:80 are 10.0.0.9:4000 and 10.0.0.2:80 at the second" in told


def test_a_line_says_that_a_capture_has_copies_of_segments(
    netspurt: Command, tmp_path: Path
) -> None:
    """The far capture was taken on two interfaces of a router."""
    packets = [(0.0, 0, 0, 0, SYN, 9000, 0), (0.1, 1, 0, 1, SYN_ACK, 9000, 0)]
    packets += [(0.2 + n, 0, 1 + 500 * n, 1, ACK, 9000, 500) for n in range(3)]
    twice = sorted([*packets, *((one[0] + 2e-5, *one[1:]) for one in packets)])
    for name, each in (("near", packets), ("far", twice)):
        (tmp_path / f"{name}.pcap").write_bytes(made_up(each))
    files = (tmp_path / "near.pcap", tmp_path / "far.pcap")
    (data,) = json.loads(netspurt("match", *files, "--json").stdout)
    assert (data["segments"], data["paired"], data["second_copies"]) == (5, 5, 5)
    assert "far.pcap has 5 copies of segments, as from several" in netspurt("match", *files).stdout


def test_the_error_names_the_file_that_is_not_a_capture(
    netspurt: Command, two_points: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("hello\n")
    files = (two_points / "source.pcapng", tmp_path / "text.txt")
    for order in (files, files[::-1]):
        result = netspurt("match", *order)
        assert result.returncode == 2
        assert f"error: {tmp_path / 'text.txt'}: neither pcap nor pcapng" in result.stderr


def test_a_cut_capture_is_matched_up_to_its_cut_and_a_warning_is_printed(
    netspurt: Command, two_points: Path, tmp_path: Path
) -> None:
    near, far = two_points / "source.pcapng", two_points / "receiver.pcapng"
    content = far.read_bytes()
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(content[: len(content) * 2 // 3 - 1])
    fault = cut_off(cut)
    assert fault is not None
    assert 0 < fault.octets < fault.of
    assert cut_off(far) is None
    result = netspurt("match", near, cut)
    assert result.returncode == 1, "a capture that was not read to its end gives the status 1"
    assert f"warning: {cut} ends in the middle of a record: it has" in " ".join(
        result.stderr.split()
    )
    assert "at both  only in source.pcapng  only in cut.pcapng" in result.stdout


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_records_are_counted_in_either_byte_order(order: str, tmp_path: Path) -> None:
    file = tmp_path / "a.pcap"
    header = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    record = struct.pack(order + "IIII", 1, 0, 40, 1500) + bytes(40)
    file.write_bytes(header + record * 3)
    assert cut_off(file) is None
    file.write_bytes(header + record * 2 + record[:-1])
    assert cut_off(file) == CutCapture(records=2, octets=55, of=56)
    file.write_bytes(header + record + record[:10])
    assert cut_off(file) == CutCapture(records=1, octets=10, of=16)
    file.write_bytes(b"not a capture")
    assert cut_off(file) is None


@pytest.mark.parametrize("node", ["source", "receiver"])
def test_the_flows_of_a_capture_count_all_explained_retransmissions(
    two_points: Path, node: str
) -> None:
    explained = explain(two_points / f"{node}.pcapng", segments=True)
    counted = explained.table("flows")["retransmissions"].sum()
    assert counted == len(explained.table("retransmissions")) > 0


def test_the_sender_in_a_comparison_of_two_captures_is_the_end_that_retransmitted_more(
    netspurt: Command, tmp_path: Path
) -> None:
    """The client sends most of the data, without losses. The server retransmits 100 octets."""
    client, server = [], []
    for at, end, seq, ack, flags, length, lost in [
        (0.0, 0, 100, 0, SYN, 0, False),
        (0.01, 1, 900, 101, SYN_ACK, 0, False),
        (0.02, 0, 101, 901, ACK, 0, False),
        *((0.03 + 0.02 * n, 0, 101 + 500 * n, 901, ACK, 500, False) for n in range(20)),
        (0.5, 1, 901, 10_101, ACK, 100, True),
        (0.8, 1, 901, 10_101, ACK, 100, False),
        (0.82, 0, 10_101, 1001, ACK, 0, False),
    ]:
        packet = (end, seq, ack, flags, 60_000, length)
        if end == 0 or not lost:
            client.append((at + 0.01 * end, *packet))
        server.append((at + 0.01 * (1 - end), *packet))
    for name, packets in (("client", client), ("server", server)):
        (tmp_path / f"{name}.pcap").write_bytes(made_up(packets))
    result = netspurt("compare", tmp_path / "client.pcap", tmp_path / "server.pcap")
    told = " ".join(result.stdout.split())
    assert "hold the same connection, 10.0.0.2:80 to 10.0.0.1:4000, captured at two points" in told
    assert "server.pcap is nearer to the sender" in told
    assert "Of the 2 segments with data that passed" in told
    assert "1 (50.00%) did not come to" in told
    assert told.endswith(f"netspurt match {tmp_path}/client.pcap {tmp_path}/server.pcap`."), (
        "the client's capture must come first, although the server counts as the sender"
    )
