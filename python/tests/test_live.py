"""Tests live runs, in which the kernel's TCP or real programs run in network namespaces.

A shim is a retransmission timer between a host's TCP and the path.

If the machine allows no namespaces, the tests that need namespaces are skipped with the reason.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.analysis.compare import compare, events, why
from netspurt.cli import live as command
from netspurt.live import LiveError, run_live
from netspurt.live_report import EndReport
from netspurt.truth.pcapng import read_packets

from conftest import NETSPURT, ROOT, Command
from lateness import real_time
from report_pages import rows_of

FOUND = {name: (available, found) for name, available, found, _ in _core.capabilities()}
AVAILABLE, WHY = FOUND["user and network namespaces"]
namespaces = pytest.mark.skipif(not AVAILABLE, reason=f"no namespaces: {WHY}")

#: A transfer between two kernels.
SHORT = """
stop = "3 s"
[links]
wire = { between = ["a", "b"], rate = "2 Mbit/s", delay = "10 ms", queue = "5 packets" }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
send     = "200 kB"
"""


@namespaces
@real_time
def test_a_live_run_writes_the_same_kind_of_folder_as_a_simulated_run(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    result = netspurt("live", "run", "short.toml", "--out", "r", "--budget", 10, "--json")
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["live"]["valid"] is True
    assert data["live"]["replayed"]["same"] is True
    assert [end["profile"] for end in data["live"]["ends"]] == ["reno-2005"] * 2
    run = ns.open_run(tmp_path / "r")
    flow = {name: run.flows[name][0] for name in run.flows}
    assert flow["delivered_bytes"] == flow["acked_bytes"] == 200_000
    assert flow["retransmissions"] == int(run.links["dropped"].sum()) > 0
    assert 0.8 < run.flows.seconds("finished_ns")[0] < 3
    assert {"arrivals", "deliveries", "segments", "cwnd", "rto"} <= set(run.tables)
    captured = read_packets(tmp_path / "r" / "a.pcapng")
    assert sum(packet.size_bytes for packet in captured) > 200_000
    assert max(len(packet.octets) for packet in captured) == 128
    ended = re.search(r"\n([01](\.\d+)?) s live,", str(run))
    assert ended, "the run must end with its flow, after less than 2 s"
    digits = ended[1].lstrip("0.").replace(".", "")
    assert len(digits) <= 3, "the length of the run must have at most three digits"
    for kind in ("time-sequence", "cwnd", "rto", "queue"):
        assert netspurt("plot", "r", "--kind", kind).returncode == 0


@namespaces
@pytest.mark.parametrize(("wire", "offload"), [("veth", True), ("tun", False), ("tun", True)])
@real_time
def test_a_live_run_works_with_each_wire_and_with_offload_and_reports_its_choices(
    netspurt: Command, tmp_path: Path, wire: str, offload: bool
) -> None:
    available, reason = FOUND["TUN"]
    if wire == "tun" and not available:
        pytest.skip(f"no TUN: {reason}")
    (tmp_path / "short.toml").write_text(SHORT)
    words = ["--wire", wire, *(["--offload"] if offload else [])]
    result = netspurt("live", "run", "short.toml", "--out", "r", "--budget", 10, *words)
    assert result.returncode == 0, result.stderr
    data = json.loads((tmp_path / "r" / "live.json").read_text())
    assert (data["wire"], data["offload"]) == (wire, offload)
    assert f"{data['back_end']}: valid" in result.stdout
    run = ns.open_run(tmp_path / "r")
    assert run.flows["delivered_bytes"][0] == 200_000


@namespaces
@real_time
def test_a_run_ends_when_its_flows_have_ended(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    began = time.monotonic()
    words = ["--set", "stop=300 s", "--budget", 10]
    result = netspurt("live", "run", "short.toml", "--out", "r", *words)
    assert result.returncode == 0, result.stderr
    assert time.monotonic() - began < 100
    run = ns.open_run(tmp_path / "r")
    assert run.flows["acked_bytes"][0] == 200_000
    assert run.flows.seconds("finished_ns")[0] < run.stop_ns / 1e9 < 5
    assert "because all flows had ended; `stop` is 300 s" in result.stdout


@namespaces
@real_time
def test_a_receive_buffer_bounds_the_kernels_window(tmp_path: Path) -> None:
    """A full segment makes Linux change the limit of the window. netspurt sets the limit again."""
    tcp = {"receive_buffer": "24 kB"}
    values = {"stop": "20 s", "flows.transfer.profile": "linux-default", "flows.transfer.tcp": tcp}
    run = run_live(ns.Scenario.parse(SHORT).replace(values), tmp_path / "r")
    seen = run.segments
    acks = (seen["node"] == "a") & (seen["kind"] == "ack")
    windows = set(seen["window"][acks].tolist())
    assert len(windows) > 1, "the receiver must advertise windows of different sizes"
    assert 20_000 < max(windows) <= 24_000, windows


@namespaces
def test_a_live_run_with_a_delivery_beyond_the_budget_is_invalid(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    result = netspurt("live", "run", "short.toml", "--budget", 0, "--set", "stop=500 ms")
    assert result.returncode == 1
    assert "INVALID: a delivery was " in result.stdout
    assert "lateness: p50" in result.stdout


def test_the_error_for_an_unknown_wire_names_the_known_wires(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    assert "'veth', 'tun'" in netspurt("live", "run", "short.toml", "--wire", "tap").stderr
    scenario = ns.load(tmp_path / "short.toml")
    with pytest.raises(LiveError, match="'tap' is neither veth nor tun"):
        run_live(scenario, tmp_path / "r", wire="tap")


def test_doctor_lists_each_capability_with_its_state_or_reason(netspurt: Command) -> None:
    data = {row["name"]: row for row in json.loads(netspurt("doctor", "--json").stdout)}
    names = ("user and network namespaces", "TUN", "real-time scheduling", "BPF")
    assert all(data[name]["found"] for name in names)


def test_the_command_run_refuses_kernel_endpoints_and_live_run_needs_them(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    result = netspurt("run", "short.toml")
    assert result.returncode == 2
    assert "netspurt live run short.toml" in result.stderr
    with pytest.raises(LiveError, match="netspurt run"):
        run_live(ns.new_scenario(), tmp_path / "r")


#: A conversation of six requests and replies, with the model at both ends.
ASKING = """
title = "requests"
stop  = "2 s"
[links]
wire = { between = ["a", "b"], rate = "5 Mbit/s", delay = "20 ms", queue = "100 packets" }
[flows.web]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "300 B"
pause   = "100 ms"
app     = { requests = 6, reply = "40 kB", think = "50 ms", serve = "5 ms" }
tcp     = { nagle = false }
"""


@namespaces
@pytest.mark.parametrize("end", ["kernel", ["kernel", "model"], ["model", "kernel"]])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@real_time
def test_requests_take_as_long_with_the_kernel_as_with_the_model(
    netspurt: Command, tmp_path: Path, end: str | list[str], family: str
) -> None:
    (tmp_path / "web.toml").write_text(ASKING)
    setting = ["--set", f"flows.web.family={family}"]
    assert netspurt("run", "web.toml", *setting, "--out", "model").returncode == 0
    setting += ["--set", f"flows.web.endpoint={json.dumps(end)}"]
    result = netspurt("live", "run", "web.toml", *setting, "--out", "real", "--budget", 10)
    assert result.returncode == 0, result.stderr
    assert "requests  asked  complete      median" in result.stdout
    model, real = ns.open_run(tmp_path / "model"), ns.open_run(tmp_path / "real")
    assert real.live is not None
    assert real.live.packets.damaged == 0
    spans = [run.requests.seconds("complete_ns") for run in (model, real)]
    assert spans[1] == pytest.approx(spans[0], abs=15e-3)
    assert real.flows["flow"].tolist() == ["web", "web"]
    assert real.flows["direction"].tolist() == ["forward", "reverse"]
    for name in ("delivered_bytes", "acked_bytes"):
        assert real.flows[name].tolist() == [1800, 240_000]
    assert set(real.cwnd["direction"].tolist()) == {"forward", "reverse"}
    reverse = ["--direction", "reverse"]
    finished = netspurt("compare", "model", "real", *reverse, "--plot", "both.png")
    assert finished.returncode == 0, finished.stderr
    assert "flow web (reverse) at b" in finished.stdout
    finished = netspurt("compare", "model", "real")
    assert "flow web (reverse) at b" in finished.stdout
    assert "--direction forward" in finished.stderr
    finished = netspurt("compare", "model", "real", "--direction", "forward")
    assert "flow web at a" in finished.stdout
    drawn = netspurt("plot", "real", *reverse, "--node", "b")
    assert drawn.returncode == 0, drawn.stderr


@namespaces
@real_time
def test_a_conversation_with_pauses_takes_as_long_with_the_kernel_as_with_the_model(
    netspurt: Command, tmp_path: Path
) -> None:
    """Tests the time of a reply after a pause, which depends on the cwnd after the pause."""
    (tmp_path / "web.toml").write_text(ASKING)
    setting = ["--set", "flows.web.app.reply='60 kB'", "--set", "flows.web.app.think='400 ms'"]
    setting += ["--set", "links.wire.rate='20 Mbit/s'", "--set", "links.wire.delay='40 ms'"]
    setting += ["--set", "flows.web.app.requests=4", "--set", "stop='3 s'"]
    assert netspurt("run", "web.toml", *setting, "--out", "model").returncode == 0
    setting += ["--set", "flows.web.endpoint=kernel", "--budget", "10"]
    assert netspurt("live", "run", "web.toml", *setting, "--out", "real").returncode == 0
    model, real = ns.open_run(tmp_path / "model"), ns.open_run(tmp_path / "real")
    spans = [run.requests.seconds("complete_ns") for run in (model, real)]
    assert len(spans[0]) == 4
    assert spans[1] == pytest.approx(spans[0], abs=10e-3)


@namespaces
@real_time
def test_a_request_whose_connection_fails_is_recorded(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "web.toml").write_text(ASKING)
    words = ["--set", "links.wire.loss={ probability = 1.0 }", "--set", "stop='2 s'"]
    words += ["--set", "flows.web.pause='0 s'"]
    assert netspurt("run", "web.toml", *words, "--out", "model").returncode == 0
    words += ["--set", "flows.web.endpoint=kernel", "--budget", "10"]
    result = netspurt("live", "run", "web.toml", *words, "--out", "real")
    assert result.returncode == 0, result.stderr
    for run in (ns.open_run(tmp_path / "model"), ns.open_run(tmp_path / "real")):
        assert run.requests["number"].tolist() == [1]
        assert run.requests["complete_ns"].tolist() == [None]
        assert run.flows["retransmissions"].tolist() == [1, 0]
        assert run.flows.seconds("start_ns")[0] == pytest.approx(0, abs=0.1)


@namespaces
@real_time
def test_echo_probes_share_the_links_and_the_capture_of_a_live_run(
    netspurt: Command, tmp_path: Path
) -> None:
    echo_probes = '[echo_probes.v]\nfrom = "a"\nto = "b"\nlengths = ["40 B", "256 B"]\ncount = 20\n'
    (tmp_path / "both.toml").write_text(SHORT + echo_probes)
    result = netspurt("live", "run", "both.toml", "--out", "r", "--budget", 10)
    assert result.returncode == 0, result.stderr
    run = ns.open_run(tmp_path / "r")
    assert len(run.segments.where(kind="request")) > 2
    assert list(json.loads((tmp_path / "r" / "run.json").read_text())["flows"]) == ["transfer"]
    capture = ns.read_delays(tmp_path / "r" / "a.pcapng")
    assert capture


@namespaces
def test_an_interrupted_live_run_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    words = [str(NETSPURT), "live", "run", "short.toml", "--out", "r"]
    for kind in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL) as run:
            deadline = time.monotonic() + 20
            while not list(tmp_path.glob(".r.partial-*/*.pcapng")) and time.monotonic() < deadline:
                time.sleep(0.02)
            os.kill(run.pid, kind)
            assert run.wait(20) != 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["short.toml"]


@namespaces
@pytest.mark.parametrize("words", [("run",), ("exec",)])
def test_the_next_start_removes_the_leftovers_of_killed_live_runs(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "tmp").mkdir()
    settings: dict[str, Any] = {
        "cwd": tmp_path,
        "env": {**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    command = [str(NETSPURT), "live", *words, "short.toml", "--set", "stop=60 s", "--out", "r"]
    command += ["--", "sleep", "60"] if words == ("exec",) else []
    for delay_s in (0.0, 0.02, 0.1, 0.5, None):
        with subprocess.Popen(command, **settings) as run:
            deadline = time.monotonic() + 60
            while not list(tmp_path.glob(f".r.partial-*-{run.pid}-*")):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(delay_s or 0.0)
            run.terminate() if delay_s is None else run.kill()
        leftovers = len(list(tmp_path.glob(".r.partial-*")))
        assert leftovers == (delay_s is not None), (
            "a killed run must leave one folder, and a terminated run none"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["short.toml", "tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_two_runs_are_aligned_segment_by_segment(netspurt: Command, tmp_path: Path) -> None:
    base = ns.load(ROOT / "scenarios" / "rfc2416.toml").replace({"stop": "12 s"})
    base.run().save(tmp_path / "one")
    limited = base.replace({"flows.transfer.tcp.limited_transmit": True, "stop": "20 s"})
    limited.run().save(tmp_path / "two")
    data = json.loads(netspurt("compare", "one", "two", "--json").stdout)
    assert data["same"] == 14
    assert data["difference_s_max"] == 0
    assert data["why"] == "limited transmit (RFC 3042)"
    assert data["parted"][1]["what"] == "sends packet 11"
    assert data["span_s"] == pytest.approx(12, abs=0.01)
    printed = netspurt("compare", "one", "two").stdout
    assert "same events for 3.722 s: 10 segments, 4 ACKs" in printed
    assert "the runs never differ" in netspurt("compare", "one", "one").stdout
    assert (
        "no flow of the run is called 'there'"
        in netspurt("compare", "one", "two", "--flow", "there").stderr
    )


def test_a_comparison_has_the_times_of_each_event_and_a_picture(
    netspurt: Command, tmp_path: Path
) -> None:
    base = ns.load(ROOT / "scenarios" / "rfc2416.toml").replace({"stop": "20 s"})
    base.run().save(tmp_path / "one")
    base.replace({"flows.transfer.tcp.limited_transmit": True}).run().save(tmp_path / "two")
    data = json.loads(netspurt("compare", "one", "two", "--plot", "both.png", "--json").stdout)
    assert (tmp_path / "both.png").stat().st_size > 20_000
    first = [event for event in data["events"] if event["first_s"] is not None]
    second = [event for event in data["events"] if event["second_s"] is not None]
    assert len(first) - data["matched"] == data["only"][0]
    assert len(second) - data["matched"] == data["only"][1]
    for event in data["events"]:
        if None not in (event["first_s"], event["second_s"]):
            assert event["difference_s"] == event["second_s"] - event["first_s"]
    limited = [own.get("limited transmit (RFC 3042)", []) for own in data["mechanisms"]]
    assert (limited[0], len(limited[1]) > 0) == ([], True)
    assert limited[1][0] == pytest.approx(3.722, abs=0.001)
    printed = netspurt("compare", "one", "two", "--plot", "both.svg").stdout
    assert "limited transmit (RFC 3042)" in printed.split("\ndifferences:\n")[1]
    assert printed.endswith("both.svg\n")
    failed = netspurt("compare", "one", "two", "--plot", "both.txt")
    assert failed.returncode == 2
    assert ".png" in failed.stderr


@namespaces
@real_time
def test_timers_that_the_command_line_names_run_beside_the_kernels_timer(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    words = ["--out", "r", "--budget", 10, "--shadow", "rfc6298", "--shadow", "linux:jiffy=4ms"]
    result = netspurt("live", "run", "short.toml", *words)
    assert result.returncode == 0, result.stderr
    run = ns.open_run(tmp_path / "r")
    shadows = run.tables["shadows"]
    assert set(shadows["estimator"]) == {"rfc6298", "linux:jiffy=4ms"}
    # An ACK that covers a retransmission gives no sample (RFC 6298 §3).
    assert len(shadows) == 2 * len(run.rtt) > 60
    rfc = shadows.where(estimator="rfc6298")
    assert rfc.seconds("rto_ns").min() >= 1, "the RTO must be at least 1 s (RFC 6298 §2.4)"
    failed = netspurt("live", "run", "short.toml", "--shadow", "rfc6289")
    assert failed.returncode == 2
    assert "rfc6298" in failed.stderr


def test_a_comparison_counts_the_events_that_only_one_run_has() -> None:
    scenario = ns.load(ROOT / "scenarios" / "rfc2416.toml").replace({"stop": "9 s"})
    run = scenario.run()
    seen = events(run.segments, "transfer", "source")
    comparison = compare(seen, seen[:-2])
    assert (comparison.same, comparison.matched, comparison.only) == (
        len(seen) - 2,
        len(seen) - 2,
        (2, 0),
    )
    assert comparison.parted == (seen[-2], None)
    assert why(compare(seen, seen), seen, seen) == ""


#: A scenario without flows, over which programs run.
PATH = """
stop = "30 s"
[links]
wire = { between = ["home", "away"], rate = "10 Mbit/s", delay = "5 ms", loss = { nth = [12] } }
"""

#: A program that sends back each datagram that it receives.
ECHO = """
import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.bind(("0.0.0.0", 7))
while True:
    octets, who = peer.recvfrom(2000)
    peer.sendto(octets, who)
