"""Tests the text, the table and the picture that show crossings.

A crossing is an instant at which the round trip of a segment begins to exceed the RTO.
"""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.crossings import Crossing, crossings
from netspurt.pictures.deviation import deviation
from netspurt.plots import draw

from conftest import ROOT, Command


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of the scenario `early-timeout`."""
    run = ns.load(ROOT / "scenarios" / "early-timeout.toml").run()
    return run.save(tmp_path_factory.mktemp("early") / "run")


class Rows(dict[str, "np.ndarray"]):
    """Holds the columns of a small table, with times in seconds."""

    def seconds(self, name: str = "t_ns") -> np.ndarray:
        """Return a column, whose values are already in seconds."""
        return self[name].astype(float)


def test_a_crossing_is_the_instant_at_which_the_age_of_a_segment_begins_to_exceed_the_rto() -> None:
    """A segment leaves at 1 s and is acknowledged at 3.5 s. At 2 s, the RTO falls to 1.2 s."""
    rto = Rows(
        t_ns=np.array([0.0, 2.0, 4.0]),
        rto_ns=np.array([2.0, 1.2, 3.0]),
        fired=np.array([False, False, False]),
    )
    rtt = Rows(t_ns=np.array([3.5]), sent_ns=np.array([1.0]), rtt_ns=np.array([2.5]))
    (crossing,) = crossings(rto, rtt)
    assert crossing == Crossing(crossing.t, 1.2, timeout=False)
    assert crossing.t == pytest.approx(2.2)
    quick = Rows(t_ns=np.array([2.1]), sent_ns=np.array([1.0]), rtt_ns=np.array([1.1]))
    assert crossings(rto, quick) == []


def test_crossings_are_listed_with_their_timeouts_retransmissions_and_verdicts(
    netspurt: Command, early: Path
) -> None:
    """VALIDATION.md lists the timeouts. In the simulator ns-2, they are at 8.95 s and 11.35 s."""
    rows = list(csv.DictReader(io.StringIO(netspurt("table", early, "crossings", "--csv").stdout)))
    fired = [row for row in rows if row["timeout"] == "true"]
    assert [round(int(row["t_ns"]) / 1e9, 3) for row in fired] == [8.954, 11.346]
    assert [row["spurious"] for row in fired] == ["true", "false"]
    for row in fired:
        assert int(row["retransmitted_ns"]) >= int(row["t_ns"])
    result = netspurt("plot", early, "--kind", "rto")
    assert result.returncode == 0, result.stderr
    assert (
        "8.953997 s: the round trip exceeds the RTO of 0.908 s; timeout, packet 361"
        in result.stderr
    )
    assert "(spurious)" in result.stderr
    assert (
        netspurt("table", early, "crossings", "--from", "9", "--limit", "1").stdout.count("\n") == 2
    )


def test_a_lost_packet_has_no_round_trip_in_the_notes(netspurt: Command, early: Path) -> None:
    notes = netspurt("plot", early, "--kind", "rto").stderr.splitlines()
    lost = [note for note in notes if "the original was lost" in note]
    assert lost
    assert all("no ACK within the RTO" in note for note in lost)
    assert not any("round trip" in note for note in lost)


def test_the_printed_command_for_more_crossings_names_the_direction_of_the_plot(
    netspurt: Command, tmp_path: Path
) -> None:
    """Most octets are sent in reverse, so the plot shows the timer of the reverse direction."""
    scenario = ns.load(ROOT / "scenarios" / "requests.toml")
    lossy = scenario.replace({"links.wire.loss": {"probability": 0.1}})
    folder = lossy.run().save(tmp_path / "a run")
    (note,) = (
        line
        for line in netspurt("plot", "a run", "--kind", "rto").stderr.splitlines()
        if " more: " in line
    )
    shown = int(note.split(" more")[0].split()[-1]) + 5
    words = shlex.split(note.partition(": netspurt ")[2])
    assert "--direction" in words
    assert len(netspurt(*words, "--csv").stdout.splitlines()) - 1 == shown
    assert folder.name == "a run"


def test_no_crossing_ends_in_a_timeout_if_the_tick_is_500_ms(
    netspurt: Command, tmp_path: Path
) -> None:
    scenario = ns.load(ROOT / "scenarios" / "early-timeout.toml")
    slow = scenario.replace({"flows.transfer.tcp.clock": {"tick": "500 ms"}})
    folder = slow.run().save(tmp_path / "slow")
    rows = netspurt("table", folder, "crossings", "--csv").stdout.splitlines()[1:]
    assert [row for row in rows if ",true," in row] == []


def test_the_picture_shows_srtt_rttvar_the_rto_and_timeouts(early: Path) -> None:
    run = ns.open_run(early)
    (axes,) = draw(run, "rto").axes
    drawn = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.lines}
    assert {"srtt", "rttvar of ns-2", "rto", "timeout"} <= set(drawn)
    rttvar = run.table("rto").where(direction="forward").seconds("rttvar_ns")
    assert np.nanmax(drawn["rttvar of ns-2"]) == np.nanmax(rttvar) == 0.29


@pytest.mark.parametrize("group", ["flows", "populations"])
def test_the_name_of_the_deviation_depends_on_the_endpoint_of_the_flow(group: str) -> None:
    class Run:
        scenario = f'[{group}.web]\nendpoint = "kernel"'

        def table(self, name: str) -> None:
            raise ValueError(name)

    run: Any = Run()
    assert deviation(run, "web.0", "forward") == "mean deviation (tcpi_rttvar)"
    assert deviation(run, "other.0", "forward") == "rttvar"
