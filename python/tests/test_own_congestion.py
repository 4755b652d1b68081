"""Tests congestion control algorithms written in Python: their rules, their runs, their errors."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import netspurt as ns
from netspurt.algorithms import AlgorithmError
from netspurt.congestion import NAMES, Ack, CongestionControl, Window, congestion
from netspurt.scenario import Scenario, load

from conftest import Command

#: Reno (RFC 5681), as a user would write it. This Reno counts the acknowledged octets (RFC 3465).
RENO = """
class Reno:
    def __init__(self, left=0.5):
        self.left, self.counted = left, 0

    def on_ack(self, ack, window):
        if not ack.window_limited:
            return
        if window.cwnd < window.ssthresh:
            most = ack.smss if ack.after_timeout else 2 * ack.smss
            window.cwnd += min(ack.acked_bytes, most)
            return
        self.counted += ack.acked_bytes
        if self.counted >= window.cwnd:
            self.counted -= window.cwnd
            window.cwnd += ack.smss

    def on_congestion(self, now, kind, flight_bytes, smss, window):
        self.counted = 0
        return max(int(flight_bytes * self.left), 2 * smss)
"""

#: An algorithm that sends at a constant rate, even if packets are lost.
CONSTANT = """
class Constant:
    owns_window = True
    wants_rate = True

    def __init__(self, mbit=0.5):
        self.rate, self.seen = mbit * 1e6, 0

    def on_ack(self, ack, window):
        self.seen += ack.rate is not None
        window.cwnd = max(int(self.rate / 8 * 2 * (ack.srtt or 0.1)), 4 * ack.smss)

    def on_congestion(self, now, kind, flight_bytes, smss, window):
        return window.cwnd

    def pacing_rate(self):
        return self.rate
"""

#: A transfer over a link that loses 1 % of the packets.
PATH = """
stop = "60 s"
seed = 5
[links]
wire = { between = ["a", "b"], rate = "1 Mbit/s", delay = "40 ms", queue = "8 packets", \
loss = { probability = 0.01 } }
[flows.transfer]
from    = "a"
to      = "b"
profile = "rfc-2026"
send    = "500 kB"
[record]
tables = ["cwnd"]
"""

pytestmark = pytest.mark.usefixtures("place")

#: The key of a scenario that names the congestion control algorithm of `transfer`.
CONGESTION = "flows.transfer.tcp.congestion"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a scenario and the classes into a folder; the test runs in this folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(RENO + CONSTANT)
    (tmp_path / "path.toml").write_text(PATH)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_the_algorithms_of_the_core_keep_all_rules(name: str) -> None:
    ns.check_congestion(name).raise_if_failed()


def test_the_python_classes_of_this_file_keep_all_rules() -> None:
    for text in ("own.py:Reno", "own.py:Reno:left=0.7", "own.py:Constant"):
        ns.check_congestion(text).raise_if_failed()


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        (
            "self.shared.append(1); window.cwnd += len(self.shared)",
            "an instance does not change another",
        ),
        ("window.cwnd = 10", "after an ACK, cwnd is at least"),
        ("pass", "without congestion, cwnd grows"),
        ("window.cwnd += ack.rtt * 0", "it works with unknown round trips"),
        ("window.cwnd = float('nan')", "the same input has the same output"),
    ],
)
def test_the_check_names_the_rule_that_a_class_breaks(place: Path, code: str, rule: str) -> None:
    (place / "broken.py").write_text(
        f"""
class Broken:
    shared = []
    def on_ack(self, ack, window):
        {code}
    def on_congestion(self, now, kind, flight_bytes, smss, window):
        return 2 * smss
"""
    )
    check = ns.check_congestion("broken.py:Broken")
    assert any(broken.startswith(rule) for broken in check.failed), str(check)


def test_the_check_names_both_results_if_the_same_input_has_two_results(place: Path) -> None:
    (place / "unlike.py").write_text(
        """
