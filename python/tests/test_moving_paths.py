"""Tests runs over moving paths, and the shipped scenarios that have a sweep.

The delay or the rate of a moving path changes with time, for example because satellites move. A
link may also follow a file in which such changes are listed.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.live import run_live
from netspurt.orbit import OrbitPath
from netspurt.sweep import Sweep

from conftest import ROOT, Command, refused
from lateness import real_time

#: The scenarios that have a sweep.
SETS = [
    path for path in sorted((ROOT / "scenarios").glob("*.toml")) if "[sweep" in path.read_text()
]

AVAILABLE, WHY = next(
    (available, why)
    for name, available, why, _ in _core.capabilities()
    if name == "user and network namespaces"
)
namespaces = pytest.mark.skipif(not AVAILABLE, reason=f"no namespaces: {WHY}")


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_scenario_runs_without_its_sweep_and_is_valid_with_each_value_of_an_axis(
    path: Path,
) -> None:
    scenario = ns.load(path)
    # The smallest scenario transfers one page.
    assert scenario.alone().run().links["carried_bytes"].sum() > 10_000
    sweep = Sweep.of(scenario)
    lengths = [len(labels) for labels in sweep.labels.values()]
    first = sweep.scenario(0).seed
    combinations = itertools.product(*map(range, lengths))
    for number, places in enumerate(combinations):
        if np.count_nonzero(places) <= 1:
            assert sweep.scenario(number * sweep.seeds).seed == first, sweep.labels


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_scenario_with_a_sweep_has_a_title_and_a_short_comment(path: Path) -> None:
    text = path.read_text()
    comment = list(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines()))
    assert 10 < len(ns.load(path).title) < 90
    assert f"netspurt sweep {path.stem} " in text
    assert f"sweep show {path.stem} " in text
    assert len(comment) <= 9


def test_running_a_file_with_a_sweep_prints_a_note_about_the_sweep(netspurt: Command) -> None:
    file = ROOT / "scenarios" / "handover-steps.toml"
    result = netspurt("run", file, "--set", "stop=5 s", "--out", "one")
    assert result.returncode == 0, result.stderr
    assert "has a sweep of 280 cases, too" in result.stderr


def test_the_timeline_of_a_link_is_written_to_a_file(netspurt: Command, tmp_path: Path) -> None:
    scenario = ns.load(ROOT / "scenarios" / "starlink-outages.toml").alone()
    file = tmp_path / "alone.toml"
    file.write_text(scenario.replace({"stop": "10 s"}).resolved())
    words = ["--link", "sky", "--set", "links.sky.slots.outages.every=1 s"]
    for seed in (1, 2):
        result = netspurt("timeline", file, *words, "--seed", seed, "--out", f"{seed}.toml")
        assert result.returncode == 0, result.stderr
        assert f"{seed}.toml: delay, handovers of link sky" in result.stdout
    first, second = ((tmp_path / f"{seed}.toml").read_text() for seed in (1, 2))
    assert first.startswith("# Link sky of ")
    assert tomllib.loads(first) != tomllib.loads(second)
    refused(netspurt("timeline", file, "--link", "sea"), "no link is called `sea`", "sky")
    refused(netspurt("timeline", file, "--seed", 2), "--seed and --set need --link")
    refused(netspurt("timeline", file, "--link", "sky", "--linear"), "do not apply with --link")


def followed(scenario: ns.Scenario, folder: Path) -> ns.Scenario:
    """Write the changes of the link `sky` to a file. Return a scenario that follows this file."""
    (folder / "sky.toml").write_text(scenario.link_changes("sky"))
    data = tomllib.loads(scenario.resolved())
    data["links"]["sky"].pop("slots")
    data["links"]["sky"].pop("delay")
    if "rate" in tomllib.loads((folder / "sky.toml").read_text()):
        data["links"]["sky"].pop("rate")
    data["links"]["sky"]["follows"] = "sky.toml"
    text = "\n".join(
        f"{key} = {ns.scenario.as_toml(value)}" for key, value in data.items() if key != "sweep"
    )
    return ns.Scenario.parse(text, folder=folder)


@pytest.mark.parametrize("name", ["starlink-outages", "starlink-rates"])
def test_a_written_timeline_of_slots_gives_the_same_run_as_the_slots(
    name: str, tmp_path: Path
) -> None:
    """A slot is a period of 15 s. The path changes at the boundaries between slots."""
    slots = ns.load(ROOT / "scenarios" / f"{name}.toml").alone().replace({"stop": "20 s"})
    assert followed(slots, tmp_path).run().digest == slots.run().digest


def test_the_bit_error_rate_follows_the_distance(netspurt: Command, tmp_path: Path) -> None:
    low = "apogee=400,perigee=384,inclination=51.6,epoch=1999-07-01"
    path = OrbitPath(["geo:-174.17", low])
    orbit_pass = path.passes("1999-07-01", hours=2)[0]
    delays = path.delays(orbit_pass.rise_ns, orbit_pass.set_ns, step=60)
    rates = np.array(delays.bit_errors(1e-7, 0.5))
    decibels = 20 * np.log10(delays.km / delays.km.min())
    assert 1 < decibels.max() < 3
    np.testing.assert_allclose(np.log10(rates / 1e-7), 0.5 * decibels, atol=1e-3)
    assert max(delays.bit_errors(0.5, 10)) == 1
    # The error rate 1e-7 belongs to the shortest distance of the whole pass. This distance does not
    # depend on the step between points.
    coarse = path.delays(orbit_pass.rise_ns, orbit_pass.set_ns, step=1200)
    at = np.searchsorted(delays.t_ns, coarse.t_ns[:-1])
    assert coarse.bit_errors(1e-7, 0.5)[:-1] == rates[at].tolist()
    assert min(coarse.bit_errors(1e-7, 0.5)) > 1.01e-7
    for least, per_db in [(1.5, 1), (-1, 1), (float("nan"), 1), (1e-7, -1), (1e-7, float("inf"))]:
        with pytest.raises(ValueError, match=r"from 0 to 1|0 or more"):
            delays.bit_errors(least, per_db)
    words = ["orbit", "delays", low, "--from", "geo:-174.17", "--hours", 2, "--pass", 1]
    words += ["--step", "60s", "--bit-error-rate", "1e-7", "--per-db", 0.5]
    result = netspurt(*words, "--out", "pass.toml")
    assert result.returncode == 0, result.stderr
    written = tomllib.loads((tmp_path / "pass.toml").read_text())
    assert [rate for _, rate in written["loss"]["bit_error_rate"]["timeline"]] == rates.tolist()
    refused(netspurt(*words), "add --out FILE.toml")


@namespaces
@real_time
@pytest.mark.parametrize(
    ("name", "flow", "values"),
    [
        ("handover-dead", "transfer", {"stop": "8 s", "flows.transfer.send": "2500 segments"}),
        ("starlink-outages", "web", {"stop": "4 s"}),
    ],
)
def test_a_live_run_over_a_moving_path_has_the_same_drops_as_its_replay(
    name: str, flow: str, values: dict[str, str], tmp_path: Path
) -> None:
    """Replays the arrivals at the links in virtual time. The replay must have the same drops."""
    dead = {"at": "1.5 s", "dead": "500 ms", "arrivals": "drop", "in_flight": "drop"}
    changed: dict[str, dict[str, object]] = {
        "handover-dead": {
            "links.space.delay": {"timeline": [["0 s", "27 ms"], ["1.5 s", "52 ms"]]},
            "links.space.handovers": [dead],
            "links.space.rate": "15 Mbit/s",
        },
        "starlink-outages": {"links.sky.slots.outages": {"every": "1 s", "dead": "300 ms"}},
    }
    scenario = ns.load(ROOT / "scenarios" / f"{name}.toml").alone()
    scenario = scenario.replace({**values, **changed[name]})
    model = scenario.run()
    kernel = run_live(scenario.replace({f"flows.{flow}.endpoint": "kernel"}), tmp_path / "r")
    assert kernel.live is not None
    assert kernel.live.valid, kernel.live
    data = json.loads((tmp_path / "r" / "live.json").read_text())
    assert data["replayed"]["same"] is True
    for run in (model, kernel):
        drops = run.drops
        handed = drops["reason"] == "handover"
        assert handed.any()
        if name == "handover-dead":
            at = drops["t_ns"][handed] / 1e9
            assert ((at >= 1.5) & (at <= 2.0)).all(), at
    if name == "handover-dead":
        due = kernel.table("deliveries")["t_ns"] / 1e9
        assert not ((due > 1.5) & (due < 2.0)).any(), (
            "nothing may be delivered while the path is dead"
        )


#: A scenario with requests and replies, whose link follows the file `moves.toml`.
WAITING = """
stop = "5 s"
[links.path]
between = ["a", "b"]
rate = "10 Mbit/s"
follows = "moves.toml"
[flows.web]
from = "a"
to = "b"
profile = "linux-6"
send = "200 B"
app = { requests = 1000, reply = "4 kB", think = "100 ms" }
"""
#: The file that the link of `WAITING` follows: a change of the delay, and two outages.
MOVES = """
delay = { timeline = [["0 s", "20 ms"], ["1 s", "30 ms"]] }
handovers = [{ at = "2 s", dead = "1 s" }, { at = "3.5 s", dead = "9 s", arrivals = "drop" }]
"""


def test_an_unfinished_request_is_shown_with_its_waiting_time(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(WAITING)
    (tmp_path / "moves.toml").write_text(MOVES)
    result = netspurt("run", "x.toml", "--out", "r")
    assert result.returncode == 0, result.stderr
    table = ns.open_run(tmp_path / "r").requests
    (last,) = np.flatnonzero(np.isnan(table.seconds("complete_ns")))
    waited = 5 - table.seconds("t_ns")[last]
    assert waited > 1.4
    assert f"> {1e3 * waited:.3f} ms" in result.stdout
    assert "> means at least: 1 request still waited at the end of the run" in result.stdout
    # All 5 requests of this run get a reply before the run ends, so no time has a `>` before it.
    result = netspurt(
        "run", "x.toml", "--set", "stop='1.99 s'", "--set", "flows.web.app.requests=5"
    )
    assert "> " not in result.stdout


def test_a_note_says_that_a_run_is_longer_than_the_file_of_its_link(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(WAITING)
    (tmp_path / "moves.toml").write_text(MOVES.splitlines()[1])
    result = netspurt("run", "x.toml", "--out", "r")
    expected = (
        "note: link path, which follows moves.toml, changes last at 1 s; from then on the last"
    )
    assert expected in result.stderr, result.stderr
    assert "hold until the run ends at 5 s" in result.stderr
    result = netspurt("run", "x.toml", "--set", "stop='1 s'")
    assert "note:" not in result.stderr


#: Other contents of the file `moves.toml`: three outages, and a handover without an outage.
OUTAGES = """
delay = "10 ms"
[[handovers]]
at = "2 s"
dead = "100 ms"
direction = "forward"
[[handovers]]
at = "30 s"
dead = "1500 ms"
direction = "forward"
[[handovers]]
at = "40 s"
dead = "2 s"
[[handovers]]
at = "50 s"
dead = "0 s"
"""


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("1 s", "3 outages after the end of the run at 1 s (from 2 s to 40 s), and 0 in the run"),
        ("4 s", "2 outages after the end of the run at 4 s (from 30 s to 40 s), and 1 in the run"),
        ("31 s", "1 outage after the end of the run at 31 s (at 40 s), and 2 in the run"),
        ("43 s", ""),
    ],
)
def test_a_note_says_once_that_a_run_ends_before_outages_in_the_file_of_its_link(
    stop: str, told: str, netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(WAITING)
    (tmp_path / "moves.toml").write_text(OUTAGES)
    few = ("--set", "flows.web.app.requests=2")
    result = netspurt("run", "x.toml", "--set", f"stop='{stop}'", *few)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("after the end of the run") == bool(told)
    assert told in result.stderr
    assert "--set stop='43 s' plays all outages" in result.stderr or not told
