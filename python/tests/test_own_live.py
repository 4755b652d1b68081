"""Tests Python algorithms in live runs.

A live run uses the kernel's TCP. A Python timer can run in a shim, which retransmits segments
between the kernel's TCP and the path. A Python algorithm can also run in netspurt's own TCP, at
the end of the connection that is not the kernel's.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_own_algorithms import OWN
from test_own_congestion import RENO

import netspurt as ns
from netspurt import _core

from conftest import Command
from lateness import real_time

#: For each capability of the machine: whether it is available, and the reason.
FOUND = {name: (available, found) for name, available, found, _ in _core.capabilities()}
AVAILABLE, WHY = FOUND["user and network namespaces"]
pytestmark = pytest.mark.skipif(not AVAILABLE, reason=f"no namespaces: {WHY}")

#: A transfer whose last segment is lost. After this loss, a kernel without tail loss probes waits
#: for its retransmission timer.
TAIL = """
stop = "10 s"
[links.wire]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "30 ms"
queue = "60 packets"
loss = { packets = [14] }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
send     = "20 kB"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Write a scenario and Python classes into a folder."""
    (tmp_path / "own.py").write_text(OWN + RENO)
    (tmp_path / "tail.toml").write_text(TAIL)
    return tmp_path


def live(netspurt: Command, out: str, **values: str) -> ns.Run:
    """Run `tail.toml` live with these values of the flow `transfer`; return the run."""
    words = [
        word for key, value in values.items() for word in ("--set", f"flows.transfer.{key}={value}")
    ]
    result = netspurt("live", "run", "tail.toml", "--out", out, "--budget", 10, *words)
    assert result.returncode == 0, result.stderr
    return ns.open_run(out)


@real_time
def test_a_shim_with_a_python_timer_retransmits_the_lost_segment_of_a_kernel(
    place: Path, netspurt: Command
) -> None:
    run = live(netspurt, "r", shim='["own.py:Own:least=0.05", "off"]')
    assert run.live is not None
    assert run.live.replayed is not None
    assert run.live.replayed.same, (
        "a simulation with the same arrivals and the same class must drop the same packets"
    )
    flow = {name: run.flows[name][0] for name in run.flows}
    assert (flow["delivered_bytes"], flow["timeouts"]) == (20_000, 0)
    causes = json.loads(netspurt("table", "r", "retransmissions", "--json").stdout)
    assert [(row["cause"], row["sent"]) for row in causes] == [("shim", 1)]
    (origin,) = run.algorithms
    assert (origin.file, (place / "r/own.py").read_text()) == ("own.py", OWN + RENO)


@real_time
def test_a_model_sender_with_python_algorithms_delivers_all_data_to_a_kernel(
    place: Path, netspurt: Command
) -> None:
    del place
    values = {"tcp.rto.estimator": "own.py:Own:least=0.2", "tcp.congestion": "own.py:Reno"}
    run = live(netspurt, "r", endpoint='["model", "kernel"]', **values)
    assert run.flows["delivered_bytes"][0] == 20_000
    assert {origin.text.partition(":")[2] for origin in run.algorithms} == {"Own:least=0.2", "Reno"}


def test_the_error_lists_the_available_algorithms_if_the_kernel_lacks_an_algorithm(
    place: Path, netspurt: Command
) -> None:
    del place
    if "westwood" in Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text():
        pytest.skip("this kernel has westwood")
    words = ["--set", "flows.transfer.tcp.congestion=westwood", "--out", "r"]
    result = netspurt("live", "run", "tail.toml", *words)
    assert result.returncode == 2
    assert 'flow `transfer`: tcp.congestion = "westwood": this kernel' in result.stderr
    assert "name one of `" in result.stderr


def test_an_error_in_a_method_ends_a_live_run(place: Path, netspurt: Command) -> None:
    (place / "own.py").write_text(OWN.replace("self.s, self.v = sample.rtt", "self.s = 1 / 0"))
    words = ["--set", "flows.transfer.shim=own.py:Own", "--out", "r"]
    result = netspurt("live", "run", "tail.toml", *words)
    assert result.returncode == 2
    assert "`on_sample` of own.py:Own, own.py, line 12: ZeroDivisionError" in result.stderr
    assert not (place / "r").exists()