"""

#: A program that sends a datagram to the program `ECHO`, prints the answer, and ends with status 3.
ASK = """
import socket, sys
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.settimeout(5)
own.sendto(b"octets", ("away", 7))
print(own.recv(2000).decode())
sys.exit(3)
"""


#: A server of the files in its folder, and a program that fetches one file from the server.
SERVE = f"{sys.executable} -m http.server 8000"
FETCH = "from urllib.request import urlopen; urlopen('http://away:8000/file').read()"


@namespaces
@real_time
def test_programs_run_over_the_links_of_a_scenario_without_flows(
    process: Command, tmp_path: Path
) -> None:
    (tmp_path / "path.toml").write_text(PATH)
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "ask.py").write_text(ASK)
    words = ["--out", "r", "--budget", 10, "--server", f"{sys.executable} echo.py"]
    result = process("live", "exec", "path.toml", *words, "--", sys.executable, "ask.py")
    assert (result.returncode, result.stdout) == (3, "octets\n"), result.stderr
    run = ns.open_run(tmp_path / "r")
    assert run.live is not None
    assert run.live.programs is not None
    assert run.live.programs.status == 3
    assert run.live.programs.other_packets == 2
    assert set(run.table("segments")["kind"]) == {"other"}
    assert not (tmp_path / "r" / "order.json").exists()


@namespaces
@real_time
def test_the_report_of_a_run_of_programs_names_them_and_lists_their_connections(
    process: Command, tmp_path: Path
) -> None:
    (tmp_path / "path.toml").write_text(PATH)
    (tmp_path / "file").write_bytes(bytes(100_000))
    words = ["--out", "r", "--budget", 10, "--set", "record.tables=['drops']", "--server", SERVE]
    result = process("live", "exec", "path.toml", *words, "--", sys.executable, "-c", FETCH)
    assert result.returncode == 0, result.stderr
    assert process("report", "r").returncode == 0
    text = (tmp_path / "r" / "report.html").read_text()
    assert f"The other end ran <code>{SERVE}</code>." in text
    assert "ended with status 0." in text
    ((name, *_, asked, back),) = rows_of(text, "Connections of the programs")
    assert name.endswith(".0")
    assert int(asked) > 50
    assert int(back.replace(",", "")) > 100_000
    rows = {row[1]: row for row in rows_of(text, "Directions with data")}
    assert rows["reverse"][5] == "not known", "a kernel does not report the time in recovery"
    assert rows["reverse"][3].endswith("bit/s")
    assert text.count("Not drawn") == 1


@namespaces
@real_time
def test_a_comparison_of_programs_says_that_the_shorter_transfer_finishes_first(
    process: Command, tmp_path: Path
) -> None:
    """Only the table `connections` has the time at which a program's connection began."""
    (tmp_path / "path.toml").write_text(PATH)
    (tmp_path / "file").write_bytes(bytes(100_000))
    words = ["--budget", 10, "--set", "record.spy=['away']", "--server", SERVE]
    words += ["--", sys.executable, "-c", FETCH]
    took = []
    for name, delay in (("near", "5 ms"), ("far", "150 ms")):
        path = ["path.toml", "--set", f"links.wire.delay={delay}", "--out", name]
        result = process("live", "exec", *path, *words)
        assert result.returncode == 0, result.stderr
        run = ns.open_run(tmp_path / name)
        began = float(run.table("connections").seconds("began_ns")[0])
        back = run.flows.where(direction="reverse")
        assert np.isnan(back.seconds("start_ns")).all()
        took.append(float(back.seconds("finished_ns")[0]) - began)
    near, far = took
    assert near < far
    times = f"near finishes first, after {near:.3f} s; far finishes after {far:.3f} s ("
    assert times in " ".join(process("compare", "far", "near").stdout.split())
    told = json.loads(process("compare", "far", "near", "--json").stdout)["outcomes"]
    assert [one["took_s"] for one in told] == pytest.approx([far, near])
    rates = [8 * one["acked_bytes"] / one["took_s"] for one in told]
    assert [one["goodput_bps"] for one in told] == pytest.approx(rates)
    assert process("report", "far", "near", "--out", "both.html").returncode == 0
    assert times in (tmp_path / "both.html").read_text()


