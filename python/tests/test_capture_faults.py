"""Tests `netspurt explain` and related commands on captures that are cut, odd or unreadable."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import NETSPURT, Command

#: Two link types: raw IP, and a number that no link type has.
RAW, UNKNOWN = 101, 999

SYN, ACK, PSH = 2, 16, 8


def segment(
    flags: int, seq: int, *, payload: bytes = b"", window: int = 1000, port: int = 1000
) -> bytes:
    """Return an IPv4 packet from this port of 10.0.0.1 to 10.0.0.2:80."""
    header = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0)
    tcp = struct.pack(">HHIIBBHHH", port, 80, seq, 0, 0x50, flags, window, 0, 0)
    return header + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + tcp + payload


def pcap(
    file: Path, packets: Sequence[tuple[float, bytes]], *, link: int = RAW, snap: int = 65535
) -> Path:
    """Write a pcap file of packets with their times in seconds, and return the file."""
    octets = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for at, packet in packets:
        stamp = (int(at), round(at % 1 * 1e6))
        octets += struct.pack("<IIII", *stamp, len(packet[:snap]), len(packet)) + packet[:snap]
    file.write_bytes(octets)
    return file


def simple(file: Path, packets: Sequence[bytes]) -> Path:
    """Write a pcapng file whose blocks are simple packet blocks, which have no times."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = len(body) + 12
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    octets = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    octets += block(1, struct.pack("<HHI", RAW, 0, 0))
    for packet in packets:
        octets += block(3, struct.pack("<I", len(packet)) + packet)
    file.write_bytes(octets)
    return file


def talk(count: int, first: float = 0.0) -> list[tuple[float, bytes]]:
    """Return a SYN and this number of segments of 100 octets, one each 10 ms, with their times."""
    packets = [(first, segment(SYN, 0))]
    for n in range(count):
        data = segment(ACK | PSH, 1 + 100 * n, payload=bytes(100))
        packets.append((first + 0.01 * (n + 1), data))
    return packets


def test_a_whole_capture_is_read_fully_even_if_it_is_joined_with_a_cut_capture(
    netspurt: Command, tmp_path: Path
) -> None:
    complete = pcap(tmp_path / "whole.pcap", talk(40))
    cut = pcap(tmp_path / "cut.pcap", talk(3, first=0.005))
    cut.write_bytes(cut.read_bytes()[:-50])
    result = netspurt("explain", "--as-one", "--json", cut, complete)
    assert result.returncode == 1
    (document,) = json.loads(result.stdout)["captures"]
    assert document["packets"] == 41 + 3
    assert "cut.pcap: the capture ends within a packet" in result.stderr
    assert "whole.pcap" not in result.stderr


def test_commands_exit_with_1_if_a_capture_is_cut(netspurt: Command, tmp_path: Path) -> None:
    whole = pcap(tmp_path / "whole.pcap", [*talk(3), (0.1, answer(301))])
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole.read_bytes()[:-1])
    for file, status in ((cut, 1), (whole, 0)):
        for words in (
            ("table", file),
            ("table", file, "segments", "--csv"),
            ("plot", file, "--out", f"{file}.svg"),
            ("qlog", file, "--out", f"{file}.qlog"),
            ("compare", whole, file),
            ("report", file, "--out", f"{file}.html"),
        ):
            done = netspurt(*words)
            assert done.returncode == status, words
            assert ("cut.pcap: the capture ends within " in done.stderr) == (file is cut)


