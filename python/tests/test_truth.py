"""Tests captures with known retransmissions: their cases, files and labels.

A collection is a folder of cases. A case is a run of a certain TCP over a certain path, captured at
both ends. A label says why a packet of a capture was retransmitted. A view is a version of a
capture. The whole view has all packets; other views lack packets or octets.
"""

from __future__ import annotations

import filecmp
import itertools
import json
import struct
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import netspurt as ns
from netspurt.run import Run
from netspurt.truth import Case, TruthError, cases, make_collection
from netspurt.truth.cases import path_names
from netspurt.truth.labels import Label, NodeRows, ends_of_connections, read_labels
from netspurt.truth.ledger import sums
from netspurt.truth.pcapng import CollectionError, Packet, read_packets, write_part
from netspurt.truth.views import GAPS, LOSSY, SHORT, WHOLE, CaptureView, views_of

from conftest import ROOT, Command
from lateness import real_time
from made_up_tables import rows


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a collection of 28 simulated cases; return its folder."""
    folder = tmp_path_factory.mktemp("truth") / "made"
    make_collection(folder, cases(28, live=False, seed=3))
    return folder


def truth_of(case: Path) -> Any:
    """Return the content of a case's `truth.json`."""
    return json.loads((case / "truth.json").read_bytes())


def folders(collection: Path) -> list[Path]:
    """Return the folders of a collection's cases."""
    found = sorted(file.parent for file in collection.glob("*/truth.json"))
    assert found, "a collection without cases would let every test pass"
    return found


@pytest.mark.parametrize("live", [False, True])
def test_every_path_is_combined_with_every_tcp(live: bool) -> None:
    first: dict[tuple[str, str], Case] = {}
    for case in cases(150 * len(path_names()), live=live):
        first.setdefault((case.path, case.stack), case)
    assert len(first) == len(path_names()) * len({stack for _, stack in first}) > 200
    for case in first.values():
        scenario = case.scenario()
        assert (scenario.kernel_flow is not None) == live
        assert scenario.seed > 1


@pytest.mark.parametrize("path", path_names())
def test_every_case_of_a_path_is_a_scenario_that_captures_both_ends(path: str) -> None:
    found = {case.number: case for case in cases(400, live=False, only=path, stacks="linux")}
    assert sorted(found) == list(range(len(found)))
    for case in found.values():
        spied = case.scenario().resolved().partition("spy")[2].partition("]")[0]
        assert '"sender"' in spied
        assert '"receiver"' in spied


def test_cases_have_different_names_and_seeds() -> None:
    chosen = cases(300, live=False)
    assert len({case.name for case in chosen}) == 300
    assert len({case.scenario().seed for case in chosen[:50]}) == 50
    assert {case.path for case in chosen[: len(path_names())]} == set(path_names())
    repeated = cases(3, live=False, only="tails", stacks="plain", seed=5)
    assert [(case.path, case.stack, case.seed) for case in repeated] == [("tails", "plain", 5)] * 3


def test_unknown_names_are_errors() -> None:
    with pytest.raises(TruthError, match="no path is called 'tail'; the paths are acks"):
        cases(1, live=False, only="tail")
    with pytest.raises(TruthError, match="no TCP is called 'windows'; the TCPs are default"):
        cases(1, live=True, stacks="windows")


def test_a_collection_has_many_paths_and_causes(collection: Path) -> None:
    made = json.loads((collection / "collection.json").read_bytes())
    assert made["cases"] == len(folders(collection)) == 28
    assert made["left_out"] == {}
    assert {"rto", "go-back-n", "fast", "tlp", "syn"} <= set(made["causes"])
    assert {truth_of(case)["path"] for case in folders(collection)} == set(path_names())


