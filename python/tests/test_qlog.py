"""Tests the qlog files that netspurt writes: their schema, and the events in them.

qlog is a format for the events of connections. Drafts of the IETF describe it. A file of records
(.sqlog) has one connection at one node. A contained file (.qlog) has a trace for each connection
at each node. The program qvis draws qlog files of an older version.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import netspurt as ns
from netspurt.captures import explain
from netspurt.qlog import CURRENT, QVIS, vantages, write_qlog
from netspurt.qlog.forms import QlogForm
from netspurt.run import Run

from conftest import ROOT, Command, refused

#: An event of a qlog file.
Event = dict[str, Any]

#: A capture beside a sender.
CAPTURE = ROOT / "data" / "captures" / "spikes-18-no-tlp-s1" / "sender.pcapng"


#: A scenario with a node `middle` between the ends; packets are lost behind it.
LOSSY = """
title = "a lossy path with a middle"
stop = "60 s"
seed = 4
[links]
near = { between = ["source", "middle"], rate = "10 Mbit/s", delay = "5 ms", queue = "50 packets" }
far = { between = ["middle", "receiver"], rate = "1 Mbit/s", delay = "30 ms", loss = LOSS }
[flows.transfer]
from = "source"
to = "receiver"
profile = "linux-6"
send = "200 kB"
[record]
spy = ["source", "middle", "receiver"]
""".replace("LOSS", '[{ probability = 0.15 }, "none"]')


@pytest.fixture(scope="module")
def run() -> Run:
    """Return a run with SACK, losses and timeouts. Its packets are recorded at all three nodes."""
    return ns.Scenario.parse(LOSSY, "lossy.toml").run()


def written(
    tables: Any, folder: Path, form: QlogForm = CURRENT, **which: Any
) -> tuple[Event, list[Event]]:
    """Write a file of JSON records; return its head and its events."""
    file = folder / "one.sqlog"
    seen = vantages(tables, **which)[:1]
    count = write_qlog(file, tables, seen, form=form)
    text = file.read_text()
    assert text.startswith("\x1e")
    assert text.endswith("\n")
    head, *events = (json.loads(record) for record in text.split("\x1e")[1:])
    assert len(events) == count
    return head, events


def named(events: list[Event], name: str) -> list[Any]:
    """Return the data of all events with this name."""
    return [event["data"] for event in events if event["name"] == name]


class Schema:
    """Holds the schemas of the drafts and of netspurt, which are written in the language CDDL.

    A member of an event that the schemas do not define is invalid.
    """

    def __init__(self) -> None:
        self.library = pytest.importorskip("pycddl", reason="no pycddl: CDDL is not checked")
        self.cbor = pytest.importorskip("cbor2")
        drafts = ("main-schema-14", "quic-events-13")
        text = "".join((ROOT / f"authorities/qlog/{name}.cddl").read_text() for name in drafts)
        (own,) = re.findall(
            r"^```cddl\n(.*?)^```",
            (ROOT / "docs/interchange.md").read_text(),
            re.DOTALL | re.MULTILINE,
        )
        text = re.sub(r"^ *\* \$\$.*-extension *$", "", text, flags=re.MULTILINE)
        # pycddl reads the key `time:` as the type `time`. It does not unwrap groups (`~LogFile`).
        text = re.sub(r"\btime:", '"time":', text)
        (log,) = re.findall(r"^LogFile = \{(.*?)\}", text, re.DOTALL | re.MULTILINE)
        # pycddl checks the signs of numbers, but not their sizes.
        text = re.sub(r"= uint \.size \d", "= uint", text.replace("~LogFile", log))
        self.text = text + own

    def check(self, rule: str, value: Any) -> None:
        """Raise an error if the schema does not allow the value."""
        schema = self.library.Schema(f"checked = {rule}\n{self.text}")
        schema.validate_cbor(self.cbor.dumps(value))


#: For each event: the rule of the schemas for its data.
DATA = {
    "netspurt:packet_sent": "NetspurtPacket",
    "netspurt:packet_received": "NetspurtPacket",
    "netspurt:rto_updated": "NetspurtRtoUpdated",
    "quic:recovery_metrics_updated": "QUICRecoveryMetricsUpdated",
    "quic:congestion_state_updated": "QUICCongestionStateUpdated",
    "quic:packet_lost": "QUICPacketLost",
    "quic:timer_updated": "QUICTimerUpdated",
}


@pytest.mark.parametrize("node", ["source", "middle", "receiver", "capture"])
def test_every_event_is_valid_by_the_drafts_and_our_schema(
    run: Run, node: str, tmp_path: Path
) -> None:
    schema = Schema()
    tables: Any = explain(CAPTURE, segments=True) if node == "capture" else run
    head, events = written(tables, tmp_path, node=node, ends=node != "capture")
    schema.check("QlogFileSeq", head)
    assert len(events) > 50
    for name, rule in DATA.items():
        mine = [event for event in events if event["name"] == name]
        if mine:
            schema.check(f'[+ {{"time": float64, name: "{name}", data: {rule}}}]', mine)
    assert {event["name"] for event in events} <= set(DATA)


def test_the_check_against_the_drafts_can_fail() -> None:
    schema = Schema()
    good = {"min_rtt": 1.5, "congestion_window": 3000}
    schema.check("QUICRecoveryMetricsUpdated", good)
    for invalid in ({"min_rtt": "1.5"}, {"cwnd": 3000}, {"congestion_window": -1}):
        with pytest.raises(Exception, match="validating"):
            schema.check("QUICRecoveryMetricsUpdated", {**good, **invalid})
    with pytest.raises(Exception, match="validating"):
        schema.check("VantagePoint", {"type": "middle"})


def test_a_file_of_records_has_what_the_draft_requires(run: Run, tmp_path: Path) -> None:
    head, events = written(run, tmp_path)
    assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert head["serialization_format"] == "application/qlog+json-seq"
    # Tools look for these two texts in the first 256 octets (main-schema-14 §3).
    assert "application/qlog+json-seq" in (tmp_path / "one.sqlog").read_text()[:256]
    trace = head["trace"]
    assert trace["vantage_point"] == {"name": "source", "type": "client"}
    assert trace["common_fields"]["reference_time"] == {
        "clock_type": "monotonic",
        "epoch": "unknown",
    }
    assert trace["event_schemas"][0] == "urn:ietf:params:qlog:events:quic-13"
    assert "netspurt" in trace["event_schemas"][1]
    assert all(set(event) == {"time", "name", "data"} for event in events)
    times = [event["time"] for event in events]
    assert times == sorted(times)


def test_a_contained_file_has_a_trace_for_each_connection_and_node(
    run: Run, tmp_path: Path
) -> None:
    seen = vantages(run)
    write_qlog(tmp_path / "all.qlog", run, seen)
    data = json.loads((tmp_path / "all.qlog").read_text())
    assert data["file_schema"] == "urn:ietf:params:qlog:file:contained"
    vantage_points = [
        (trace["vantage_point"]["name"], trace["vantage_point"]["type"]) for trace in data["traces"]
    ]
    assert sorted(vantage_points) == [
        ("middle", "network"),
        ("receiver", "server"),
        ("source", "client"),
    ]
    (between,) = (trace for trace in data["traces"] if trace["vantage_point"]["name"] == "middle")
    assert between["vantage_point"]["flow"] == "client"
    assert all(trace["events"] for trace in data["traces"])
    # The sender's state is not known between the ends.
    assert {event["name"].split("_")[0] for event in between["events"]} == {
        "netspurt:packet",
        "quic:packet",
    }


def test_the_events_of_packets_have_the_values_of_the_table_of_segments(
    run: Run, tmp_path: Path
) -> None:
    _, events = written(run, tmp_path, node="source")
    own = run.segments.where(node="source")
    for name, direction in (("packet_sent", "forward"), ("packet_received", "reverse")):
        rows = own.where(direction=direction)
        named_events = named(events, f"netspurt:{name}")
        assert [event["seq"] for event in named_events] == rows["seq"].tolist()
        assert [event["header"]["packet_number"] for event in named_events] == rows["id"].tolist()
        assert [event["raw"]["length"] for event in named_events] == rows["size_bytes"].tolist()
        assert [event.get("cause", "") for event in named_events] == rows["cause"].tolist()
    sent = [event for event in events if event["name"] == "netspurt:packet_sent"]
    times = own.where(direction="forward")["t_ns"] / 1e6
    assert [row["time"] for row in sent] == pytest.approx(times.tolist(), abs=1e-9)


def test_each_ack_has_its_sack_blocks_in_the_order_of_the_table(run: Run, tmp_path: Path) -> None:
    _, events = written(run, tmp_path, node="source")
    found = {
        event["header"]["packet_number"]: event["sack_blocks"]
        for event in named(events, "netspurt:packet_received")
        if "sack_blocks" in event
    }
    expected: dict[int, list[list[int]]] = {}
    for row in run.sack_blocks.where(node="source", direction="reverse").records():
        expected.setdefault(row["id"], []).append([row["left"], row["right"]])
    assert found == expected
    assert any(len(blocks) > 1 for blocks in found.values())


def test_metrics_except_the_latest_rtt_are_written_only_when_they_change(
    run: Run, tmp_path: Path
) -> None:
    _, events = written(run, tmp_path, node="source")
    metrics = named(events, "quic:recovery_metrics_updated")
    assert all(metrics)
    for name in ("min_rtt", "smoothed_rtt", "rtt_variance", "congestion_window", "ssthresh"):
        values = [event[name] for event in metrics if name in event]
        assert values, name
        assert all(a != b for a, b in itertools.pairwise(values)), name
    samples = run.rtt.where(direction="forward")["rtt_ns"] / 1e6
    assert [event["latest_rtt"] for event in metrics if "latest_rtt" in event] == samples.tolist()
    least = [event["min_rtt"] for event in metrics if "min_rtt" in event]
    assert least == sorted(least, reverse=True)
    assert least[-1] == samples.min()
    last = [event["congestion_window"] for event in metrics if "congestion_window" in event][-1]
    assert last == run.cwnd.where(direction="forward")["cwnd_bytes"][-1]


def test_each_retransmission_except_tail_loss_probes_reports_an_earlier_transmission_as_lost(
    run: Run, tmp_path: Path
) -> None:
    _, events = written(run, tmp_path, node="source")
    retransmissions = run.segments.where(node="source", kind="retransmission")
    reporting = retransmissions.select(retransmissions["cause"] != "tlp")
    lost = named(events, "quic:packet_lost")
    assert len(lost) == len(reporting) > 3
    seqs = dict(zip(run.segments["id"].tolist(), run.segments["seq"].tolist(), strict=True))
    for event, seq, number in zip(lost, reporting["seq"], reporting["id"], strict=True):
        assert seqs[event["header"]["packet_number"]] == seq
        assert event["header"]["packet_number"] < number
    words = {"rack": "time_threshold", "rto": "pto_expired", "go-back-n": "pto_expired"}
    expected = [words.get(cause, "reordering_threshold") for cause in reporting["cause"].tolist()]
    assert [event["trigger"] for event in lost] == expected


def test_each_timeout_is_an_event_of_the_timer(run: Run, tmp_path: Path) -> None:
    _, events = written(run, tmp_path, node="source")
    fired = run.rto.where(direction="forward", fired=True)
    assert len(named(events, "quic:timer_updated")) == len(fired) > 0
    values = [event["rto"] for event in named(events, "netspurt:rto_updated")]
    assert values[-1] == run.rto.where(direction="forward")["rto_ns"][-1] / 1e6


def test_a_capture_is_a_vantage_point_on_the_path(tmp_path: Path) -> None:
    capture = explain(CAPTURE, segments=True)
    (seen,) = vantages(capture, flow="c0", direction="reverse", ends=False)
    assert seen.told() == {"name": "capture", "type": "network", "flow": "server"}
    _, events = written(capture, tmp_path, flow="c0", direction="reverse", ends=False)
    of_server = capture.segments.where(flow="c0", direction="reverse")
    assert len(named(events, "netspurt:packet_sent")) == len(of_server)


def test_qvis_gets_acknowledged_ranges_that_cover_no_packet_twice(run: Run, tmp_path: Path) -> None:
    head, events = written(run, tmp_path, QVIS, node="source")
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert {event["name"].split(":")[0] for event in events} == {"transport", "recovery"}
    sent = {event["header"]["packet_number"] for event in named(events, "transport:packet_sent")}
    covered = [
        number
        for event in named(events, "transport:packet_received")
        for frame in event["frames"]
        if frame["frame_type"] == "ack"
        for first, last in frame["acked_ranges"]
        for number in range(first, last + 1)
    ]
    assert len(covered) == len(set(covered)) > 20
    assert set(covered) <= sent
    data = [frame for event in named(events, "transport:packet_sent") for frame in event["frames"]]
    assert {entry["frame_type"] for entry in data} == {"stream"}


def test_invalid_names_of_qlog_files_flows_and_nodes_are_errors(
    netspurt: Command, run: Run, tmp_path: Path
) -> None:
    run.save(tmp_path / "r")
    refused(netspurt("qlog", "r", "--out", "r.json"), "must end in .sqlog or .qlog")
    refused(
        netspurt("qlog", "r", "--out", "r.sqlog", "--flow", "x"),
        "no flow in segments is called 'x'",
    )
    refused(
        netspurt("qlog", "r", "--out", "r.sqlog", "--node", "x"),
        "no spied node in segments is called 'x'",
    )
    result = netspurt("qlog", "r", "--out", "r.sqlog", "--node", "receiver")
    assert result.stdout.endswith("events of transfer at receiver\n")
    refused(netspurt("qlog", "r", "--out", "r.sqlog"), "exists")
    with pytest.raises(ValueError, match="holds one connection at one node, and 3 were found"):
        write_qlog(tmp_path / "all.sqlog", run, vantages(run))
