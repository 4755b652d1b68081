"""Tests sweeps whose cases run on the kernel's TCP, in real time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.live_report import Lateness, LiveReport, PacketCounts, Replayed
from netspurt.sweep import Live, Sweep, kernel, open_sweep, run_sweep

from conftest import Command, refused
from lateness import real_time

#: A sweep of two cases: one with the model at both ends, and one with the kernel.
BOTH = """
title = "Model and kernel"
stop = "20 s"
[links.path]
between = ["a", "b"]
rate = "5 Mbit/s"
delay = "10 ms"
loss = [{ nth = [8] }, "none"]
[flows.x]
from = "a"
to = "b"
send = "30 segments"
profile = "linux-6"
[sweep]
over.end = { path = "flows.x.endpoint", values = ["model", "kernel"] }
"""


def live_only(seeds: int) -> Sweep:
    """Return a sweep whose cases all run on the kernel's TCP, one for each seed."""
    text = BOTH.replace('"model", "kernel"', '"kernel"').replace("[sweep]", f"[sweep]\n{seeds=}")
    return Sweep.of(ns.Scenario.parse(text))


@pytest.fixture
def allowed() -> None:
    """Skip the test if the machine allows no live runs."""
    capabilities = {name: (available, why) for name, available, why, _ in _core.capabilities()}
    available, why = capabilities["user and network namespaces"]
    if not available:
        pytest.skip(f"no live runs: {why}")


@pytest.mark.usefixtures("allowed")
@real_time
def test_kernel_cases_of_a_sweep_run_live_and_model_cases_are_simulated(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "both.toml").write_text(BOTH)
    result = netspurt("sweep", "both.toml", "--live", "--out", "swept")
    assert result.returncode == 0, result.stderr
    folder = open_sweep(tmp_path / "swept")
    cases = folder.read()
    assert cases["status"].tolist() == ["done", "done"], cases["why"]
    assert cases["finished"].tolist() == [1, 1]
    assert cases["delivered_bytes"][0] == cases["delivered_bytes"][1] > 0
    assert (cases["lost"] == 1).all()
    assert (cases["retransmissions"] >= 1).all()
    # Both flows finished long before the stop of 20 s.
    assert cases["completion_ns_max"].max() < 5e9
    assert np.ma.getmaskarray(cases["events"]).tolist() == [False, True]
    assert np.ma.getmaskarray(cases["undone"]).tolist() == [False, True]
    assert cases["why"].tolist()[1] == "live: `events` and `undone` are not known"
    assert (
        "nothing is left to run"
        in netspurt("sweep", "both.toml", "--live", "--out", "swept").stdout
    )


def report(*, late_ms: float) -> LiveReport:
    """Return the report of a live run whose largest lateness is `late_ms`. The budget is 5 ms."""
    lateness = Lateness(9, 1, 1, 1, round(late_ms * 1e6))
    return LiveReport(
        valid=late_ms <= 5,
        back_end="", wire="veth", offload=False, kernel="6", real_time=False,
        budget_ns=5_000_000, lateness=lateness, replayed=Replayed(0, 0, True),
        packets=PacketCounts(0, 0, 0, 0), ends=[], failures=[], programs=None, stop_ns=0,
        digest="", flows_digest="", tables={}, captures={}, nodes={}, flows={},
    )  # fmt: skip


class Machine:
    """Replaces live runs by simulations.

    Each run gets the next of the given latenesses [ms]. A lateness of `None` interrupts the sweep.
    """

    def __init__(self, *late_ms: float | None) -> None:
        self.late_ms = list(late_ms)

    def run_live(self, scenario: ns.Scenario, _folder: Path, **_options: Any) -> Any:
        """Simulate a scenario, and return the result in the form of a live run."""
        late_ms = self.late_ms.pop(0)
        if late_ms is None:
            raise KeyboardInterrupt
        model = scenario.replace({"flows.x.endpoint": "model"}).run()
        return SimpleNamespace(
            live=report(late_ms=late_ms), tables=model.tables, stop_ns=model.stop_ns
        )


@pytest.mark.usefixtures("allowed")
def test_a_late_case_runs_twice_before_it_is_marked_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(1, 9, 2, 9, 12.5, 4)
    monkeypatch.setattr(kernel, "run_live", machine.run_live)
    folder, tally = run_sweep(live_only(4), tmp_path / "s", engine=Live)
    assert (tally.done, tally.late, tally.errors) == (3, 1, 0)
    assert machine.late_ms == []
    cases = folder.read()
    assert cases["status"].tolist() == ["done", "done", "late", "done"]
    assert cases["why"].tolist()[2] == "a delivery was 12.5 ms late, budget 5 ms"
    assert np.ma.getmaskarray(cases["sent"]).tolist() == [False, False, True, False]
    assert open_sweep(tmp_path / "s").tally().late == 1


@pytest.mark.usefixtures("allowed")
def test_an_interrupted_live_sweep_continues_with_the_interrupted_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(1, 1, None, 1, 1)
    monkeypatch.setattr(kernel, "run_live", machine.run_live)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(live_only(4), tmp_path / "s", engine=Live)
    assert len(open_sweep(tmp_path / "s").read()) == 2
    _, tally = run_sweep(live_only(4), tmp_path / "s", engine=Live)
    assert (tally.done, machine.late_ms) == (2, [])


