"""Links made from recordings of delays."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import timelines

from conftest import Command, refused

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


def _crossed(moves: timelines.Timeline, sent: list[float], folder: Path) -> ns.Table:
    """Send one echo probe at each instant over a link that follows the moves."""
    Path(folder, "moves.toml").write_text(moves.to_toml(), encoding="utf-8")
    probes = "".join(
        f'[echo_probes.p{n:04d}]\nfrom = "a"\nto = "b"\nlengths = ["40 B"]\ncount = 1\n'
        f'start = "{1000 * at:.0f} ms"\ntimeout = "14 s"\n'
        for n, at in enumerate(sent)
    )
    head = SCENARIO.partition("[echo_probes")[0].format(stop=sent[-1] + 15)
    return ns.Scenario.parse(f"{head}{probes}", folder=folder).run().echo_probes


def _same(rtt: list[float | None], every: float, folder: Path) -> timelines.Timeline:
    """Check that probes see what was recorded; return what the link follows."""
    sent = [n * every for n in range(len(rtt))]
    moves = timelines.follow(ns.Delays.of(rtt, sent=sent))
    table = _crossed(moves, sent, folder)
    wanted = np.array([np.nan if one is None else one for one in rtt])
    order = np.argsort([str(flow) for flow in table["flow"]], kind="stable")
    np.testing.assert_array_equal(table["lost"][order], np.isnan(wanted))
    found = table.seconds("rtt_ns")[order]
    np.testing.assert_allclose(found, wanted, atol=2e-9)
    return moves


def test_an_outage_loses_the_lost_probes_alone_where_round_trips_are_longer_than_their_gaps(
    tmp_path: Path,
) -> None:
    rtt: list[float | None] = [0.6 + 0.001 * (n % 3) for n in range(120)]
    rtt[20:25] = [None] * 5
    rtt[60:90] = [None] * 30
    moves = _same(rtt, 0.1, tmp_path)
    assert moves.order == "fifo"
    assert moves.reverse_outages is not None
    spans = [(one.at_ns / 1e9, one.dead_ns / 1e9) for one in moves.reverse_outages]
    np.testing.assert_allclose(spans, [(2.3, 0.5), (6.3, 3.0)], atol=0.002)


def test_probes_that_were_held_and_released_together_are_so_on_the_link(tmp_path: Path) -> None:
    rtt: list[float | None] = [0.04] * 100
    for n in range(30, 60):
        rtt[n] = 6.0 - 0.1 * n + 0.03
    assert _same(rtt, 0.1, tmp_path).order == "fifo"


def test_an_answer_that_others_overtook_holds_up_none_of_them(tmp_path: Path) -> None:
    rtt: list[float | None] = [0.04 + 0.001 * (n % 4) for n in range(100)]
    rtt[20] = 4.0
    rtt[40:43] = [None] * 3
    # It left before an outage, and came back behind it.
    rtt[35] = 2.0
    moves = _same(rtt, 0.1, tmp_path)
    assert moves.order == "overtaking"
    (note,) = moves.notes
    assert note.startswith("2 answers came behind those of later probes")
    assert "`--lost-after TIME`" in note
    kept = timelines.follow(ns.Delays.of([0.1, 0.1005], sent=[0, 0.0001]))
    assert kept.order == "fifo", "times to the millisecond prove nothing"


def test_what_a_recording_does_not_tell_is_noted() -> None:
    sent = [0.1 * n + (10 if n > 20 else 0) for n in range(40)]
    (note,) = timelines.follow(ns.Delays.of([0.04] * 40, sent=sent)).notes
    assert note.startswith("no probe left for 10.1 s, 0:00:02 after the beginning")
    (note,) = timelines.follow(ns.Delays.of([0.04, None, None], every=1.0)).notes
    assert note.startswith("the recording ends with 2 lost probes")


LOG = """PING h (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=54 time=40.0 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=54 time=41.0 ms
64 bytes from 192.0.2.1: icmp_seq=5 ttl=54 time=42.0 ms

--- h ping statistics ---
5 packets transmitted, 3 received, 40% packet loss, time 400ms
rtt min/avg/max/mdev = 40.000/41.000/42.000/1.000 ms
"""


def test_a_timeline_of_a_log_says_what_was_reckoned(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(LOG)
    ran = netspurt("delays", "log.txt", "--timeline", "moves.toml")
    assert ran.returncode == 0, ran
    assert ran.stdout.startswith(
        "moves.toml: 3 delays in 3 steps, half of each round trip for a direction; 1 outage; no "
        "other loss\n"
    )
    assert "note: times of sending reckoned" in " ".join(ran.stdout.split())


def test_one_of_several_recordings_in_a_file_is_chosen(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "twice.txt").write_text(LOG + LOG.replace("time=40.0", "time=30.0"))
    words = ["delays", "twice.txt", "--timeline", "moves.toml"]
    refused(netspurt(*words), "there are 2: name one file, or one of these with --recording N")
    refused(netspurt(*words, "--recording", 3), "no recording 3: there are 1 to 2")
    refused(netspurt("delays", "twice.txt", "--recording", 1), "it chooses what --timeline writes")
    assert netspurt(*words, "--recording", 2).returncode == 0
    assert '["0 s", "15 ms"]' in (tmp_path / "moves.toml").read_text()
    refused(netspurt("delays", "nothere.txt", "--timeline", "x.toml"), "nothere.txt")