@namespaces
def test_a_table_is_removed_before_a_key_in_it_is_set(process: Command, tmp_path: Path) -> None:
    (tmp_path / "path.toml").write_text(PATH)
    words = ["--unset", "links.wire.loss", "--set", "links.wire.loss.nth=[9]", "--out", "r"]
    result = process("live", "exec", "path.toml", *words, "--budget", 10, "--", "true")
    assert result.returncode == 0, result.stderr
    wire = tomllib.loads(ns.open_run(tmp_path / "r").scenario)["links"]["wire"]
    assert wire["loss"]["nth"] == [9]


@namespaces
def test_a_key_is_removed_before_a_value_that_contradicts_it_is_set(
    process: Command, tmp_path: Path
) -> None:
    (tmp_path / "path.toml").write_text(PATH.replace("loss = { nth = [12] }", "slots = {}"))
    handovers = 'links.wire.handovers=[{ at = "20 s", dead = "1 s" }]'
    words = ["--set", handovers, "--out", "r", "--budget", 10, "--", "true"]
    result = process("live", "exec", "path.toml", *words)
    assert result.returncode == 2
    assert "a link with slots cannot have `handovers`" in result.stderr
    result = process("live", "exec", "path.toml", "--unset", "links.wire.slots", *words)
    assert result.returncode == 0, result.stderr
    wire = tomllib.loads(ns.open_run(tmp_path / "r").scenario)["links"]["wire"]
    assert "slots" not in wire
    assert wire["handovers"][0]["at"] == "20 s"


