"""Tests that the programs tshark, tcptrace and capinfos read netspurt's captures without errors."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.captures import explain

from conftest import ROOT, example, need

#: The recovery algorithms whose runs are captured.
VARIANTS = ["tahoe", "reno", "newreno", "sack", "fack"]


@pytest.fixture(scope="module")
def captures(start: ns.Scenario, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a run's folder with captures, for each recovery algorithm."""
    folder = tmp_path_factory.mktemp("captures")
    found = {}
    for recovery in VARIANTS:
        values = {"flows.transfer.tcp.recovery": recovery, "record.capture": True}
        values["record.snap"] = "65535 B"
        run = start.replace(values).run().save(folder / recovery)
        found[recovery] = run
    return found


def tshark(*words: str | Path) -> str:
    """Return the output of tshark."""
    command = [need("tshark"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("recovery", VARIANTS)
@pytest.mark.parametrize("node", ["source", "receiver"])
def test_tshark_finds_no_error_in_the_captures_of_each_recovery(
    captures: dict[str, Path], recovery: str, node: str
) -> None:
    file = captures[recovery] / f"{node}.pcapng"
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    assert tshark("-r", file, *checks, "-Y", "_ws.malformed") == ""
    good = 'ip.checksum.status == "Good" && tcp.checksum.status == "Good"'
    seen = ns.open_run(captures[recovery]).segments.where(node=node)
    assert len(tshark("-r", file, *checks, "-Y", good).splitlines()) == len(seen)
    expert = tshark("-r", file, *checks, "-q", "-z", "expert,error")
    assert "Errors" not in expert, expert


@pytest.mark.parametrize("recovery", VARIANTS)
def test_the_counts_of_tcptrace_equal_those_of_the_tables(
    captures: dict[str, Path], recovery: str
) -> None:
    file = captures[recovery] / "source.pcapng"
    result = subprocess.run(
        [need("tcptrace"), "-l", "-n", file], capture_output=True, text=True, check=True
    )
    assert "hardware" not in result.stdout + result.stderr
    assert "WARNING" not in result.stdout + result.stderr
    lines = {
        line.split(":")[0].strip(): line.split(":")[1].split()[0]
        for line in result.stdout.splitlines()
        if line.count(":") == 2
    }
    run = ns.open_run(captures[recovery])
    assert int(lines["actual data pkts"]) == int(run.flows["sent"][0])
    assert int(lines["rexmt data pkts"]) == int(run.flows["retransmissions"][0])
    assert int(lines["max segm size"]) == 960


@pytest.mark.parametrize("recovery", VARIANTS)
def test_the_figures_of_a_flow_in_a_capture_are_those_of_the_run_or_are_missing(
    captures: dict[str, Path], recovery: str
) -> None:
    run = ns.open_run(captures[recovery])
    flows = explain(captures[recovery] / "source.pcapng", segments=True).flows
    for name in ("sent", "retransmissions", "acked_bytes"):
        assert flows[name][0] == run.flows[name][0], name
    for name in ("fast_retransmits", "received", "duplicates", "delivered_bytes", "undone"):
        assert np.ma.getmaskarray(np.ma.asarray(flows[name])).all(), name


def test_data_has_the_sequence_numbers_that_its_packet_numbers_imply(
    captures: dict[str, Path],
) -> None:
    fields = ["-T", "fields", "-e", "ip.id", "-e", "ip.len", "-e", "tcp.seq_raw", "-e", "ip.src"]
    rows = [
        line.split("\t")
        for line in tshark("-r", captures["sack"] / "source.pcapng", *fields).splitlines()
    ]
    data = [row for row in rows if row[1] == "1000"]
    # Packet n, of L octets, begins at the sequence number 1 + (L - 40)(n - 1).
    run = ns.open_run(captures["sack"])
    packets = run.segments.where(node="source", way="out")["packet"]
    assert [int(row[2]) for row in data] == [1 + 960 * (n - 1) for n in packets.tolist()]
    for source in {row[3] for row in rows}:
        ids = [row[0] for row in rows if row[3] == source]
        assert len(set(ids)) == len(ids), "each identification must be unique"


def test_the_comment_on_an_ack_with_sack_blocks_says_how_many_octets_were_counted(
    captures: dict[str, Path],
) -> None:
    fields = ["-T", "fields", "-e", "ip.len", "-e", "tcp.options.sack.count", "-e", "frame.comment"]
    rows = [
        line.split("\t")
        for line in tshark("-r", captures["sack"] / "source.pcapng", *fields).splitlines()
    ]
    with_blocks = [row for row in rows if len(row) > 1 and row[1]]
    assert with_blocks
    for length, count, comment in with_blocks:
        assert int(length) == 44 + 8 * int(count)
        assert f"counted {40 + 8 * int(count)} octets" in comment
    assert all(len(row) < 3 or not row[2] for row in rows if row not in with_blocks)


def test_a_capture_states_its_link_type_its_time_unit_its_first_instant_and_its_program(
    captures: dict[str, Path],
) -> None:
    need("capinfos")
    file = captures["tahoe"] / "source.pcapng"
    output = subprocess.run(["capinfos", file], capture_output=True, text=True, check=True).stdout
    assert "Raw IP" in output
    assert "Number of interfaces in file: 1" in output
    assert "nanoseconds" in output
    assert "2000-01-01" in output
    assert "netspurt" in output


#: The fields that the example program `packets` lists in the comment of each packet, in this order.
FIELDS = [
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.window_size_value",
    "tcp.flags",
    "ip.dsfield.ecn",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.option_kind",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
]


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a capture of 400 random packets of IPv4 and IPv6, and return the file."""
    file = tmp_path_factory.mktemp("packets") / "random.pcapng"
    with file.open("wb") as out:
        subprocess.run([example("packets"), "400", "1"], cwd=ROOT, stdout=out, check=True)
    return file


def test_tshark_finds_no_error_in_random_packets_of_ipv4_and_ipv6(packets: Path) -> None:
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    # The payload is random, so tshark must not read it as a protocol.
    checks += ["-d", "tcp.port==5001,data"]
    assert tshark("-r", packets, *checks, "-Y", "_ws.malformed") == ""
    good = 'tcp.checksum.status == "Good" && !(ip.checksum.status == "Bad")'
    assert len(tshark("-r", packets, *checks, "-Y", good).splitlines()) == 400
    assert tshark("-r", packets, *checks, "-Y", "_ws.expert.group == 0x07000000") == ""
    expert = tshark("-r", packets, *checks, "-q", "-z", "expert,error")
    assert "Errors" not in expert, expert


def test_tshark_reads_the_fields_that_were_written(packets: Path) -> None:
    names = [*FIELDS, "ipv6.tclass.ecn", "frame.comment"]
    fields = [word for name in names for word in ("-e", name)]
    raw = ["-o", "tcp.relative_sequence_numbers:FALSE", "-d", "tcp.port==5001,data"]
    rows = tshark("-r", packets, *raw, "-T", "fields", *fields).splitlines()
    assert len(rows) == 400
    seen = set()
    for row in rows:
        *values, ecn6, comment = row.split("\t")
        read = dict(zip(FIELDS, values, strict=True))
        read["tcp.flags"] = str(int(read["tcp.flags"], 16))
        read["ip.dsfield.ecn"] = read["ip.dsfield.ecn"] or ecn6
        read["tcp.option_kind"] = "4" if "4" in read["tcp.option_kind"].split(",") else ""
        field_values = dict(zip(FIELDS, comment.split(";"), strict=True))
        assert read == field_values
        seen |= {name for name, value in field_values.items() if value}
    assert seen == set(FIELDS)


def identifications(folder: Path, node: str) -> list[tuple[str, str]]:
    """Return the source and the IP identification of each packet that a node captured."""
    words = ["-T", "fields", "-e", "ip.src", "-e", "ip.id"]
    rows = tshark("-r", folder / f"{node}.pcapng", *words).splitlines()
    return [(source, id_) for source, _, id_ in (row.partition("\t") for row in rows)]


def hardware_duplicates(folder: Path, node: str) -> int:
    """Return how many packets tcptrace counts as duplicates that hardware made."""
    words = [need("tcptrace"), "-nl", str(folder / f"{node}.pcapng")]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    rows = [line for line in result.stdout.splitlines() if "hardware dups" in line]
    return sum(int(number) for row in rows for number in re.findall(r"dups:\s+(\d+)", row))


def test_an_ip_identification_occurs_twice_only_if_a_link_copied_a_packet(
    start: ns.Scenario, tmp_path: Path
) -> None:
    odd = start.replace(
        {
            "stop": "120 s",
            "record.spy": ["source", "receiver"],
            "record.capture": True,
            "links.modem.order": "overtaking",
            "links.modem.loss": {"probability": 0.05},
            "links.modem.reorder": {"probability": 0.1, "by": "2 s"},
            "flows.transfer.tcp.recovery": "newreno",
        }
    )
    plain = odd.run().save(tmp_path / "plain")
    copied = odd.replace({"links.modem.duplicate": {"nth": [3, 9, 20], "after": "1 ms"}})
    copies = copied.run().save(tmp_path / "copies")
    for node in ("source", "receiver"):
        seen = identifications(plain, node)
        assert len(seen) == len(set(seen)) > 50
        assert hardware_duplicates(plain, node) == 0
        seen = identifications(copies, node)
        transmissions = ns.open_run(copies).segments.where(node=node)["id"].tolist()
        repeated = len(transmissions) - len(set(transmissions))
        assert len(seen) - len(set(seen)) == repeated
    assert repeated == 3
    assert hardware_duplicates(copies, "receiver") == 3