class Unlike:
    answers = 0
    def on_ack(self, ack, window):
        window.cwnd += ack.acked_bytes
    def on_congestion(self, now, kind, flight_bytes, smss, window):
        Unlike.answers += 1
        return 2 * smss + Unlike.answers
"""
    )
    check = ns.check_congestion("unlike.py:Unlike")
    told = check.failed["the same input has the same output"]
    assert re.search(
        r"at step \d+, ssthresh is (\d+) octets in one run and (?!\1 )\d+ in another", told
    ), told


def test_reno_in_python_equals_the_cores_reno_octet_for_octet() -> None:
    base = load("path.toml")
    own = base.replace({CONGESTION: "own.py:Reno"}).run()
    core = base.replace({CONGESTION: "reno"}).run()
    assert own.digest == core.digest
    assert own.flows["retransmissions"][0] > 3
    gentle = base.replace({CONGESTION: "own.py:Reno:left=0.9"}).run()
    assert gentle.digest != core.digest


def test_a_class_may_set_the_cwnd_and_the_pacing_rate() -> None:
    run = load("path.toml").replace({CONGESTION: "own.py:Constant:mbit=0.4"}).run()
    seconds = run.flows.seconds("finished_ns")[0]
    assert seconds == pytest.approx(500e3 * 8 / 0.4e6, rel=0.08)


def test_a_run_folder_names_and_contains_the_code_that_set_the_cwnd(
    place: Path, netspurt: Command
) -> None:
    words = ["path.toml", "--set", f"{CONGESTION}=own.py:Reno", "--out", "r"]
    result = netspurt("run", *words)
    assert result.returncode == 0, result.stderr
    (origin,) = json.loads((place / "r/run.json").read_text())["algorithms"]
    assert origin["text"].startswith("own.py@")
    assert load(place / "r/scenario.toml").run().digest == ns.open_run(place / "r").digest


@pytest.mark.parametrize(
    ("method", "code", "why"),
    [
        ("on_ack", "window.cwnd = float('nan')", "`cwnd` cannot be nan: write 1 octet or more"),
        ("on_ack", "window.cwnd = -5", "`cwnd` cannot be -5: write 1 octet or more"),
        ("on_ack", "window.cwnd = 'wide'", "`cwnd` cannot be wide: write 1 octet or more"),
        ("on_ack", "window.cwnd = 7", "on_ack left the window at 7 octets, less than a segment"),
        ("on_congestion", "return None", "on_congestion() returned None: it must return the new"),
        ("on_congestion", "return -1", "on_congestion() returned -1: it must return the new"),
        ("on_congestion", "return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_an_error_in_a_method_names_the_class_the_method_and_the_line(
    place: Path, method: str, code: str, why: str
) -> None:
    start = f"    def {method}("
    head, _, rest = RENO.partition(start)
    signature, _, body = rest.partition("\n")
    (place / "own.py").write_text(f"{head}{start}{signature}\n        {code}\n{body}")
    with pytest.raises(AlgorithmError) as caught:
        load("path.toml").replace({CONGESTION: "own.py:Reno"}).run()
    assert f"`{method}` of own.py:Reno, own.py, line" in str(caught.value)
    assert why in str(caught.value)


def test_a_python_class_refuses_the_switches_of_the_cores_algorithms() -> None:
    base = load("path.toml")
    for key in ("abc_limit", "slow_start_exit", "fast_convergence"):
        values = {"abc_limit": "3 segments", "slow_start_exit": "none", "fast_convergence": True}
        with pytest.raises(ns.ScenarioError, match=f"`{key}`"):
            base.replace({CONGESTION: "own.py:Reno", f"flows.transfer.tcp.{key}": values[key]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("own.py:Vegas", "`own.py` has no class `Vegas`"),
        ("json:JSONDecoder", "has no method `on_ack`"),
        ("renno", "did you mean `reno`"),
    ],
)
def test_the_name_of_an_unknown_algorithm_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ns.ScenarioError) as caught:
        load("path.toml").replace({CONGESTION: text})
    assert message in str(caught.value)


def test_a_class_may_extend_an_algorithm_of_the_core(place: Path) -> None:
    (place / "own.py").write_text(
        """