@namespaces
def test_a_shim_is_removed_before_another_shim_is_set(process: Command, tmp_path: Path) -> None:
    ends = 'from = "home"\nto = "away"\napp = "programs"\nendpoint = "kernel"\n'
    flow = f'[flows.web]\n{ends}profile = "linux-default"\nshim = "sfr"\n'
    (tmp_path / "path.toml").write_text(PATH + flow)
    words = ["--unset", "flows.web.shim", "--shim", "linux:rto_min=50ms", "--out", "r"]
    result = process("live", "exec", "path.toml", *words, "--budget", 10, "--", "true")
    assert result.returncode == 0, result.stderr
    shim = tomllib.loads(ns.open_run(tmp_path / "r").scenario)["flows"]["web"]["shim"]
    assert shim == "linux:rto_min=50ms"


@namespaces
def test_a_missing_command_ends_with_status_127_and_a_failed_server_with_125(
    process: Command, tmp_path: Path
) -> None:
    (tmp_path / "path.toml").write_text(PATH)
    result = process("live", "exec", "path.toml", "--out", "r", "--", "no-such-program")
    assert result.returncode == 127
    assert "no-such-program" in result.stderr
    assert "valid" not in result.stderr
    assert not (tmp_path / "r").exists()
    words = ["--out", "s", "--server", "exit 3", "--", "true"]
    result = process("live", "exec", "path.toml", *words)
    assert result.returncode == 125
    assert "the server does not run" in result.stderr
    assert not (tmp_path / "s").exists()


