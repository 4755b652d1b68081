"""Tests the fragments and echo probes of a run, in its tables, in commands and in tshark.

tshark is the program that prints the packets of a capture.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import netspurt as ns

from conftest import ROOT, Command, need

#: A flow and echo probes over a link that carries packets of at most 576 octets.
NARROW = """
title = "Fragments"
stop  = "60 s"

[links]
lan  = { between = ["a", "b"], rate = "10 Mbit/s" }
line = { between = ["b", "c"], rate = "64 kbit/s", delay = "20 ms", mtu = "576 B" }

[flows.bulk]
from    = "a"
to      = "c"
send    = "20 segments"
profile = "rfc-2026"
tcp     = { packet_size = "1500 B" }

[echo_probes.probe]
from    = "a"
to      = "c"
lengths = { from = "40 B", to = "1500 B", rule = "random" }
count   = 20
gap     = "1 s"

[record]
snap = "65535 B"
spy = ["a", "c"]
"""


@pytest.fixture(scope="module")
def narrow() -> ns.Run:
    """Return a run of the scenario `NARROW`."""
    return ns.Scenario.parse(NARROW).run()


@pytest.fixture(scope="module")
def folder(narrow: ns.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the run `narrow`."""
    return narrow.save(tmp_path_factory.mktemp("narrow") / "run")


def tshark(*words: str | Path) -> list[str]:
    """Return the lines that tshark prints."""
    command = [need("tshark"), *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


#: Options that make tshark check checksums.
CHECKS = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]


@pytest.mark.parametrize("node", ["a", "c"])
def test_tshark_reads_fragments_and_finds_no_error(folder: Path, node: str) -> None:
    file = folder / f"{node}.pcapng"
    assert tshark("-r", file, *CHECKS, "-Y", "_ws.malformed") == []
    expert = "\n".join(tshark("-r", file, *CHECKS, "-q", "-z", "expert,error"))
    assert "Errors" not in expert, expert
    seen = ns.open_run(folder).segments.where(node=node)
    assert len(tshark("-r", file, *CHECKS, "-Y", 'ip.checksum.status == "Good"')) == len(seen)
    assert len(tshark("-r", file, "-Y", "ip.flags.mf == 1 || ip.frag_offset > 0")) == int(
        seen["offset_bytes"].count()  # type: ignore[attr-defined]
    )


def test_tshark_reassembles_the_fragments(folder: Path) -> None:
    file = folder / "c.pcapng"
    seen = ns.open_run(folder).segments.where(node="c", way="in")
    assert len(seen.where(kind="fragment")) > 40
    # tshark shows a datagram at its last fragment. The checksums must be right.
    good = 'ip.dst == 10.0.0.3 && tcp.checksum.status == "Good" && tcp.len > 0'
    lengths = tshark("-r", file, *CHECKS, "-Y", good, "-T", "fields", "-e", "tcp.len")
    data = seen.where(kind="data")["len_bytes"].tolist()
    assert lengths == [str(length) for length in data]
    assert len(data) == 20
    fields = ["-T", "fields", "-e", "icmp.seq"]
    asked = tshark("-r", file, "-Y", "icmp.type == 8 && icmp.checksum.status == 1", *fields)
    assert [int(row.split(",")[0]) for row in asked] == list(range(1, 21))


def test_tshark_pairs_requests_and_replies_as_the_table_does(folder: Path, narrow: ns.Run) -> None:
    fields = ["-T", "fields", "-e", "icmp.resptime"]
    rows = tshark("-r", folder / "a.pcapng", "-Y", "icmp.resptime", *fields)
    echo_probes = narrow.echo_probes
    assert [round(float(row) * 1000) for row in rows] == [
        round(rtt / 1000) for rtt in echo_probes["rtt_ns"].tolist()
    ]
    assert not echo_probes["lost"].any()
    sizes = echo_probes["size_bytes"]
    assert sizes.min() >= 40
    assert sizes.max() <= 1500
    assert len(set(sizes.tolist())) > 15


def test_echo_probes_are_saved_and_read_back(folder: Path, narrow: ns.Run) -> None:
    reopened = ns.open_run(folder)
    assert list(reopened.echo_probes) == list(narrow.echo_probes)
    assert list(reopened.echo_probes.texts()) == list(narrow.echo_probes.texts())
    assert reopened.echo_probes.seconds("rtt_ns").min() > 0.04
    assert "20 echo probes: 0 lost" in str(reopened)


def test_every_kind_of_segment_is_documented(narrow: ns.Run) -> None:
    page = (ROOT / "docs" / "records.md").read_text()
    texts = narrow.segments._core.column("kind")[1] or []
    assert [kind for kind in texts if f"`{kind}`" not in page] == []


def test_the_error_for_missing_echo_probes_says_how_to_add_them(start_run: ns.Run) -> None:
    with pytest.raises(ns.RunError, match=r"no echo probes: add `\[echo_probes.NAME\]`"):
        _ = start_run.echo_probes


def test_the_command_reports_echo_probes(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "v.toml").write_text(
        NARROW.split("[flows", maxsplit=1)[0] + "[echo_probes" + NARROW.split("[echo_probes")[1]
    )
    result = netspurt("run", "v.toml", "--out", "run")
    assert result.returncode == 0, result.stderr
    assert "echo_probes  sent  lost  late  duplicates" in result.stdout
    assert "flow " not in result.stdout
    assert "20     0" in result.stdout
    result = netspurt("table", "run", "echo_probes", "--flow", "probe", "--limit", "2")
    assert result.returncode == 0, result.stderr
    assert "... 18 more rows" in result.stdout
    for kind in ("time-sequence", "cwnd", "rto", "queue"):
        result = netspurt("plot", "run", "--kind", kind)
        assert "Traceback" not in result.stderr, result.stderr


def test_a_flow_beside_echo_probes_has_a_picture_of_sequence_numbers(
    narrow: ns.Run, tmp_path: Path
) -> None:
    narrow.plot.time_sequence(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").exists()
    segments = narrow.segments
    assert {"bulk", "probe"} == set(segments["flow"].tolist())


def test_an_incomplete_datagram_is_a_drop_that_names_no_link() -> None:
    loss = {
        "links.line.loss": [{"nth": [2]}, "none"],
        "reassembly.timer": "5 s",
        "echo_probes.probe.lengths": ["1500 B"],
    }
    drops = ns.Scenario.parse(NARROW).replace({"flows": {}, **loss}).run().drops
    assert drops["reason"].tolist()[:2] == ["loss", "reassembly"]
    assert drops.where(reason="reassembly")["link"].tolist() == [""]