def test_a_live_sweep_needs_the_option_live_and_an_end_on_the_kernels_tcp(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "both.toml").write_text(BOTH)
    out = ("--out", "x")
    refused(netspurt("sweep", "both.toml", *out), "both.toml:15:", "netspurt sweep --live")
    model = ("--set", 'sweep.over.end.values=["model"]')
    refused(
        netspurt("sweep", "both.toml", *out, "--live", *model),
        "no case has an end on the kernel's TCP",
    )
    refused(netspurt("sweep", "both.toml", *out, "--budget", "1", *model), "add --live")
    refused(netspurt("sweep", "both.toml", *out, "--live", "--threads", "2"), "one case at a time")
    refused(
        netspurt("sweep", "both.toml", *out, "--live", "--chunk", "2"), "one case in each chunk"
    )
    with pytest.raises(ns.ScenarioError, match="virtual time"):
        run_sweep(Sweep.of(ns.Scenario.parse(BOTH)), tmp_path / "y")


@pytest.mark.usefixtures("allowed")
def test_the_lateness_budget_of_a_live_sweep_applies_to_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[float] = []

    def run_live(*_words: Any, budget: float) -> Any:
        budgets.append(budget)
        raise ns.LiveError("the kernel\nrefuses")

    monkeypatch.setattr(kernel, "run_live", run_live)
    folder, tally = run_sweep(live_only(1), tmp_path / "s", engine=partial(Live, budget=0.02))
    assert (budgets, tally.first_error) == ([0.02], (0, "the kernel refuses"))
    assert folder.read()["status"].tolist() == ["error"]


@pytest.mark.usefixtures("allowed")
def test_a_live_case_that_exceeds_the_budget_of_time_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[float] = []

    def run_live(scenario: ns.Scenario, _folder: Path, **_options: Any) -> Any:
        """Imitate a live run that ends with its flow, after at most 3 s."""
        stops.append(scenario.stop)
        model = scenario.replace({"flows.x.endpoint": "model"}).run()
        ended_ns = min(model.stop_ns, 3_000_000_000)
        return SimpleNamespace(live=report(late_ms=1), tables=model.tables, stop_ns=ended_ns)

    monkeypatch.setattr(kernel, "run_live", run_live)
    for name, time, start, status, why in [
        ("long", "10 s", "0 s", "done", "live: `events` and `undone` are not known"),
        ("short", "2 s", "0 s", "cut", "longer than 2 s"),
        ("later", "2 s", "5 s", "cut", "longer than 2 s"),
        ("longer", "30 s", "0 s", "done", "live: `events` and `undone` are not known"),
    ]:
        text = BOTH.replace('"model", "kernel"', '"kernel"').replace(
            "[sweep]", f'start = "{start}"\n[sweep]\ntime = "{time}"'
        )
        folder, _ = run_sweep(Sweep.of(ns.Scenario.parse(text)), tmp_path / name, engine=Live)
        cases = folder.read()
        assert (cases["status"].tolist(), cases["why"].tolist()) == ([status], [why])
    assert stops == [10, 2, 20]


@pytest.mark.usefixtures("allowed")
@real_time
def test_the_budget_of_time_ends_a_run_on_the_kernels_tcp(
    netspurt: Command, tmp_path: Path
) -> None:
    endless = BOTH.replace('"30 segments"', '"unlimited"').replace('"model", "kernel"', '"kernel"')
    (tmp_path / "endless.toml").write_text(endless.replace("[sweep]", '[sweep]\ntime = "1 s"'))
    result = netspurt("sweep", "endless.toml", "--live", "--out", "swept")
    assert result.returncode == 0, result.stderr
    cases = open_sweep(tmp_path / "swept").read()
    assert cases["why"].tolist() == ["longer than 1 s"]


def test_a_live_sweep_refuses_a_limit_on_events(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(BOTH.replace("[sweep]", "[sweep]\nevents = 1000"))
    result = netspurt("sweep", "both.toml", "--live", "--out", "x")
    refused(result, "a live case has none", "limit the cases by `time`")


#: A sweep of a population, which is a group of similar connections, on the kernel's TCP.
POPULATION = """
stop = "1 s"
links = { line = { between = ["a", "b"], rate = "9 Mbit/s", delay = "5 ms", queue = "50 packets" } }
[populations.web]
from = "a"
to = "b"
endpoint = "kernel"
profile = "linux-default"
arrivals = "every:50 ms"
send = "400 B"
reply = "4 kB"
[sweep]
seeds = 2
"""


def test_a_sweep_of_a_population_on_the_kernels_tcp_needs_the_option_live(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "web.toml").write_text(POPULATION)
    refused(netspurt("sweep", "web.toml", "--out", "x"), "web.toml:7:", "netspurt sweep --live")
    assert Sweep.of(ns.load(tmp_path / "web.toml")).is_live


def test_the_error_for_a_live_run_without_a_kernel_names_the_key_endpoint(
    netspurt: Command, tmp_path: Path
) -> None:
    netspurt("new", tmp_path / "mine.toml")
    result = netspurt("live", "run", "mine.toml", "--out", "x")
    refused(result, "`--set flows.transfer.endpoint=kernel`")