def test_the_command_explain_can_be_interrupted_while_it_waits_for_a_pipe() -> None:
    words = [str(NETSPURT), "explain", "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        where, until = Path(f"/proc/{process.pid}/wchan"), time.monotonic() + 60
        while "pipe" not in where.read_text() and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130


def test_packets_whose_times_go_back_are_noted(netspurt: Command, tmp_path: Path) -> None:
    packets = talk(3)
    packets[2] = (5.5, packets[2][1])
    output = netspurt("explain", pcap(tmp_path / "back.pcap", packets)).stdout
    assert "1 packet with a time up to 5470 ms earlier" in output
    assert "Note" not in netspurt("explain", pcap(tmp_path / "good.pcap", talk(3))).stdout


def test_packets_without_times_are_noted(netspurt: Command, tmp_path: Path) -> None:
    file = simple(tmp_path / "simple.pcapng", [packet for _, packet in talk(3)])
    result = netspurt("explain", "--csv", file)
    assert "4 packets without a time" in result.stderr
    (document,) = json.loads(netspurt("explain", "--json", file).stdout)["captures"]
    assert len(document["notes"]) == 1


def test_a_link_type_that_cannot_be_read_is_named(netspurt: Command, tmp_path: Path) -> None:
    file = pcap(tmp_path / "odd.pcap", talk(2), link=UNKNOWN)
    assert "link type 999 cannot be read: 3 packets" in netspurt("explain", file).stdout
    for words in (("plot", file), ("compare", file, file)):
        result = netspurt(*words)
        assert result.returncode == 2
        assert "link type 999" in result.stderr


def test_control_characters_in_names_of_files_are_printed_as_escapes(
    netspurt: Command, tmp_path: Path
) -> None:
    file = pcap(tmp_path / "a\x1b[31m\nb.pcap", talk(2))
    other = pcap(tmp_path / "c.pcap", talk(2))
    for words in (("explain", file), ("explain", "--csv", file, other), ("compare", file, file)):
        output = netspurt(*words).stdout
        assert "\x1b" not in output
        assert r"a\x1b[31m\x0ab.pcap" in output
    file.write_bytes(b"nothing")
    output = netspurt("explain", file).stderr
    assert "\x1b" not in output
    assert "\nb.pcap" not in output


def test_no_heading_is_printed_if_no_file_can_be_read(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_text("not a capture")
    for files in (["text.pcap"], ["text.pcap", "missing.pcap"]):
        result = netspurt("explain", "--csv", *(tmp_path / name for name in files))
        assert (result.returncode, result.stdout) == (2, "")
        assert "text.pcap" in result.stderr


def test_a_capture_compared_with_itself_has_two_names(netspurt: Command, tmp_path: Path) -> None:
    file = pcap(tmp_path / "a.pcap", talk(5))
    output = netspurt("compare", file, file).stdout
    names = " ".join(output.replace(f"{tmp_path}/", "").split())
    assert "0 only in a.pcap (first) and 0 only in a.pcap (second)" in names


def test_the_error_for_a_capture_without_data_names_the_capture(
    netspurt: Command, tmp_path: Path
) -> None:
    file = pcap(tmp_path / "syns.pcap", [(n, segment(SYN, 7)) for n in range(3)])
    result = netspurt("plot", file)
    assert result.returncode == 2
    assert "syns.pcap: no data of flow c0 was seen" in result.stderr


def test_a_folder_of_captures_is_no_run_and_the_error_names_a_capture_to_plot(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "day").mkdir()
    for name in ("a.pcap", "b.pcap"):
        pcap(tmp_path / "day" / name, talk(3))
    result = netspurt("plot", tmp_path / "day")
    assert result.returncode == 2
    assert "has 2 captures and no run: name one of its captures, such as" in result.stderr
    assert "a.pcap" in result.stderr


def test_a_plot_of_flows_names_those_without_data(netspurt: Command, tmp_path: Path) -> None:
    bare = [(9.0, segment(SYN, 7, port=1001)), (9.5, segment(SYN, 7, port=1002))]
    pcap(tmp_path / "three.pcap", [*talk(5), *bare])
    words = ("plot", tmp_path / "three.pcap", "--kind", "flows", "--out", tmp_path / "flows.svg")
    assert netspurt(*words, "--flow", "c0,c1").returncode == 0
    assert "without data: c1" in (tmp_path / "flows.svg").read_text()
    result = netspurt(*words, "--flow", "c1,c2")
    assert result.returncode == 2
    assert "no data of flows c1 and c2 was seen" in result.stderr


def test_the_error_for_a_wrong_connection_says_which_connections_exist(
    netspurt: Command, tmp_path: Path
) -> None:
    for packets, expected in (
        ([(0.0, segment(SYN, 7))], "the only connection is 0"),
        ([], "there are no connections"),
    ):
        file = pcap(tmp_path / "few.pcap", packets)
        result = netspurt("explain", file, "--connection", "5")
        assert result.returncode == 2
        assert f"no connection has the number 5; {expected}" in result.stderr
    file = pcap(tmp_path / "one.pcap", [(0.0, segment(SYN, 7))])
    assert (
        "no connection is called c5; the only connection is c0"
        in netspurt("plot", file, "--flow", "c5").stderr
    )


def test_a_count_of_one_row_is_in_the_singular(netspurt: Command, tmp_path: Path) -> None:
    file = pcap(tmp_path / "one.pcap", [(0.0, segment(SYN, 7))])
    assert "connections: 1 row of" in netspurt("table", file).stdout


#: The octets of the IPv4 header and of the TCP header up to its flags.
UP_TO_FLAGS = 20 + 14


@pytest.mark.parametrize(("snap", "zeros"), [(UP_TO_FLAGS, 0), (UP_TO_FLAGS + 2, 4)])
def test_a_window_that_was_not_captured_does_not_count_as_zero(
    netspurt: Command, tmp_path: Path, snap: int, zeros: int
) -> None:
    packets = [(0.1 * n, segment(ACK, 1 + 100 * n, payload=bytes(100), window=0)) for n in range(4)]
    file = pcap(tmp_path / "cut.pcap", packets, snap=snap)
    (document,) = json.loads(netspurt("explain", "--json", file).stdout)["captures"]
    assert document["connections"][0]["zero_windows"] == zeros


def test_zero_windows_do_not_count_in_the_minimum_window(netspurt: Command, tmp_path: Path) -> None:
    windows = enumerate([0, 500, 1000])
    packets = [
        (0.1 * n, segment(ACK, 1, payload=bytes(100), window=window)) for n, window in windows
    ]
    lines = netspurt("explain", pcap(tmp_path / "zero.pcap", packets)).stdout.splitlines()
    told = next(line for line in lines if "advertised window" in line)
    assert told.split("  ")[1] == "advertised window, least above 0 / mean / most"
    assert "500 B / 500 B / 1,000 B" in told
    assert next(line for line in lines if "zero windows" in line).split()[2] == "1"


def answer(number: int) -> bytes:
    """Return an ACK from 10.0.0.2:80 that acknowledges all octets before this number."""
    sent = segment(ACK, 1)
    ends = sent[16:20] + sent[12:16] + sent[22:24] + sent[20:22]
    return sent[:12] + ends + sent[24:28] + struct.pack(">I", number) + sent[32:]


def test_round_trips_of_the_newest_and_of_the_oldest_segment_are_named_if_they_differ(
    netspurt: Command, tmp_path: Path
) -> None:
    """One ACK covers two segments, which were sent 50 ms and 20 ms before it."""
    first, second = (segment(ACK, 1 + 100 * n, payload=bytes(100)) for n in range(2))
    file = pcap(tmp_path / "two.pcap", [(0.0, first), (0.03, second), (0.05, answer(201))])
    explained = netspurt("explain", file).stdout.splitlines()
    (newest,) = (line for line in explained if "RTT of the newest segment" in line)
    assert "20 ms / 20 ms / 20 ms" in newest
    (data,) = json.loads(netspurt("delays", file, "--json").stdout)
    (oldest,) = (recording for recording in data["recordings"] if recording["sent"])
    assert oldest["max_ms"] == pytest.approx(50)
    assert "`netspurt explain` times the newest segment" in oldest["notes"][0]


def test_for_a_capture_of_udp_the_commands_for_quic_are_named(
    netspurt: Command, tmp_path: Path
) -> None:
    addresses = bytes((10, 0, 0, 1, 10, 0, 0, 2))
    udp = struct.pack(">HHHH", 4433, 5000, 8 + 41, 0) + b"\x40" + bytes(40)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + addresses
    file = pcap(tmp_path / "quic.pcap", [(at, ip + udp) for at in range(3)])
    for words, where in ((("explain", file), "stdout"), (("explain", file, "--csv"), "stderr")):
        told = " ".join(getattr(netspurt(*words), where).split())
        assert "3 packets are IP without a readable header of TCP: for example UDP" in told
        assert "or tunnels that encrypt their packets" in told
        assert "QUIC from qlog files" in told
        assert "`netspurt delays` shows them" in told
    report = netspurt("report", file, "--out", tmp_path / "page.html")
    assert report.returncode
    assert "QUIC from qlog files" in report.stderr


def test_the_command_explain_says_that_a_capture_has_no_tcp_or_only_one_direction(
    netspurt: Command, tmp_path: Path
) -> None:
    empty = pcap(tmp_path / "empty.pcap", [])
    assert "No packet with a header of TCP was captured" in netspurt("explain", empty).stdout
    assert "No packet with a header of TCP" in netspurt("explain", empty, "--csv").stderr
    assert "QUIC" not in netspurt("explain", empty).stdout
    one_way = pcap(tmp_path / "one.pcap", talk(3))
    expected = "The only connection was captured in one direction only"
    assert expected in netspurt("explain", one_way).stdout
    both = pcap(tmp_path / "both.pcap", [*talk(3), (0.06, answer(301))])
    assert expected not in netspurt("explain", both).stdout


def test_a_file_that_only_looks_like_a_capture_is_named_if_its_folder_is_explained(
    netspurt: Command, tmp_path: Path
) -> None:
    pcap(tmp_path / "good.pcap", talk(3))
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "bad.pcap").write_bytes(b"no capture")
    done = netspurt("explain", tmp_path)
    assert "bad.pcap: neither pcap nor pcapng; left out" in done.stderr
    assert "notes.txt" not in done.stderr


def test_duplicate_packets_of_a_capture_are_noted_and_do_not_count_as_retransmissions(
    netspurt: Command, tmp_path: Path
) -> None:
    # Each data segment is acknowledged after 5 ms, and a copy of each packet comes 20 µs later.
    once = talk(10)
    once += [(at + 0.005, answer(101 + 100 * n)) for n, (at, _) in enumerate(once[1:])]
    twice = [(at + late, packet) for at, packet in sorted(once) for late in (0, 20e-6)]
    output = netspurt("explain", pcap(tmp_path / "twice.pcap", twice)).stdout
    assert "11 segments came twice" in output
    assert "No retransmissions were seen." in output
    assert "came twice" not in netspurt("explain", pcap(tmp_path / "once.pcap", once)).stdout


def test_no_initial_window_is_shown_if_only_one_direction_was_captured(
    netspurt: Command, tmp_path: Path
) -> None:
    one_way = pcap(tmp_path / "one.pcap", talk(3))
    assert "initial window" not in netspurt("explain", one_way).stdout
    first = answer(1)
    syn_ack = first[:24] + bytes(4) + first[28:33] + bytes([SYN | ACK]) + first[34:]
    opened = segment(ACK, 1)
    opened = opened[:28] + struct.pack(">I", 1) + opened[32:]
    shaken = [(0.009, syn_ack), (0.00901, opened)]
    both = pcap(tmp_path / "both.pcap", [*sorted([*talk(3), *shaken]), (0.06, answer(301))])
    assert "initial window" in netspurt("explain", both).stdout


def test_each_capture_that_is_left_out_or_cut_has_a_warning(
    netspurt: Command, tmp_path: Path
) -> None:
    good = pcap(tmp_path / "good.pcap", talk(3))
    (tmp_path / "words.txt").write_text("no capture")
    (tmp_path / "nothing.pcap").touch()
    (tmp_path / "cut.pcap").write_bytes(Path(good).read_bytes()[:-1])
    done = netspurt("explain", "good.pcap", "words.txt", "nothing.pcap", "cut.pcap")
    assert done.returncode == 1
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert warnings[:2] == [
        "warning: words.txt: neither pcap nor pcapng; it is left out",
        "warning: nothing.pcap: the file is empty; it is left out",
    ]
    assert len(warnings) == 3
    assert warnings[2].startswith("warning: cut.pcap: the capture ends within ")
    assert warnings[2].endswith("; what came before is used")
    assert done.stdout.startswith("2 captures: ")
    assert netspurt("explain", "good.pcap", "words.txt").stdout.startswith("1 capture: ")


def syn_ack(mss: int) -> bytes:
    """Return a SYN-ACK from 10.0.0.2:80 whose MSS option says this number of octets."""
    whole = answer(1)
    total, place = struct.pack(">H", 44), 33
    flags = bytes([0x60, SYN | ACK])
    option = struct.pack(">BBH", 2, 4, mss)
    return whole[:2] + total + whole[4 : place - 1] + flags + whole[place + 1 :] + option


def test_the_command_explain_says_that_the_receiving_host_dropped_packets(
    netspurt: Command, tmp_path: Path
) -> None:
    syn, data = segment(SYN, 0), segment(ACK | PSH, 1, payload=bytes(100))
    # The SYN-ACK has the sequence number 1, so the number 2 acknowledges it.
    acks = [one[:28] + struct.pack(">I", 2) + one[32:] for one in (segment(ACK, 1), data)]
    later = [(1.05, acks[0]), (1.06, acks[1]), (1.06005, answer(101))]
    # The capture is taken beside the receiver, which answers only the second SYN.
    dropped = pcap(tmp_path / "a.pcap", [(0, syn), (1, syn), (1.00005, syn_ack(1460)), *later])
    told = " ".join(netspurt("explain", dropped).stdout.split())
    assert (
        "1 retransmission came because the receiving host did not take earlier transmissions"
        in told
    )
    assert "the queue of the listening program may be full" in told
    taken = pcap(tmp_path / "b.pcap", [(1, syn), (1.00005, syn_ack(1460)), *later])
    assert "dropped" not in netspurt("explain", taken).stdout


@pytest.mark.parametrize(("length", "segments"), [(1460, None), (1461, 2), (14_600, 10)])
def test_captured_packets_that_hold_several_segments_are_noted(
    netspurt: Command, tmp_path: Path, length: int, segments: int | None
) -> None:
    data = segment(ACK, 1, payload=bytes(length))
    packets = [(0.0, segment(SYN, 0)), (0.01, syn_ack(1460)), (0.02, data)]
    file = pcap(tmp_path / "large.pcap", [*packets, (0.03, answer(1 + length))])
    told = " ".join(netspurt("explain", file).stdout.split())
    if segments is None:
        assert "segments each" not in told
    else:
        assert f"captured packets of 1 direction hold up to {segments} segments each" in told


def test_every_form_of_output_leaves_out_unreadable_captures(
    netspurt: Command, tmp_path: Path
) -> None:
    pcap(tmp_path / "good.pcap", talk(3))
    (tmp_path / "nothing.pcap").touch()
    for form in ([], ["--csv"], ["--json"]):
        done = netspurt("explain", "good.pcap", "nothing.pcap", *form)
        assert done.returncode == 1
        assert done.stderr == "warning: nothing.pcap: the file is empty; it is left out\n"
        assert done.stdout
        alone = netspurt("explain", "nothing.pcap", *form)
        assert (alone.returncode, alone.stdout) == (2, "")
    only = json.loads(netspurt("explain", "good.pcap", "nothing.pcap", "--json").stdout)
    assert [one["file"] for one in only["captures"]] == ["good.pcap"]
    (tmp_path / "words.txt").write_text("no capture")
    none = netspurt("explain", "nothing.pcap", "words.txt", "--json")
    assert (none.returncode, none.stdout) == (2, "")


def test_an_unknown_connection_is_refused_and_so_is_any_connection_with_the_option_parquet(
    netspurt: Command, tmp_path: Path
) -> None:
    pcap(tmp_path / "good.pcap", talk(3))
    for form in ([], ["--json"]):
        done = netspurt("explain", "good.pcap", "--connection", "7", *form)
        assert (done.returncode, done.stdout) == (2, "")
        assert "good.pcap: no connection has the number 7" in done.stderr
    done = netspurt("explain", "good.pcap", "--connection", "0", "--parquet", "out.parquet")
    assert done.returncode == 2
    assert "--connection does not apply to --parquet" in done.stderr
    assert not (tmp_path / "out.parquet").exists()


def test_a_folder_may_have_captures_of_every_kind_that_can_be_read(
    netspurt: Command, tmp_path: Path
) -> None:
    plain = Path(pcap(tmp_path / "plain.pcap", talk(3))).read_bytes()
    # The variant of pcap by Kuznetzov has another magic number, and eight more octets before each
    # packet.
    header, rest, patched = plain[:24], plain[24:], b""
    while rest:
        length = int.from_bytes(rest[8:12], "little")
        patched += rest[:16] + bytes(8) + rest[16 : 16 + length]
        rest = rest[16 + length :]
    magic = (0xA1B2CD34).to_bytes(4, "little")
    (tmp_path / "patched.pcap").write_bytes(magic + header[4:] + patched)
    (tmp_path / "packed.pcap.gz").write_bytes(gzip.compress(plain))
    done = netspurt("explain", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 captures: ")


def test_the_error_for_an_unknown_compression_names_the_compression(
    netspurt: Command, tmp_path: Path
) -> None:
    plain = pcap(tmp_path / "plain.pcap", talk(3)).read_bytes()
    packed = {"xz": lzma.compress(plain), "bzip2": bz2.compress(plain)}
    packed["gzip"] = gzip.compress(gzip.compress(plain))
    for name, octets in packed.items():
        (tmp_path / "packed").write_bytes(octets)
        done = netspurt("explain", "packed")
        expected = f"error: packed: compressed with {name}: decompress the file first\n"
        assert (done.returncode, done.stderr) == (2, expected)
    (tmp_path / "packed").write_bytes(packed["xz"])
    assert "compressed with xz: decompress the file first" in netspurt("delays", "packed").stderr
