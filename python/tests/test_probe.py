"""Tests `netspurt probe` on loopback, and in namespaces on machines that allow them.

An echo probe is a packet that the probed host sends back immediately. A survey probes each router
on the path. The worker is the process that sends the probes for the command.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.cli.words import STATUSES
from netspurt.line import over_line
from netspurt.probe import (
    Histogram,
    Plan,
    ProbeLengths,
    bursts,
    hops_of,
    length_line,
    run,
    survey,
)
from netspurt.probe_lines import EchoProbeLine, Line
from netspurt.worker import ProbeError, ServeTask, worker

from conftest import NETSPURT, ROOT, Command, need
from lateness import real_time

#: For each capability of the machine: whether it is available, and the reason.
FOUND = {name: (available, found) for name, available, found, _ in _core.capabilities()}
AVAILABLE, WHY = FOUND["user and network namespaces"]
#: Skips a test if the machine has no namespaces.
namespaces = pytest.mark.skipif(not AVAILABLE, reason=f"no namespaces: {WHY}")

#: The words that start the command `netspurt`.
SELF = [sys.executable, "-P", "-c", "from netspurt.cli import start; start()"]


def inside(script: str, folder: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a script of the shell in namespaces of its own, where loopback is up."""
    for program in ("unshare", "ip"):
        need(program)
    return subprocess.run(
        ["unshare", "-Urnm", "sh", "-ec", f"ip link set lo up\n{script}"],
        cwd=folder,
        env={**os.environ, "PATH": f"{NETSPURT.parent}:{os.environ['PATH']}", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


@namespaces
def test_two_echo_services_stop_after_a_time_if_they_answer_each_other(tmp_path: Path) -> None:
    """Two echo hosts that send a datagram back and forth stop after about 1,000 answers each."""
    script = """
import socket, subprocess, sys, time
from pathlib import Path
def serve(address, *more):
    words = ["netspurt", "serve", "echo", "--port", "0", "--address", address]
    started = subprocess.Popen([*more, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    line = started.stdout.readline()
    at = line.split(" at ")[1].split(",")[0].rsplit(":", 1)
    return started, (at[0], int(at[1]))
one, a = serve("127.0.0.1")
two, b = serve("0.0.0.0")
# Send a datagram to the first echo host, as if the second echo host had sent it.
datagram = (8 + 4).to_bytes(2, "big")
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
raw.bind(("127.0.0.1", 0))
head = b[1].to_bytes(2, "big") + a[1].to_bytes(2, "big") + datagram + bytes(2)
raw.sendto(head + b"loop", ("127.0.0.1", 0))
def received():
    rows = Path("/proc/net/snmp").read_text().splitlines()
    names, values = (row.split()[1:] for row in rows if row.startswith("Udp:"))
    return int(dict(zip(names, values))["InDatagrams"])
before, now = -1, 0
while now != before:
    time.sleep(0.5)
    before, now = now, received()
print("datagrams", now)
for process in (one, two):
    process.terminate()
    process.wait()
print("first", one.stderr.read())
print("second", two.stderr.read())
"""
    (tmp_path / "loop.py").write_text(script)
    result = inside(f"{sys.executable} loop.py", tmp_path)
    assert result.returncode == 0, result.stderr
    count = int(result.stdout.split("datagrams ")[1].split()[0])
    assert 1000 <= count < 5000, "the loop must end after about 1,000 answers of each host"
    first, second = result.stdout.split("first ")[1].split("second ")
    assert not first.strip()
    assert "warning: 0.0.0.0 is not a loopback address" in second


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a probe's file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def outstanding(rows: list[dict[str, Any]]) -> int:
    """Return the maximum number of echo probes in flight, by the program's clock."""
    edges = []
    for row in rows:
        if "echo_probe" in row and "user_rtt_ns" in row:
            edges += [(row["raw_ns"], 1), (row["raw_ns"] + row["user_rtt_ns"], -1)]
    return int(np.cumsum([step for _, step in sorted(edges)]).max())


@namespaces
@real_time
def test_512_echo_probes_measure_the_rate_and_the_delay_of_an_emulated_line(tmp_path: Path) -> None:
    out = tmp_path / "line.jsonl"
    words = ["probe", "10.0.0.2", "-n", "512", "--seed", "889", "--out", str(out), "--json"]
    with subprocess.Popen(
        [str(NETSPURT), *words[:1], *words[2:], "--line", "56 kbit/s, 20 ms"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        data = json.loads(process.communicate(timeout=240)[0])
    assert (data["echo_probes"], data["answered"], data["end"]) == (512, 512, "complete")
    # In a round trip, each octet crosses the line of 56 kbit/s twice, which takes the time of 16
    # bits. Each direction has a delay of 20 ms. The host itself adds 0.2 ms.
    assert data["line"]["us_per_octet"] == pytest.approx(16 / 56e3 * 1e6, rel=0.02)
    assert data["line"]["intercept_ms"] == pytest.approx(40, rel=0.02)
    rows = lines(out)
    echo_probes = [row for row in rows if "echo_probe" in row]
    assert [row["echo_probe"] for row in echo_probes] == list(range(1, 513))
    assert outstanding(rows) == 1
    octets = np.array([row["octets"] for row in echo_probes])
    assert (octets.min(), octets.max()) == (40, 256)
    assert np.mean(octets == 40) == pytest.approx(41 / 257, abs=0.06)
    assert all(
        row["user_tx_ns"] <= row["kernel_tx_ns"] <= row["kernel_rx_ns"] <= row["user_rx_ns"]
        for row in echo_probes
    )
    noise = rows[0]["noise"]["kernel"]
    print(f"noise floor, kernel stamps: p50 {noise['p50_ns']} ns, p99 {noise['p99_ns']} ns")
    # The timers in the summary have the results that a replay of the file gives.
    assert [algorithm["estimator"] for algorithm in data["estimators"]] == [
        algorithm.estimator for algorithm in ns.replay(out).algorithms
    ]
    assert [algorithm["total_s"] for algorithm in data["estimators"]] == [
        algorithm.total for algorithm in ns.replay(out).algorithms
    ]


def test_timers_beside_a_probe_and_in_its_replay_have_equal_results(tmp_path: Path) -> None:
    named = ["rfc6298", "mills", "linux", "mills:g=1.1"]
    plan = Plan("127.0.0.1", count=200, calibrate=0, out=tmp_path / "p.jsonl", kind="udp", port=9)
    if FOUND["ICMP sockets"][0]:
        plan = Plan("127.0.0.1", count=200, calibrate=0, out=tmp_path / "p.jsonl")
    watch = run(plan, named)
    assert sum(watch.histogram.bins.values()) == watch.answered
    algorithms = ns.replay(tmp_path / "p.jsonl", named).algorithms
    replayed = {algorithm.estimator: algorithm for algorithm in algorithms}
    for shadow in watch.shadows:
        algorithm = replayed[shadow.name]
        assert (shadow.spurious, shadow.lost) == (algorithm.spurious, algorithm.lost)
        assert shadow.good == pytest.approx(algorithm.good)
        assert shadow.efficiency == pytest.approx(algorithm.efficiency, abs=1e-6)


def test_after_each_echo_probe_the_histogram_has_all_answers_so_far() -> None:
    seen: list[tuple[int, int]] = []

    def look(line: Line, watch: Any) -> None:
        if isinstance(line, EchoProbeLine):
            seen.append((watch.answered, sum(watch.histogram.bins.values())))

    with echo() as port:
        plan = Plan("127.0.0.1", kind="udp", port=port, count=50, calibrate=0)
        watch = run(plan, ["rfc6298"], on_line=look)
    assert seen == [(n, n) for n in range(1, 51)]
    assert watch.recording() is not None


class echo:  # noqa: N801 - used as a function
    """Runs an echo host on loopback inside a `with` statement.

    The statement gives the host's port. `words` are further options of `netspurt serve echo`.
    """

    def __init__(self, *words: str) -> None:
        self.words = words

    def __enter__(self) -> int:
        command = [str(NETSPURT), "serve", "echo", "--port", "0", *self.words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        output = self.process.stdout.readline()  # type: ignore[union-attr]
        return int(output.split(",")[0].rpartition(":")[2])

    def __exit__(self, *_error: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.process.stdout.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("what", ["echo", "sink"])
def test_the_process_of_a_server_ends_by_itself_when_its_input_is_closed(what: str) -> None:
    with worker(ServeTask(what, "127.0.0.1", 0)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("who", ["the command", "its worker"])
def test_a_killed_probe_keeps_every_echo_probe_that_it_printed(who: str, tmp_path: Path) -> None:
    with echo() as port:
        words = ["probe", "127.0.0.1", "--kind", "udp", "--port", str(port), "--pace", "5ms"]
        words += ["--out", "killed.jsonl", "-v", "--calibrate", "0", "-n", "100000"]
        with subprocess.Popen(
            [str(NETSPURT), *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            lines_shown = [process.stdout.readline() for _ in range(60)]
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            os.kill(process.pid if who == "the command" else int(children), signal.SIGKILL)
    line_count = sum(" B  " in line for line in lines_shown)
    (recording,) = ns.read_delays(tmp_path / "killed.jsonl")
    assert recording.received >= line_count > 40
    assert recording.order == "sequence"
    # After its command was killed, the worker may still write that it was interrupted.
    killed = "the last line is missing: the run was killed, or it is not over yet"
    ends = {killed, "the run was interrupted before its end"}
    assert set(recording.notes) <= ends
    assert who == "the command" or "the run was interrupted before its end" not in recording.notes
    size = (tmp_path / "killed.jsonl").stat().st_size
    time.sleep(0.1)
    assert size == (tmp_path / "killed.jsonl").stat().st_size, (
        "the file of a killed probe must not grow"
    )


def test_each_echo_probe_gets_a_printed_line_only_on_request(tmp_path: Path) -> None:
    with echo() as port:
        words = ["probe", "127.0.0.1", "--kind", "udp", "--port", str(port), "--pace", "1ms"]
        words += ["--calibrate", "0", "-n", "5"]
        for more, count in (([], 0), (["-v"], 5), (["-q"], 0)):
            command = [str(NETSPURT), *words, *more, "--out", f"{count}{len(more)}{more}.jsonl"]
            result = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert sum(" B  " in line for line in result.stdout.splitlines()) == count
            assert "5 echo probes, 5 answered" in result.stdout
        both = [str(NETSPURT), *words, "-v", "-q"]
        refused = subprocess.run(both, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--verbose prints a line for each echo probe, and --quiet prints none" in refused.stderr


def test_after_an_interrupt_a_summary_of_the_finished_probes_is_printed(tmp_path: Path) -> None:
    with echo() as port:
        words = ["probe", "127.0.0.1", "--kind", "udp", "--port", str(port), "--pace", "5ms"]
        words += ["--out", "cut.jsonl", "-v", "--calibrate", "0", "-n", "100000"]
        with subprocess.Popen(
            [str(NETSPURT), *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(40):
                process.stdout.readline()
            process.send_signal(signal.SIGINT)
            last_lines = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert "such as probe, prints its results and exits with 0" in STATUSES[130]
    assert "interrupted" in last_lines
    assert "rfc6298" in last_lines
    (recording,) = ns.read_delays(tmp_path / "cut.jsonl")
    assert recording.notes == ["the run was interrupted before its end"]
    assert lines(tmp_path / "cut.jsonl")[-1]["echo_probes"] == recording.sent


def test_a_long_run_fills_several_files_that_are_read_as_one_recording(
    netspurt: Command, tmp_path: Path
) -> None:
    with echo() as port:
        result = netspurt(
            "probe", "127.0.0.1", "--kind", "udp", "--port", port, "-n", 50, "--rotate", 20,
            "--out", "long.jsonl", "--calibrate", 0, "--json",
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["files"] == ["long-001.jsonl", "long-002.jsonl", "long-003.jsonl"]
    parts = [ns.read_delays(tmp_path / name)[0] for name in data["files"]]
    assert [part.sent for part in parts] == [20, 20, 10]
    content = b"".join((tmp_path / name).read_bytes() for name in data["files"])
    (tmp_path / "whole.jsonl").write_bytes(content)
    (whole,) = ns.read_delays(tmp_path / "whole.jsonl")
    assert (whole.sent, whole.notes) == (50, [])


@pytest.mark.skipif(not FOUND["ICMP sockets"][0], reason="no ICMP sockets here")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_icmp_echo_probes_are_answered_over_ipv4_and_ipv6(address: str) -> None:
    try:
        watch = run(Plan(address, count=20, calibrate=20))
    except ProbeError as error:
        pytest.skip(f"no {address} here: {error}")
    assert watch.answered == 20
    assert all(json.loads(line).get("by", "kernel") == "kernel" for line in watch.kept)


def test_impossible_options_are_errors_with_the_fix(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "there.jsonl").write_text("x")
    for words, expected in (
        (("127.0.0.1", "--out", "there.jsonl"), "name another file"),
        (("127.0.0.1", "--length", "39"), "headers and identification take 40"),
        (("127.0.0.1", "--length", "many"), "bursts:8"),
        (("127.0.0.1", "--out", "no/where.jsonl"), "no folder"),
        (("127.0.0.1", "--pace", "quick"), "200ms"),
        (("127.0.0.1", "-e", "rfc62"), "rfc62"),
        ((), "--line"),
        (("--line", "56 kbit/s"), "is not a line"),
        (("--line", "56 kbt/s, 20 ms"), "is not a bit rate"),
        (("no.such.host.invalid",), "no.such.host.invalid"),
    ):
        result = netspurt("probe", *words)
        assert result.returncode == 2, words
        assert expected in result.stderr, result.stderr
        assert "Traceback" not in result.stderr


@namespaces
def test_the_error_without_a_right_to_raw_sockets_gives_the_fix(tmp_path: Path) -> None:
    script = f"""
    exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs {NETSPURT} probe 127.0.0.1 \\
        --kind tcp -n 1 --out p.jsonl
    """
    result = inside(script, tmp_path)
    if "setpriv" in result.stderr:
        pytest.skip(f"no setpriv: {result.stderr}")
    assert result.returncode == 2
    assert "use another kind, or run netspurt as root" in result.stderr


@namespaces
@real_time
def test_a_stopped_worker_delays_the_programs_stamp_of_an_answer_but_not_the_kernels(
    tmp_path: Path,
) -> None:
    out = tmp_path / "held.jsonl"
    words = [*SELF, "probe", "10.0.0.2", "-v", "-n", "3", "--calibrate", "0", "--pace", "400ms"]
    script = f"""
import json, os, signal, subprocess, time
with subprocess.Popen({[*words, "--out", str(out)]!r}, stdout=subprocess.PIPE) as probe:
    lines = iter(probe.stdout.readline, b"")
    for line in lines:
        if b" B  " in line:
            break
    (worker,) = open(f"/proc/{{probe.pid}}/task/{{probe.pid}}/children").read().split()
    # The second probe leaves 400 ms after the first, and its answer takes 200 ms. Stop the worker
    # shortly before the answer arrives.
    time.sleep(0.33 + 0.06)
    os.kill(int(worker), signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(int(worker), signal.SIGCONT)
    probe.stdout.read()
"""
    assert over_line([sys.executable, "-c", script], forward="10 Mbit/s, 100 ms") == 0
    echo_probes = [row for row in lines(out) if "echo_probe" in row]
    held = echo_probes[1]
    assert held["by"] == "kernel"
    assert held["rtt_ns"] == pytest.approx(200e6, rel=0.1)
    assert held["user_rtt_ns"] - held["rtt_ns"] > 50e6
    # The kernel stamps the arrival while the worker is stopped; the program stamps it later.
    late = held["user_rx_ns"] - held["kernel_rx_ns"]
    assert late == pytest.approx(held["user_rtt_ns"] - held["rtt_ns"], abs=5e6)


#: A script that makes a chain of four namespaces: `near`, the routers `r1` and `r2`, and `far`.
CHAIN = """
mount -t tmpfs none /run
for n in r1 r2 far; do ip netns add $n; ip -n $n link set lo up; done
wire() { # namespace device address, namespace device address
    ip link add $2 netns $1 type veth peer name $5 netns $4
    ip -n $1 addr add $3 dev $2; ip -n $1 link set $2 up
    ip -n $4 addr add $6 dev $5; ip -n $4 link set $5 up
}
ip netns attach near $$
wire near v0 10.1.0.1/24 r1 v1 10.1.0.2/24
wire r1 v2 10.2.0.1/24 r2 v3 10.2.0.2/24
wire r2 v4 10.3.0.1/24 far v5 10.3.0.2/24
for n in r1 r2; do ip netns exec $n sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward
    echo 0 > /proc/sys/net/ipv4/icmp_ratelimit'; done
ip route add default via 10.1.0.2
ip -n r1 route add 10.3.0.0/24 via 10.2.0.2
ip -n r2 route add 10.1.0.0/24 via 10.2.0.1
ip -n far route add default via 10.3.0.1
"""


#: A script that gives the namespaces of the chain IPv6 addresses and routes.
CHAIN6 = """
for n in near r1 r2 far; do ip netns exec $n sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
    echo 0 > /proc/sys/net/ipv6/icmp/ratelimit'; done
ip -n near addr add fd01::1/64 dev v0 nodad; ip -n r1 addr add fd01::2/64 dev v1 nodad
ip -n r1 addr add fd02::1/64 dev v2 nodad; ip -n r2 addr add fd02::2/64 dev v3 nodad
ip -n r2 addr add fd03::1/64 dev v4 nodad; ip -n far addr add fd03::2/64 dev v5 nodad
ip -n near -6 route add default via fd01::2
ip -n r1 -6 route add fd03::/64 via fd02::2
ip -n r2 -6 route add fd01::/64 via fd02::1
ip -n far -6 route add default via fd03::1
sleep 1
"""


@namespaces
@real_time
def test_a_survey_over_ipv6_names_every_hop_and_the_header_describes_the_path(
    tmp_path: Path,
) -> None:
    script = f"""{CHAIN}{CHAIN6}
    netspurt probe fd03::2 --hops -n 2 --json --out h.jsonl > hops.json
    netspurt probe fd03::2 -n 40 --calibrate 20 --out p.jsonl -q --json > echo_probes.json
    """
    result = inside(script, tmp_path)
    assert result.returncode == 0, result.stderr
    hops = json.loads((tmp_path / "hops.json").read_text())["hops"]
    assert [hop["names"] for hop in hops] == [["fd01::2"], ["fd02::2"], ["fd03::2"]]
    data = json.loads((tmp_path / "echo_probes.json").read_text())
    assert (data["answered"], data["lost"]) == (40, 0)
    path = data["header"]["path"]
    assert (path["gateway"], path["device"], path["mtu"]) == ("fd01::2", "v0", 1500)
    assert path["warmed"]["answer"] == "ICMP 3 0"
    echo_probes = [row for row in lines(tmp_path / "p.jsonl") if "echo_probe" in row]
    assert {row["ttl"] for row in echo_probes} == {62}
    assert min(row["octets"] for row in echo_probes) == 60


@namespaces
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_datagram_sockets_are_used_if_raw_sockets_are_forbidden(
    address: str, tmp_path: Path
) -> None:
    need("setpriv")
    script = f"""
    echo "0 0" > /proc/sys/net/ipv4/ping_group_range || exit 77
    exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs netspurt probe {address} \
        -n 20 --calibrate 20 --out p.jsonl --json
    """
    result = inside(script, tmp_path)
    if result.returncode == 77:
        pytest.skip(f"no group may have datagram sockets of ICMP here: {result.stderr}")
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["header"]["socket"] == "ICMP echo, datagram socket"
    assert data["answered"] == 20
    echo_probes = [row for row in lines(tmp_path / "p.jsonl") if "echo_probe" in row]
    assert all(row["by"] == "kernel" for row in echo_probes)


@namespaces
@pytest.mark.parametrize("kind", ["icmp", "udp", "tcp"])
@real_time
def test_a_survey_names_every_hop_of_a_chain_of_namespaces(kind: str, tmp_path: Path) -> None:
    result = inside(
        f"{CHAIN}\nnetspurt probe 10.3.0.2 --hops -n 3 --kind {kind} --json --out h.jsonl", tmp_path
    )
    assert result.returncode == 0, result.stderr
    hops = json.loads(result.stdout)["hops"]
    assert [hop["names"] for hop in hops] == [["10.1.0.2"], ["10.2.0.2"], ["10.3.0.2"]]
    assert [hop["answered"] for hop in hops] == [3, 3, 3]
    names = [
        recording.name.rpartition("hop ")[2] for recording in ns.read_delays(tmp_path / "h.jsonl")
    ]
    assert names == ["1, 10.1.0.2", "2, 10.2.0.2", "3, 10.3.0.2"]


def test_the_only_hop_of_a_survey_adds_the_whole_delay() -> None:
    with echo() as port:
        plan = Plan("127.0.0.1", kind="udp", port=port, count=3, calibrate=0, timeout=2)
        (only,) = hops_of(survey(plan, echo_probes=3))
    assert (only.number, only.names, only.answered) == (1, ("127.0.0.1",), 3)
    assert only.adds == only.least > 0


def test_lengths_follow_the_given_rule() -> None:
    with echo() as port:
        for text, expected in (("64", {64}), ("bursts:2", {40, 256}), ("uniform:50-51", {50, 51})):
            plan = Plan(
                "127.0.0.1",
                kind="udp",
                port=port,
                count=40,
                calibrate=0,
                lengths=ProbeLengths.of(text),
            )
            watch = run(plan)
            octets = [json.loads(line).get("octets") for line in watch.kept]
            assert set(octets) - {None} == expected


@real_time
def test_late_answers_and_duplicates_are_counted_separately_from_losses(tmp_path: Path) -> None:
    host = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host.bind(("127.0.0.1", 0))
    host.settimeout(5)

    def answer() -> None:
        # The first packet is not an echo probe: it finds the first hop. Echo probes 1 to 4 follow.
        # Probe 1 gets one answer, probe 2 two answers, probe 3 a late answer, and probe 4 none.
        for what in ("plain", "plain", "doubled", "late", "lost"):
            data, sender = host.recvfrom(2048)
            if what == "late":
                time.sleep(0.35)
            for _ in range({"doubled": 2, "lost": 0}.get(what, 1)):
                host.sendto(data, sender)

    thread = threading.Thread(target=answer)
    thread.start()
    plan = Plan(
        "127.0.0.1", kind="udp", port=host.getsockname()[1], count=4, timeout=0.25, calibrate=0,
        out=tmp_path / "p.jsonl", pace="every", gap=0.1,
    )  # fmt: skip
    watch = run(plan)
    thread.join()
    host.close()
    assert (watch.echo_probes, watch.answered, watch.late, watch.duplicates) == (4, 2, 1, 1)
    (recording,) = ns.read_delays(tmp_path / "p.jsonl")
    assert (recording.sent, recording.lost, recording.late, recording.duplicates) == (4, 1, 1, 1)
    assert recording.rtt_s[2] == pytest.approx(0.35, abs=0.1)


@namespaces
@pytest.mark.parametrize(("kind", "length"), [("icmp", 64), ("tcp", 40), ("udp", 256)])
@real_time
def test_probes_of_every_kind_are_whole_in_a_capture_and_have_the_requested_length(
    kind: str, length: int, tmp_path: Path
) -> None:
    near = f"""
from pathlib import Path
from netspurt.poll import capturing
from netspurt.probe import Plan, ProbeLengths, run
plan = Plan("10.0.0.2", kind={kind!r}, port=7, count=10, calibrate=0,
            lengths=ProbeLengths("fixed", ({length},)))
with capturing("10.0.0.2", 0, Path({str(tmp_path / "c.pcapng")!r})):
    watch = run(plan)
assert watch.answered == 10, watch
"""
    far = [*SELF, "serve", "echo", "--address", "10.0.0.2"] if kind == "udp" else []
    assert over_line([sys.executable, "-c", near], far, forward="10 Mbit/s, 5 ms") == 0
    tshark = need("tshark") if kind == "udp" else None
    capture = tmp_path / "c.pcapng"
    if kind == "icmp":
        (recording,) = ns.read_delays(capture)
        # There is one more packet than echo probes: the first packet only finds the first hop.
        assert recording.received == 11
        assert set(recording.wire_bytes.tolist()) <= {40, length}
    elif kind == "tcp":
        sent = [
            recording
            for recording in ns.read_delays(capture)
            if recording.name.endswith(" to 10.0.0.2:7")
        ]
        assert sum(row.received for row in sent) >= 10
        assert {octets for row in sent for octets in row.wire_bytes.tolist()} == {length}
    else:
        words = [str(tshark), "-r", str(capture), "-Y", "udp", "-T", "fields", "-e", "ip.len"]
        output = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        assert output.count(str(length)) == 20


def test_long_delays_of_long_probes_are_not_listed_as_bursts() -> None:
    octets = np.tile([40, 256], 200)
    rtt = 0.04 + octets * 16 / 9600
    rtt[100:104] += 3.0
    recording = ns.Delays.of(rtt, wire_bytes=octets)
    (only,) = bursts(recording, length_line(recording))
    assert (only.start, only.end) == (100, 104)


@namespaces
@real_time
def test_an_interrupt_reaches_the_probe_over_an_emulated_line(tmp_path: Path) -> None:
    words = ["probe", "--line", "10 Mbit/s, 5 ms", "-v", "-n", "100000", "--out", "i.jsonl"]
    with subprocess.Popen(
        [str(NETSPURT), *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for _ in range(20):
            process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        last_lines = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert "such as probe, prints its results and exits with 0" in STATUSES[130]
    assert "interrupted" in last_lines
    assert ns.read_delays(tmp_path / "i.jsonl")[0].received > 10


def test_a_histogram_has_every_delay_in_its_bin() -> None:
    histogram = Histogram()
    delays = np.geomspace(1e-6, 30, 500)
    for delay in delays:
        histogram.add(float(delay))
    for low, high, count in histogram.spans():
        in_bin = np.sum((delays >= low * (1 - 1e-9)) & (delays < high * (1 - 1e-9)))
        assert abs(int(in_bin) - count) <= 1
    assert sum(histogram.bins.values()) == 500


def test_the_recording_of_a_probe_in_the_folder_data_is_read_and_replayed() -> None:
    path = ROOT / "data" / "probe.jsonl"
    (recording,) = ns.read_delays(path)
    assert (recording.sent, recording.received, recording.order) == (512, 512, "sequence")
    assert ns.replay(path, ["mills"]).algorithms[0].lost == 0
    header = json.loads(path.read_text().partition("\n")[0])
    assert header["noise"]["kernel"]["count"] > 0
