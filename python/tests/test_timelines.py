"""Links made from recordings of delays."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import timelines

#: Two hosts and a link that follows a file; a probe leaves one second after the other's answer.
SCENARIO = """
stop = "{stop} s"
[links]
wire = {{ between = ["a", "b"], rate = "unlimited", follows = "moves.toml" }}
[echo_probes.p]
from = "a"
to = "b"
lengths = ["40 B"]
count = {count}
timeout = "800 ms"
gap = "{gap} ms"
"""


def _probed(moves: timelines.Timeline, folder: Path, count: int, gap: int) -> ns.Run:
    """Probe a link that follows the moves."""
    Path(folder, "moves.toml").write_text(moves.to_toml(), encoding="utf-8")
    text = SCENARIO.format(stop=2 * count + 10, count=count, gap=gap)
    return ns.Scenario.parse(text, folder=folder).run()


def test_probes_over_a_link_made_from_a_recording_see_its_delays(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    recorded = np.round(rng.uniform(0.02, 0.3, 60), 6)
    # Echo probes leave a gap after an answer, so the recording has their instants.
    sent = np.concatenate(([0.0], np.cumsum(recorded + 0.5)[:-1]))
    moves = timelines.follow(ns.Delays.of(recorded, sent=sent))
    table = _probed(moves, tmp_path, len(recorded), 500).echo_probes
    np.testing.assert_allclose(table["rtt_ns"], recorded * 1e9, atol=2)


def test_lost_probes_in_a_row_are_an_outage_and_others_a_probability() -> None:
    rtt = [0.04, 0.05, None, None, None, 0.06, None, 0.06, 0.08, None, None]
    moves = timelines.follow(ns.Delays.of(rtt, every=1.0))
    second = 1_000_000_000
    outages = [(2 * second, 3 * second), (9 * second, second)]
    assert moves.outages == [timelines.Outage(*one) for one in outages]
    assert isinstance(moves.loss, float)
    # One of six probes outside of the outages; both directions together lose as many.
    assert (1 - moves.loss) ** 2 == pytest.approx(5 / 6)
    points = [(0, 20), (1, 25), (5, 30), (8, 40)]
    assert moves.delay == [(at * second, ms * 1_000_000) for at, ms in points]
    assert len(timelines.follow(ns.Delays.of(rtt, every=1.0), outage=3).outages) == 1


def test_no_probe_passes_in_an_outage(tmp_path: Path) -> None:
    rtt = [0.1] * 5 + [None] * 6 + [0.1] * 5
    moves = timelines.follow(ns.Delays.of(rtt, every=1.0))
    table = _probed(moves, tmp_path, 16, 900).echo_probes
    sent_s = table["t_ns"] / 1e9
    np.testing.assert_array_equal(~table["lost"], (sent_s < 4.95) | (sent_s >= 11))


def test_what_makes_no_link_is_refused_with_the_reason() -> None:
    for recording, why in [
        (ns.Delays.of([0.1, 0.2]), "does not say when"),
        (ns.Delays.of([None, None], every=1.0), "no probe of it came back"),
    ]:
        with pytest.raises(ValueError, match=why):
            timelines.follow(recording)
    with pytest.raises(ValueError, match="1 lost probe"):
        timelines.follow(ns.Delays.of([0.1], every=1.0), outage=0)


def test_a_table_becomes_what_a_link_follows(tmp_path: Path) -> None:
    path = tmp_path / "pass.csv"
    path.write_text("t_s,rtt_ms,rate_mbps,loss\n0,40,10,0\n15,60.5,2.5,0.01\n")
    timeline = timelines.read_timeline(path)
    assert timeline.delay == [(0, 20_000_000), (15_000_000_000, 30_250_000)]
    assert timeline.rate == [(0, 10_000_000), (15_000_000_000, 2_500_000)]
    text = timeline.to_toml("linear")
    assert '["15 s", "30.25 ms"]' in text
    assert 'between = "linear"' in text
    Path(tmp_path, "moves.toml").write_text(text)
    scenario = SCENARIO.format(stop=30, count=2, gap=16_000).replace('rate = "unlimited", ', "")
    resolved = ns.Scenario.parse(scenario, folder=tmp_path).resolved()
    assert '["15 s", "2.5 Mbit/s"]' in resolved


def test_the_distance_beside_an_orbit_s_delay_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "pass.csv"
    path.write_text("t_s,distance_km,delay_s\n0,75000,0.25\n")
    assert timelines.read_timeline(path).delay == [(0, 250_000_000)]


def test_series_of_round_trips_and_traces_of_opportunities_are_told_apart(tmp_path: Path) -> None:
    series, trace = tmp_path / "series", tmp_path / "trace"
    series.write_text("0,50000001\n100000000,52000000\n")
    trace.write_text("1\n1\n3\n7\n")
    assert timelines.read_timeline(series).delay == [(0, 25_000_000), (100_000_000, 26_000_000)]
    read = timelines.read_timeline(trace)
    assert read.opportunities == [1_000_000, 1_000_000, 3_000_000, 7_000_000]
    rate = tomllib.loads(read.to_toml())["rate"]
    assert rate == {"opportunities": ["1 ms", "1 ms", "3 ms", "7 ms"]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("t_s,delay_ms\n", "a heading and no points"),
        ("t_s,delay_ms\n1,2\n0,2\n", "line 3: it lies before"),
        ("t_s,delay_ms\n1,nan\n", "line 2: 'nan' is no number"),
        ("t_s,delay_ms\n1,-2\n", "line 2: a value below zero"),
        ("t_s,delay_ms\n1,2,3\n", "3 cells, and 2"),
        ("t_s,dealy_ms\n1,2\n", "no column 'dealy_ms'"),
        ("delay_ms,t_s\n1,2\n", "the first column holds instants"),
        ("t_s,delay_ms,rtt_ms\n1,2,3\n", "one column of delays"),
        ("t_s,loss\n1,2\n", "2 is not a probability"),
        ("t_s,rate_bps\n1,0\n", "an outage is an entry of `handovers`"),
        ("5\n4\n", "line 2: it lies before"),
        ("5\nx\n", "line 2: 'x' is no millisecond"),
        ("0\n", "rounds take no time"),
    ],
)
def test_what_is_no_timeline_names_the_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(why)):
        timelines.read_timeline(path)