def test_the_table_of_labels_has_a_row_for_each_retransmission_of_the_run(collection: Path) -> None:
    for case in folders(collection)[::5]:
        run = ns.load(case / "scenario.toml").run()
        labels = read_labels(case / "truth.csv")
        whole = [row for row in labels if row.capture.count(".") == 1 and row.side == "sender"]
        counted = Counter((row.flow, row.direction, row.cause) for row in whole)
        spurious = Counter((row.flow, row.direction, row.cause) for row in whole if row.spurious)
        table = run.table("retransmissions")
        names = ("flow", "direction", "cause", "sent", "spurious")
        rows = list(zip(*(table[name].tolist() for name in names), strict=True))
        # The table has only directions with data. Other directions retransmit SYN-ACKs and FINs.
        assert all(counted[row[:3]] == row[3] for row in rows), case.name
        assert all(spurious[row[:3]] == row[4] for row in rows), case.name


def tcp_of(octets: bytes) -> tuple[bytes, bytes, int]:
    """Return the source, the destination and the raw sequence number of a packet."""
    if octets[0] >> 4 == 4:
        source, destination, tcp = octets[12:16], octets[16:20], octets[20:]
    else:
        source, destination, tcp = octets[8:24], octets[24:40], octets[40:]
    return source, destination, struct.unpack_from(">I", tcp, 4)[0]


def check_labels(case: Path) -> None:
    """Compare each label with the packet of its capture."""
    for capture in truth_of(case)["captures"]:
        packets = read_packets(case / capture["file"])
        assert len(packets) == capture["packets"]
        assert all(len(packet.octets) <= capture["snap_bytes"] for packet in packets)
        own = [row for row in read_labels(case / "truth.csv") if row.capture == capture["file"]]
        firsts: dict[str, set[int]] = {}
        for row in own:
            packet = packets[row.frame - 1]
            assert packet.unix_ns == row.unix_ns == packets[0].unix_ns + row.t_ns
            _, _, seq = tcp_of(packet.octets)
            firsts.setdefault(row.source, set()).add((seq - row.seq) % 2**32)
        # All packets of one end of a connection imply the same initial sequence number.
        assert all(len(initial) == 1 for initial in firsts.values())


def test_each_label_describes_the_packet_with_its_number(collection: Path) -> None:
    for case in folders(collection):
        check_labels(case)


def test_the_file_truth_json_lists_the_packets_that_a_lossy_capture_lacks(collection: Path) -> None:
    found = 0
    for case in folders(collection):
        captures = {capture["file"]: capture for capture in truth_of(case)["captures"]}
        for name in [name for name in captures if name.endswith(("lossy.pcapng", "gaps.pcapng"))]:
            whole = read_packets(case / f"{name.partition('.')[0]}.pcapng")
            missed = captures[name]["missed_packets"]
            kept = [packet for n, packet in enumerate(whole, 1) if n not in missed]
            assert read_packets(case / name) == kept
            found += bool(missed)
    assert found > 3


def test_an_original_is_seen_only_if_the_capture_has_it(collection: Path) -> None:
    rows = [row for case in folders(collection) for row in read_labels(case / "truth.csv")]
    whole = [row for row in rows if row.capture.count(".") == 1]
    assert {row.original for row in whole if row.side == "sender"} == {"seen"}
    assert {"seen", "unseen"} <= {row.original for row in whole if row.side == "receiver"}
    partial = [row for row in rows if row.capture.count(".") == 2 and row.side == "sender"]
    assert "unseen" in {row.original for row in partial}


def test_the_same_seed_makes_the_same_captures(tmp_path: Path) -> None:
    chosen = cases(2, live=False, only="requests", seed=9)
    for name in ("one", "two"):
        make_collection(tmp_path / name, chosen)
    for case in chosen:
        pair = tmp_path / "one" / case.name, tmp_path / "two" / case.name
        names = sorted(file.name for file in pair[0].iterdir())
        assert filecmp.cmpfiles(*pair, names, shallow=False) == (names, [], [])


def test_the_file_truth_json_lists_the_octets_that_the_path_lost(tmp_path: Path) -> None:
    case = Case("listed-losses", 0, "plain", {"flows.transfer.profile": "plain"}, False, False, 1)
    make_collection(tmp_path / "made", [case])
    (drop,) = truth_of(tmp_path / "made" / case.name)["drops"]
    assert (drop["kind"], drop["reason"], drop["seq"]) == ("data", "loss", 1 + 11 * 1448)


