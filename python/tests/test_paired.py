"""Compares two runs of one population, connection by connection.

A population is many connections of one kind that start at different instants.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.paired import pairs_of

from conftest import Command

#: A scenario with a population of web connections.
WEB = """
stop = "20 s"
seed = 3
[links]
wire = { between = ["a", "b"], rate = "2 Mbit/s", delay = "10 ms", queue = "10 packets" }
[populations.web]
from     = "a"
to       = "b"
profile  = "rfc-2026"
arrivals = "poisson"
load     = { share = 0.5, link = "wire" }
send     = "400 B"
reply    = "exponential:mean=10 kB"
[record]
tables = ["connections"]
"""


def test_two_runs_with_different_profiles_have_the_same_connections() -> None:
    scenario = ns.Scenario.parse(WEB)
    first = scenario.run()
    second = scenario.replace({"populations.web.profile": "reno-2005"}).run()
    pairs = pairs_of(first, second, "web")
    count = len(first.connections)
    assert pairs.unlike == 0
    assert count - sum(pairs.incomplete) <= len(pairs.durations_s[0]) < count
    longer = pairs.durations_s[1] - pairs.durations_s[0]
    interval = pairs.difference_s()
    assert interval.value == pytest.approx(np.mean(longer))
    assert interval.low < interval.value < interval.high
    assert pairs.later.sum() == len(longer)
    same = pairs_of(first, first, "web")
    assert same.later.tolist() == [0, len(same.durations_s[0]), 0]


def test_runs_of_different_seeds_cannot_be_paired() -> None:
    scenario = ns.Scenario.parse(WEB)
    with pytest.raises(ValueError, match="whose seeds are 3 and 4: give both the same seed"):
        pairs_of(scenario.run(), scenario.replace({"seed": 4}).run(), "web")


def test_runs_can_be_paired_only_if_a_connection_is_complete_in_both_runs() -> None:
    scenario = ns.Scenario.parse(WEB).replace({"populations.web.most": 1})
    started = scenario.run().connections.seconds("opened_ns")[0]
    cut_off = scenario.replace({"stop": f"{1e3 * started + 1:.0f} ms"}).run()
    with pytest.raises(ValueError, match="no connection of web is complete in both runs: give"):
        pairs_of(scenario.run(), cut_off, "web")


def test_netspurt_compare_prints_populations_as_text_and_as_json(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "web.toml").write_text(WEB)
    for out, profile in (("new", "rfc-2026"), ("old", "reno-2005")):
        words = ["--set", f"populations.web.profile={profile}", "--out", out]
        assert netspurt("run", "web.toml", *words).returncode == 0
    result = netspurt("compare", "new", "old")
    assert result.returncode == 0, result.stderr
    assert "in old a connection takes " in result.stdout
    assert "populations.web.profile" in result.stdout
    document = json.loads(netspurt("compare", "new", "old", "--json").stdout)
    (web,) = document["populations"]
    assert web["difference_s"]["low"] > 0, "delayed ACKs of 200 ms must show as a difference"
    assert sum(web["shorter_same_longer"]) == web["pairs"]
    (tmp_path / "bare.toml").write_text(WEB.replace('["connections"]', "[]"))
    assert netspurt("run", "bare.toml", "--out", "bare").returncode == 0
    result = netspurt("compare", "new", "bare")
    assert result.returncode == 2
    assert 'add "connections" to `tables`' in result.stderr


@pytest.mark.parametrize(
    ("count", "how_many", "none"),
    [
        (1, "1 connection that is", "one connection gives no interval"),
        (2, "2 connections that are", "2 connections give no interval"),
    ],
)
def test_fewer_than_three_common_connections_are_compared_without_an_interval(
    netspurt: Command, tmp_path: Path, count: int, how_many: str, none: str
) -> None:
    scenario = ns.Scenario.parse(WEB).replace({"populations.web.most": count})
    scenario.run().save(tmp_path / "one")
    scenario.replace({"populations.web.profile": "reno-2005"}).run().save(tmp_path / "other")
    output = " ".join(netspurt("compare", "one", "other").stdout.split())
    assert f"web: {how_many} complete in both runs" in output
    assert f"on average ({none})" in output