@namespaces
def test_a_command_that_was_ended_by_the_scenarios_stop_is_reported(
    process: Command, tmp_path: Path
) -> None:
    (tmp_path / "path.toml").write_text(PATH)
    words = ["--set", "stop='1 s'", "--", "sleep", "60"]
    result = process("live", "exec", "path.toml", "--out", "r", *words)
    assert result.returncode == 124
    assert "the scenario's stop, 1 s, ended the command" in result.stderr


def test_a_scenario_that_captures_without_the_table_of_segments_is_refused(
    netspurt: Command, tmp_path: Path
) -> None:
    record = '[record]\ntables = ["drops"]\ncapture = true\n'
    (tmp_path / "path.toml").write_text(PATH + record)
    result = netspurt("live", "exec", "path.toml", "--out", "r", "--", "true")
    assert result.returncode == 2
    assert "captures need the table `segments`" in result.stderr
    assert "add `segments` to `tables`" in result.stderr
    assert not (tmp_path / "r").exists()


def test_the_error_for_an_unknown_timer_or_side_of_a_shim_suggests_a_known_one(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "path.toml").write_text(PATH)
    result = netspurt("live", "exec", "path.toml", "--shim", "linx:min=3ms", "--", "true")
    assert result.returncode == 2
    assert "did you mean `linux`" in result.stderr
    result = netspurt("live", "exec", "path.toml", "--side", "hom", "--", "true")
    assert result.returncode == 2
    assert "did you mean `home`" in result.stderr