def test_a_partial_capture_has_fewer_packets_or_octets_with_the_same_times(tmp_path: Path) -> None:
    whole = _saved(tmp_path)
    packets = read_packets(whole)
    write_part(whole, tmp_path / "part.pcapng", [0, 2, 3], 50)
    part = read_packets(tmp_path / "part.pcapng")
    assert [packet.unix_ns for packet in part] == [packets[n].unix_ns for n in (0, 2, 3)]
    assert [packet.size_bytes for packet in part] == [packets[n].size_bytes for n in (0, 2, 3)]
    assert [packet.octets for packet in part] == [packets[n].octets[:50] for n in (0, 2, 3)]


def _saved(tmp_path: Path) -> Path:
    """Save a run; return one of its captures."""
    scenario = ns.new_scenario().replace({"stop": "5 s"})
    scenario.run().save(tmp_path / "run")
    return sorted((tmp_path / "run").glob("*.pcapng"))[0]


def test_a_damaged_capture_is_an_error(tmp_path: Path) -> None:
    content = _saved(tmp_path).read_bytes()
    file = tmp_path / "bad.pcapng"
    for bad, why in [
        (b"no capture at all", "not a pcapng file"),
        (content[:-7], "has a block of"),
        (content + b"\x06\0\0\0", "is cut at octet"),
        (content[:-4] + content[-4:] + struct.pack("<III", 6, 4, 4), "has a block of 4 octets"),
    ]:
        file.write_bytes(bad)
        with pytest.raises(CollectionError, match=why):
            read_packets(file)


@pytest.mark.parametrize("view", [LOSSY, GAPS])
def test_a_lossy_view_lacks_its_share_of_packets(view: CaptureView) -> None:
    missed = sorted(set(range(100_000)) - set(view.kept(100_000, "a case")))
    assert view.lost * 0.8 < len(missed) / 100_000 < view.lost * 1.2
    # Consecutive missed packets form sequences of the length of a burst, or longer sequences if two
    # bursts meet.
    runs = [len(list(run)) for _, run in itertools.groupby(n - i for i, n in enumerate(missed))]
    assert min(runs[:-1]) == view.burst
    assert view.kept(1000, "a case") == view.kept(1000, "a case") != view.kept(1000, "another")


def test_the_whole_view_keeps_all_packets_and_a_short_view_keeps_no_options() -> None:
    assert WHOLE.kept(5, "any") == SHORT.kept(5, "any") == [0, 1, 2, 3, 4]
    assert [view.kept(0, "any") for view in (WHOLE, SHORT, GAPS, LOSSY)] == [[], [], [], []]
    assert (SHORT.snap_bytes(b"\x45"), SHORT.snap_bytes(b"\x60"), WHOLE.snap_bytes(b"\x60")) == (
        40,
        60,
        100,
    )
    names = {view.name for n in range(50) for view in views_of(f"case {n}")}
    assert names == {"", "lossy", "gaps", "short"}


def live_run(causes: dict[str, list[str]], counters: dict[str, dict[str, int]]) -> Run:
    """Return a stand-in for a live run: the segments of each end, and its kernel's counters."""
    rows = [
        ("f", "forward" if end == "from" else "reverse", way, cause)
        for end, sent in causes.items()
        for cause in sent
        for way in ("out", "in")
    ]
    names = ("flow", "direction", "way", "cause")
    segments = {k: np.array(v) for k, v in zip(names, zip(*rows, strict=True), strict=True)}
    ends = [SimpleNamespace(flow="f", side=end, counters=counters[end]) for end in counters]
    return cast(Run, SimpleNamespace(live=SimpleNamespace(ends=ends), segments=segments))


def wrong_sums(causes: dict[str, list[str]], counters: dict[str, dict[str, int]]) -> list[str]:
    """Return the sums of labels that differ from the kernel's counters."""
    return [str(total) for total in sums(live_run(causes, counters)) if not total.agrees]


#: A kernel's counters after six retransmissions: a SYN, a segment after a timeout, two segments of
#: go-back-N, a fast retransmit and a tail loss probe.
COUNTED = {
    "TcpRetransSegs": 6,
    "TcpExtTCPSynRetrans": 1,
    "TcpExtTCPTimeouts": 2,
    "TcpExtTCPSlowStartRetrans": 2,
    "TcpExtTCPFastRetrans": 1,
    "TcpExtTCPLossProbes": 1,
}