from netspurt.congestion import CongestionControl

class Gentle:
    def __init__(self, base="reno"):
        self.base = CongestionControl(base)
        self.on_ack = self.base.on_ack

    def on_congestion(self, now, kind, flight_bytes, smss, window):
        return self.base.on_congestion(now, kind, flight_bytes, smss, window)
"""
    )
    base = load("path.toml")
    own = base.replace({CONGESTION: "own.py:Gentle"}).run()
    assert own.digest == base.replace({CONGESTION: "reno"}).run().digest


#: Reno that writes a line into `told.txt` at each call of a method about an event.
TELLS = """
class Tells(Reno):
    def write(self, *what):
        with open("told.txt", "a") as file:
            print(*what, file=file)

    def on_open(self, rtt, window):
        self.write("open", window.cwnd)

    def on_round_trip(self, now, rtt):
        self.write("trip", now, rtt)

    def on_timeout(self, now, nxt):
        self.write("timeout", now, nxt)

    def on_idle_restart(self, now, idle):
        self.write("idle", now, idle)
"""


def test_a_class_is_told_when_a_connection_opens_and_of_its_round_trips_and_timeouts(
    place: Path,
) -> None:
    (place / "own.py").write_text(RENO + TELLS)
    changed = {CONGESTION: "own.py:Tells", "links.wire.loss": {"packets": [9, *range(100, 125)]}}
    run = load("path.toml").replace(changed).run()
    calls = [line.split() for line in Path("told.txt").read_text().splitlines()]
    events = [call[0] for call in calls]
    assert events[0] == "open"
    assert events.count("trip") > 3
    assert events.count("timeout") == run.flows["timeouts"][0] > 0
    nxt, *_ = [int(call[2]) for call in calls if call[0] == "timeout"]
    assert 80 * 1000 < nxt < 130 * 1460


#: The scenario with a profile that the kernel can have.
KERNEL = PATH.replace('profile = "rfc-2026"', 'profile = "reno-2005"')


def test_the_sender_may_use_any_congestion_algorithm_if_the_kernel_only_receives() -> None:
    for text in ("westwood", "own.py:Reno"):
        values = {"flows.transfer.endpoint": ["model", "kernel"], CONGESTION: text}
        assert Scenario.parse(KERNEL).replace(values).kernel_flow == "transfer"


@pytest.mark.parametrize("ends", [["kernel", "kernel"], ["kernel", "model"]])
def test_a_kernel_that_sends_cannot_use_a_python_class(ends: list[str]) -> None:
    values = {"flows.transfer.endpoint": ends, CONGESTION: "own.py:Reno"}
    with pytest.raises(ns.ScenarioError, match=r"the kernel cannot run `own.py:Reno`") as caught:
        Scenario.parse(KERNEL).replace(values)
    assert caught.value.key == CONGESTION


def test_reno_of_the_core_computes_cwnd_and_ssthresh_as_in_the_rfcs() -> None:
    """RFC 3465: cwnd grows by the acknowledged octets. RFC 5681: ssthresh is half of FlightSize."""
    reno, window = congestion("reno"), Window(10_000)
    reno.on_ack(Ack(0.1, smss=1000, acked_bytes=2000), window)
    assert (window.cwnd, reno.on_congestion(0.2, "loss", 12_000, 1000, window)) == (12_000, 6000)
    with pytest.raises(ValueError, match="no algorithm is called"):
        CongestionControl("vegas")


@pytest.mark.parametrize("seconds", [-1.0, math.nan, 1e10])
def test_congestion_control_of_the_core_refuses_impossible_durations(seconds: float) -> None:
    reno, refusal = CongestionControl("reno"), "is not a duration: write seconds from 0 to 9e9"
    with pytest.raises(ValueError, match=refusal):
        reno.on_open(seconds, Window(10_000))
    with pytest.raises(ValueError, match=refusal):
        reno.on_round_trip(0.1, seconds)
    with pytest.raises(ValueError, match=refusal):
        reno.on_idle_restart(0.1, seconds)