#: A population of connections between two kernels, each with one request and one reply.
WEB = """
stop = "6 s"
[links]
wire = { between = ["a", "b"], rate = "5 Mbit/s", delay = "10 ms", queue = "20 packets" }
[populations.web]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "linux-default"
arrivals = "poisson:rate=20/s"
until    = "3 s"
send     = "400 B"
reply    = "lognormal:median=10 kB,sigma=1"
[record]
tables = ["connections"]
"""


@namespaces
@real_time
def test_a_population_on_the_kernels_tcp_agrees_with_the_simulated_population(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "web.toml").write_text(WEB)
    result = netspurt("live", "run", "web.toml", "--out", "r", "--budget", 20, "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["live"]["replayed"]["same"] is True
    live = ns.open_run(tmp_path / "r").connections
    scenario = ns.load(tmp_path / "web.toml")
    model = {"populations.web.endpoint": "model", "populations.web.profile": "linux-6"}
    simulated = scenario.replace(model).run().connections
    sizes = [[int(octets) for octets in table["reverse_bytes"]] for table in (live, simulated)]
    assert sizes[0] == sizes[1], "both runs must have the same connections in the same order"
    medians = [float(np.nanmedian(table.seconds("response_ns"))) for table in (live, simulated)]
    assert 0.9 < medians[0] / medians[1] < 1.2
    # The ACK of the last data arrives half a round trip, 10 ms, after this data.
    behind = live.seconds("duration_ns") - live.seconds("response_ns")
    assert 0.009 < np.nanmedian(behind) < 0.02


def test_ends_with_equal_settings_share_a_line_that_names_them() -> None:
    def end(side: str, congestion: str) -> EndReport:
        socket = {"TCP_CONGESTION": congestion}
        return EndReport("web", side, "reno-2005", {}, {}, {}, socket, {})

    same = command._given([end("from", "reno"), end("to", "reno")])
    assert same == ["web.from and web.to, reno-2005: TCP_CONGESTION=reno"]
    assert len(command._given([end("from", "reno"), end("to", "cubic")])) == 2


def test_a_note_names_sysctls_that_the_machine_and_the_profile_linux_default_set_differently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = {"sack": "1", "rmem": "4096\t131072\t33554432", "congestion_control": "bbr"}
    folder = tmp_path / "net" / "ipv4"
    folder.mkdir(parents=True)
    for name, value in machine.items():
        (folder / f"tcp_{name}").write_text(f"{value}\n")
    monkeypatch.setattr(command, "_SYSCTLS", tmp_path)
    asked = {"sack": "1", "rmem": "4096 131072 6291456", "rto_min_us": "200000"}
    sysctls = {f"net.ipv4.tcp_{name}": value for name, value in asked.items()}

    def end(profile: str, congestion: str) -> EndReport:
        socket = {"TCP_CONGESTION": congestion}
        return EndReport("web", "from", profile, sysctls, {}, {}, socket, {})

    (note,) = command._unlike_machine([end("linux-default", "cubic"), end("reno-2005", "reno")])
    assert " ".join(note.split()) == (
        "web.from: linux-default differs from this machine's settings: "
        "net.ipv4.tcp_rmem=4096 131072 6291456 (here 4096 131072 33554432), "
        "net.ipv4.tcp_congestion_control=cubic (here bbr)"
    ), "equal sysctls, sysctls that the machine lacks and other profiles must be left out"
    (folder / "tcp_rmem").write_text("4096 131072 6291456\n")
    assert command._unlike_machine([end("linux-default", "bbr")]) == []
    # In `live exec`, programs own the sockets, so the route sets their congestion control.
    routed = replace(end("linux-default", "bbr"), route={"congctl": "cubic"}, socket={})
    (note,) = command._unlike_machine([routed])
    assert "net.ipv4.tcp_congestion_control=cubic (here bbr)" in " ".join(note.split())