def test_labels_must_add_up_to_the_kernels_counters() -> None:
    sent = ["syn", "rto", "go-back-n", "go-back-n", "rack", "tlp"]
    assert wrong_sums({"from": sent}, {"from": COUNTED}) == []
    swapped = ["syn", "tlp", "go-back-n", "go-back-n", "rack", "tlp"]
    assert wrong_sums({"from": swapped}, {"from": COUNTED}) == [
        "f.from: TcpExtTCPTimeouts: 1 label, and the kernel counted 2"
    ]
    assert len(wrong_sums({"from": sent[:-1]}, {"from": COUNTED})) == 1


def test_each_host_with_segments_has_sums_over_its_programs_connections() -> None:
    counted = {"TcpRetransSegs": 3, "TcpExtTCPFastRetrans": 3}
    run = live_run({"to": ["rack", "rack", "rack"]}, {"to": counted, "from": counted})
    segments = cast(dict[str, Any], run.segments)
    segments["flow"] = np.array(["f.0", "f.0", "f.0", "f.1", "f.1", "f.1"])
    assert [str(one) for one in sums(run) if not one.agrees] == []
    segments["flow"][-1] = segments["flow"][-2] = "g.1"
    assert [str(one) for one in sums(run) if not one.agrees] == [
        "f.to: TcpRetransSegs: 2 labels, and the kernel counted 3",
        "f.to: TcpExtTCPFastRetrans: 2 labels, and the kernel counted 3",
    ]


def test_connections_of_programs_have_the_addresses_of_the_file_of_hosts(tmp_path: Path) -> None:
    lines = "127.0.0.1 localhost\n10.0.0.1 client\nfd00::2 server\n"
    (tmp_path / "hosts").write_text(lines, encoding="utf-8")
    flows = [{"flow": "web.0", "from": "client", "to": "server"}]
    ports = [{"flow": "web.0", "from_port": 40_000, "to_port": 80}]
    run = cast(Run, SimpleNamespace(
        flows=rows("flows", flows, {"flow": "", "direction": "forward", "from": "", "to": ""}),
        connections=rows("connections", ports, {"flow": "", "from_port": 0, "to_port": 0}),
    ))  # fmt: skip
    assert ends_of_connections(run, tmp_path / "hosts") == {
        "web.0": {"from": "10.0.0.1:40000", "to": "[fd00::2]:80"}
    }


def test_the_kernel_may_count_a_second_syn_ack_as_a_timeout_or_not() -> None:
    counted = {"TcpRetransSegs": 1, "TcpExtTCPSynRetrans": 1}
    timed_out = counted | {"TcpExtTCPTimeouts": 1}
    assert wrong_sums({"to": ["syn"]}, {"to": counted}) == []
    assert wrong_sums({"to": ["syn"]}, {"to": timed_out}) == []
    assert wrong_sums({"to": ["syn"]}, {"to": timed_out | {"TcpExtTCPTimeouts": 2}}) != []
    assert wrong_sums({"from": ["syn"]}, {"from": counted}) != []


@real_time
def test_the_kernels_captures_have_labels_that_add_up(tmp_path: Path) -> None:
    chosen = cases(2, live=True, only="short-flows", stacks="default")
    made = make_collection(tmp_path / "made", chosen)
    assert made.left_out == {}
    assert made.retransmissions > 0
    for case in folders(tmp_path / "made"):
        assert all(total["agrees"] for total in truth_of(case)["sums"])
        check_labels(case)


#: The collection of captures that comes with the sources.
SAMPLE = ROOT / "data" / "captures"


def test_the_sample_is_small_and_its_labels_describe_its_packets() -> None:
    case_folders = folders(SAMPLE)
    assert len(case_folders) >= 10
    assert sum(file.stat().st_size for file in SAMPLE.rglob("*") if file.is_file()) < 300_000
    labels: list[Label] = []
    for case in case_folders:
        check_labels(case)
        assert all(total["agrees"] for total in truth_of(case)["sums"])
        labels += read_labels(case / "truth.csv")
    causes = {"rto", "go-back-n", "fast", "sack-recovery", "rack", "tlp", "syn"}
    assert {row.cause for row in labels} == causes
    assert {row.spurious for row in labels} == {True, False}
    assert {":" in row.source.rpartition(":")[0] for row in labels} == {True, False}


def test_the_command_makes_a_collection(netspurt: Command, tmp_path: Path) -> None:
    made = netspurt("truth", "make", "c", "--simulated", "--cases", 2, "--only", "tails")
    assert made.returncode == 0
    assert "2 cases" in made.stdout
    assert netspurt("truth", "make", "c", "--simulated", "--cases", 1).returncode == 2
    bad = netspurt("truth", "make", "d", "--simulated", "--only", "nothing")
    assert bad.returncode == 2
    assert "no path is called 'nothing'" in bad.stderr
    said = netspurt("truth", "check", "c", "--only", "tail-*").stderr
    assert "no case of c is called 'tail-*'; the cases are tails-" in said
    (tmp_path / "empty").mkdir()
    said = netspurt("truth", "check", "empty").stderr
    assert "empty is neither a folder of `netspurt truth make` nor a run folder" in said
    assert "*" not in said, "the default pattern must not be shown"


def ran(netspurt: Command, scenario: str, out: str, *words: str) -> None:
    """Run a scenario that comes with netspurt."""
    assert netspurt("run", scenario, "--out", out, *words).returncode == 0


def test_the_explanations_of_a_run_are_compared_with_its_own_tables(
    netspurt: Command, tmp_path: Path
) -> None:
    ran(netspurt, "early-timeout", "run", "--set", "record.capture=true")
    table = ns.open_run(tmp_path / "run").table("segments")
    sent = (table["node"] == "spacecraft") & (table["way"] == "out") & (table["cause"] != "")
    checked = netspurt("truth", "check", "run", "--json")
    side = json.loads(checked.stdout)["sides"]["sender"]
    assert side["held"] == side["found"] == int(sent.sum()) > 200
    truth = Counter(table["cause"][sent].tolist())
    assert {cause: sum(row.values()) for cause, row in side["confusion"].items()} == truth
    spurious = int((sent & table["spurious"]).sum())
    assert sum(side["verdicts"]["spurious"].values()) == spurious > 100
    met = "every requirement for captures beside the sender is met"
    assert met in netspurt("truth", "check", "run").stdout
    see = "Compare with the causes that the run recorded: netspurt truth check run"
    for words in (["run"], ["run/spacecraft.pcapng"]):
        assert see in netspurt("explain", *words).stdout
    (tmp_path / "alone.pcapng").write_bytes((tmp_path / "run/spacecraft.pcapng").read_bytes())
    assert "truth check" not in netspurt("explain", "alone.pcapng").stdout


def test_a_run_with_a_missing_or_a_changed_capture_cannot_be_checked(
    netspurt: Command, tmp_path: Path
) -> None:
    ran(netspurt, "rfc2416", "bare", "--set", "record.tables=['rtt']")
    said = netspurt("truth", "check", "bare").stderr
    assert "kept no capture with the table `segments`: run it with --set record.capture" in said
    ran(netspurt, "rfc2416", "run", "--set", "record.capture=true")
    assert "--only does not apply" in netspurt("truth", "check", "run", "--only", "x").stderr
    capture = next((tmp_path / "run").glob("*.pcapng"))
    packets = read_packets(capture)
    write_part(capture, tmp_path / "part.pcapng", range(len(packets) - 1), 100)
    rows = NodeRows(ns.open_run(tmp_path / "run"), capture.stem)
    rows.check(packets)
    with pytest.raises(CollectionError, match="packets, but its table has"):
        rows.check(read_packets(tmp_path / "part.pcapng"))
    first = packets[0]
    longer = Packet(first.unix_ns, first.size_bytes + 4, first.octets)
    with pytest.raises(CollectionError, match="packet 1 has"):
        rows.check([longer, *packets[1:]])
