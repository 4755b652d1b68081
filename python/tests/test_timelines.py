"""Tests links that follow timelines, which are made from recordings, tables and traces.

A timeline is a list of the delays, rates or losses of a link, each with the time at which it
begins. A trace lists the instants at which a link may deliver 1500 octets.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import timelines
from netspurt.pictures.moving import dead_times
from netspurt.plots.moving import draw_timeline

from conftest import Command, refused

#: Two hosts and a link that follows a file. After each answer, the time `gap` passes before the
#: next echo probe leaves.
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
    """Send echo probes over a link that follows this timeline; return the run. `gap` is in ms."""
    Path(folder, "moves.toml").write_text(moves.to_toml(), encoding="utf-8")
    text = SCENARIO.format(stop=2 * count + 10, count=count, gap=gap)
    return ns.Scenario.parse(text, folder=folder).run()


def test_a_link_made_from_a_recording_gives_probes_the_delays_of_the_recording(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(7)
    recorded = np.round(rng.uniform(0.02, 0.3, 60), 6)
    # Each echo probe leaves 0.5 s after the answer to the probe before it. The recording gets the
    # same instants.
    sent = np.concatenate(([0.0], np.cumsum(recorded + 0.5)[:-1]))
    moves = timelines.follow(ns.Delays.of(recorded, sent=sent))
    table = _probed(moves, tmp_path, len(recorded), 500).echo_probes
    np.testing.assert_allclose(table["rtt_ns"], recorded * 1e9, atol=2)


def test_only_lost_probes_in_a_row_are_an_outage() -> None:
    rtt = [0.04, 0.05, None, None, None, 0.06, None, 0.06, 0.08, None, None]
    moves = timelines.follow(ns.Delays.of(rtt, every=1.0))
    second = 1_000_000_000
    outages = [(2 * second, 3 * second), (9 * second, second)]
    assert moves.forward.outages == [timelines.Outage(*outage) for outage in outages]
    assert isinstance(moves.forward.loss, float)
    # One of the six probes outside of the outages was lost; the two directions together must lose
    # the same share.
    assert (1 - moves.forward.loss) ** 2 == pytest.approx(5 / 6)
    points = [(0, 20), (1, 25), (5, 30), (8, 40)]
    assert moves.forward.delay == [(at * second, ms * 1_000_000) for at, ms in points]
    assert len(timelines.follow(ns.Delays.of(rtt, every=1.0), outage=3).forward.outages) == 1


def test_no_probe_passes_in_an_outage(tmp_path: Path) -> None:
    rtt = [0.1] * 5 + [None] * 6 + [0.1] * 5
    moves = timelines.follow(ns.Delays.of(rtt, every=1.0))
    table = _probed(moves, tmp_path, 16, 900).echo_probes
    sent_s = table["t_ns"] / 1e9
    np.testing.assert_array_equal(~table["lost"], (sent_s < 4.95) | (sent_s >= 11))


def test_the_error_for_an_unusable_recording_gives_the_reason() -> None:
    for recording, why in [
        (ns.Delays.of([0.1, 0.2]), "does not say when"),
        (ns.Delays.of([None, None], every=1.0), "none of its probes was answered"),
    ]:
        with pytest.raises(ValueError, match=why):
            timelines.follow(recording)
    with pytest.raises(ValueError, match="1 lost probe"):
        timelines.follow(ns.Delays.of([0.1], every=1.0), outage=0)


def test_a_table_becomes_a_timeline_for_a_link(tmp_path: Path) -> None:
    path = tmp_path / "pass.csv"
    path.write_text("t_s,rtt_ms,rate_mbps,loss\n0,40,10,0\n15,60.5,2.5,0.01\n")
    timeline = timelines.read_timeline(path)
    assert timeline.forward.delay == [(0, 20_000_000), (15_000_000_000, 30_250_000)]
    assert timeline.forward.rate == [(0, 10_000_000), (15_000_000_000, 2_500_000)]
    text = replace(timeline, between="linear").to_toml()
    assert '["15 s", "30.25 ms"]' in text
    assert 'between = "linear"' in text
    Path(tmp_path, "moves.toml").write_text(text)
    scenario = SCENARIO.format(stop=30, count=2, gap=16_000).replace('rate = "unlimited", ', "")
    resolved = ns.Scenario.parse(scenario, folder=tmp_path).resolved()
    assert '["15 s", "2.5 Mbit/s"]' in resolved


def test_a_column_of_distances_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "pass.csv"
    path.write_text("t_s,distance_km,delay_s\n0,75000,0.25\n")
    assert timelines.read_timeline(path).forward.delay == [(0, 250_000_000)]


def test_series_of_round_trips_and_traces_of_opportunities_are_recognised(tmp_path: Path) -> None:
    series, trace = tmp_path / "series", tmp_path / "trace"
    series.write_text("0,50000001\n100000000,52000000\n")
    trace.write_text("1\n1\n3\n7\n")
    assert timelines.read_timeline(series).forward.delay == [
        (0, 25_000_000),
        (100_000_000, 26_000_000),
    ]
    read = timelines.read_timeline(trace)
    assert read.forward.opportunities == [1_000_000, 1_000_000, 3_000_000, 7_000_000]
    rate = tomllib.loads(read.to_toml())["rate"]
    assert rate == {"opportunities": ["1 ms", "1 ms", "3 ms", "7 ms"]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file is empty"),
        ("t_s,delay_ms\n", "x:1:1\n 1 | t_s,delay_ms\n   | ^^^^^^^^^^^^ add a row"),
        ("t_s,delay_ms\n1,2\n0,2\n", "this instant is earlier than the instant in line 2"),
        ("t_s,delay_ms\n1,nan\n", "'nan' is not a finite number\n   --> "),
        ("t_s,delay_ms\n1, -2\n", "x:2:4\n 2 | 1, -2\n   |    ^^ write a delay of 0 or more"),
        ("t_s,delay_s\n1,1e6\n", "at most a week, and check the unit of the column"),
        ("t_s,delay_ms\n-1,2\n", "write an instant of 0 or more"),
        ("t_s,delay_ms\n1,2,3\n", "this row has 3 cells"),
        ("t_s,delay_ms\n1,\n", "this cell is empty"),
        ("t_s,delay_ms\n1,1_000\n", "'1_000' is not a number"),
        ("t_s,dealy_ms\n1,2\n", "did you mean delay_ms?"),
        ("time_s,delay_ms\n1,2\n", "did you mean t_s?"),
        ("t_s;delay_ms\n1;2\n", "separate the cells by commas, not by semicolons"),
        ("1,2,3\n4,5,6\n", "the table has no names of columns"),
        ("delay_ms,t_s\n1,2\n", "put the instants first"),
        ("t_s,delay_ms,rtt_ms\n1,2,3\n", "rtt_ms and delay_ms set the same value"),
        ("t_s,delay_ms_forward\n1,2\n", "add delay_ms_reverse, or rename the column to delay_ms"),
        ("t_s\n1\n", "instants and no values"),
        ("t_s,loss\n1,1.5\n", "1.5 % is 0.015"),
        ("t_s,rate_bps\n1,0.5\n", "write a rate of at least 1 bit/s"),
        ("t_s,rate_bps\n1,5\n2,0\n", "the outage in the last row has no end"),
        ("t_s,rate_bps\n1,0\n2,0\n", "no row has a value of rate_bps"),
        ("t_s,outage\n1,maybe\n", "write one of 1, yes, true, 0, no, false"),
        ("5\n4\n", "this instant is earlier than the instant in the line above"),
        ("5\nx\n", "'x' is not a number of milliseconds"),
        ("1 1500\n", "write one whole number on each line of a Mahimahi trace"),
        ("5\n\u00b2\n", "is not a number of milliseconds"),
        (f"{'9' * 5000}\n", "is too large"),
        ("0\n", "after the last line the trace begins again"),
        ("5,-1\n", "not a row of a series of Hypatia"),
        ("delay = 5\n", "this value is not possible for a link"),
        ("order = 'fifo'\n[[handovers]]\nat = 'x'\n", "x:2:3\n 2 | [[handovers]]"),
        (
            "order = 'fifo'\ndealy = 5\n",
            "x:2:1\n 2 | dealy = 5\n   | ^^^^^ write only delay, rate, loss",
        ),
        ("[1]\n\n= 5", "neither TOML nor a table"),
    ],
)
def test_the_error_for_an_invalid_timeline_names_the_place_and_the_fix(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "x"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(timelines.TimelineError, match=re.escape(why)) as error:
        timelines.read_timeline(path)
    assert error.value.file == str(path)
    assert error.value.fix in str(error.value)


def test_a_table_may_have_columns_for_each_direction_and_outages(tmp_path: Path) -> None:
    path = tmp_path / "pass.csv"
    path.write_text(
        "t_s,delay_ms_forward,delay_ms_reverse,rate_mbps,loss_forward,outage\n"
        "0,20,30,8,0,0\n1,,,0,0.5,0\n2,,,,,1\n3,25,35,4,0,no\n"
    )
    timeline = timelines.read_timeline(path)
    second, ms = 1_000_000_000, 1_000_000
    outages = [timelines.Outage(second, second, "queue"), timelines.Outage(2 * second, second)]
    loss = [(0, 0.0), (second, 0.5), (3 * second, 0.0)]
    rate = [(0, 8_000_000), (3 * second, 4_000_000)]
    delay = [[(0, 20 * ms), (3 * second, 25 * ms)], [(0, 30 * ms), (3 * second, 35 * ms)]]
    forward = timelines.Way(delay[0], rate, loss=loss, outages=outages)
    assert timeline.forward == forward
    assert timeline.reverse == replace(forward, delay=delay[1], loss=[])
    text = timeline.to_toml()
    assert timelines.read_followed(text, path.name).forward == forward
    Path(tmp_path, "moves.toml").write_text(text)
    scenario = SCENARIO.format(stop=30, count=2, gap=16_000).replace('rate = "unlimited", ', "")
    resolved = tomllib.loads(ns.Scenario.parse(scenario, folder=tmp_path).resolved())
    wire = resolved["links"]["wire"]
    assert [handover["arrivals"] for handover in wire["handovers"]] == ["queue", "drop"]
    assert wire["loss"][1] == "none"
    assert wire["delay"][1]["timeline"][0] == ["0 s", "30 ms"]


def test_instants_since_1970_count_from_the_first_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("t_s,rtt_ms\n1795257709.5,40\n1795257710,60\n")
    timeline = timelines.read_timeline(path)
    assert timeline.forward.delay == [(0, 20_000_000), (500_000_000, 30_000_000)]
    assert "count from the first row, 1795257709.5" in timeline.notes[0]


def test_two_traces_are_the_two_directions_of_a_link(netspurt: Command, tmp_path: Path) -> None:
    Path(tmp_path, "up").write_text("2\n4\n")
    Path(tmp_path, "down").write_text("1\n")
    result = netspurt("timeline", "up", "--reverse", "down", "--out", "both.toml")
    assert "2 and 1 opportunities" in result.stdout
    rate = tomllib.loads((tmp_path / "both.toml").read_text())["rate"]
    assert rate == [{"opportunities": ["2 ms", "4 ms"]}, {"opportunities": ["1 ms"]}]
    # A link that follows traces needs no delay.
    text = SCENARIO.format(stop=5, count=3, gap=100).replace('rate = "unlimited", ', "")
    text = text.replace("moves.toml", "both.toml")
    run = ns.Scenario.parse(text, folder=tmp_path).run()
    assert not run.echo_probes["lost"].any()
    Path(tmp_path, "pass.csv").write_text("t_s,delay_ms\n0,5\n")
    result = netspurt("timeline", "up", "--reverse", "pass.csv")
    refused(result, "pass.csv has a delay, and up has none: add one")


def _irtt(trips: list[tuple[str, int, int]]) -> str:
    """Return a file of irtt with a probe every 100 ms.

    For each probe, `trips` has irtt's value of `lost` and the delays of both directions [ms].
    """

    def trip(n: int, lost: str, send: int, receive: int) -> dict[str, object]:
        delay = {"rtt": send + receive, "send": send, "receive": receive}
        delays = {name: ms * 1_000_000 for name, ms in delay.items()} if lost == "false" else {}
        sent = {"client": {"send": {"monotonic": n * 100_000_000}}}
        return {"seqno": n, "lost": lost, "timestamps": sent, "delay": delays}

    each = [trip(n, *one) for n, one in enumerate(trips)]
    return json.dumps({"config": {}, "stats": {"duplicates": 3}, "round_trips": each})


def test_a_recording_with_both_directions_gives_each_its_own_timeline(tmp_path: Path) -> None:
    path = tmp_path / "irtt.json"
    trips = [("false", 10, 30)] * 30
    trips[3] = trips[4] = ("true_down", 0, 0)
    trips[8] = ("true_up", 0, 0)
    trips[20] = ("false", 12, 50)
    path.write_text(_irtt(trips))
    (recording,) = ns.read_delays(path)
    moves = timelines.follow(recording)
    ms = 1_000_000
    assert moves.measured
    assert moves.reverse is not None
    assert moves.forward.delay == [(0, 10 * ms), (2000 * ms, 12 * ms), (2100 * ms, 10 * ms)]
    assert moves.reverse.delay == [(10 * ms, 30 * ms), (2012 * ms, 50 * ms), (2110 * ms, 30 * ms)]
    # Two replies in a row were lost, so only the reverse direction has an outage. One request was
    # lost, too.
    assert (len(moves.forward.outages), len(moves.reverse.outages)) == (0, 1)
    assert moves.forward.loss == pytest.approx(1 / 28)
    assert moves.reverse.loss == 0
    assert (1 - moves.duplicates) ** 2 == pytest.approx(1 - 3 / 27)
    # If the sender's clock is 15 ms ahead of the receiver's, forward delays of 10 ms become -5 ms.
    # Then netspurt takes half of the round trip, 20 ms, in place of -5 ms. So it infers a
    # difference of 25 ms.
    path.write_text(_irtt([(lost, send - 15, receive + 15) for lost, send, receive in trips]))
    (shifted,) = ns.read_delays(path)
    moves = timelines.follow(shifted)
    assert moves.forward.delay[0] == (0, 20 * ms)
    assert "the clocks of both ends differ by about 25 ms" in moves.notes[0]


def test_duplicates_in_a_recording_give_the_link_a_probability_of_duplicates(
    tmp_path: Path,
) -> None:
    path = tmp_path / "irtt.json"
    path.write_text(_irtt([("false", 10, 30)] * 6))
    (recording,) = ns.read_delays(path)
    Path(tmp_path, "moves.toml").write_text(timelines.follow(recording).to_toml())
    text = SCENARIO.format(stop=400, count=300, gap=20)
    scenario = ns.Scenario.parse(text, folder=tmp_path)
    assert tomllib.loads(scenario.resolved())["links"]["wire"]["duplicate"]["probability"] > 0.2


def _crossed(moves: timelines.Timeline, sent: list[float], folder: Path) -> ns.Table:
    """Send one echo probe at each instant in `sent` over a link that follows this timeline."""
    Path(folder, "moves.toml").write_text(moves.to_toml(), encoding="utf-8")
    probes = "".join(
        f'[echo_probes.p{n:04d}]\nfrom = "a"\nto = "b"\nlengths = ["40 B"]\ncount = 1\n'
        f'start = "{1000 * at:.0f} ms"\ntimeout = "14 s"\n'
        for n, at in enumerate(sent)
    )
    head = SCENARIO.partition("[echo_probes")[0].format(stop=sent[-1] + 15)
    return ns.Scenario.parse(f"{head}{probes}", folder=folder).run().echo_probes


def _same(rtt: list[float | None], every: float, folder: Path) -> timelines.Timeline:
    """Check that probes see the recorded delays, and return the timeline that the link follows."""
    sent = [n * every for n in range(len(rtt))]
    moves = timelines.follow(ns.Delays.of(rtt, sent=sent))
    table = _crossed(moves, sent, folder)
    wanted = np.array([np.nan if one is None else one for one in rtt])
    order = np.argsort([str(flow) for flow in table["flow"]], kind="stable")
    np.testing.assert_array_equal(table["lost"][order], np.isnan(wanted))
    found = table.seconds("rtt_ns")[order]
    np.testing.assert_allclose(found, wanted, atol=2e-9)
    return moves


def test_an_outage_of_the_link_drops_only_the_lost_probes_even_if_round_trips_are_long(
    tmp_path: Path,
) -> None:
    rtt: list[float | None] = [0.6 + 0.001 * (n % 3) for n in range(120)]
    rtt[20:25] = [None] * 5
    rtt[60:90] = [None] * 30
    moves = _same(rtt, 0.1, tmp_path)
    assert moves.order == "fifo"
    assert moves.reverse is not None
    spans = [(outage.at_ns / 1e9, outage.dead_ns / 1e9) for outage in moves.reverse.outages]
    np.testing.assert_allclose(spans, [(2.3, 0.5), (6.3, 3.0)], atol=0.002)


def test_a_link_reproduces_answers_that_all_arrived_at_once(tmp_path: Path) -> None:
    rtt: list[float | None] = [0.04] * 100
    for n in range(30, 60):
        rtt[n] = 6.0 - 0.1 * n + 0.03
    assert _same(rtt, 0.1, tmp_path).order == "fifo"


def test_an_overtaken_answer_does_not_delay_the_answers_that_overtook_it(tmp_path: Path) -> None:
    rtt: list[float | None] = [0.04 + 0.001 * (n % 4) for n in range(100)]
    rtt[20] = 4.0
    rtt[40:43] = [None] * 3
    # This probe left before an outage, and its answer came after the outage.
    rtt[35] = 2.0
    moves = _same(rtt, 0.1, tmp_path)
    assert moves.order == "overtaking"
    (note,) = moves.notes
    assert note.startswith("2 answers came after answers to later probes")
    assert "`--lost-after TIME`" in note
    kept = timelines.follow(ns.Delays.of([0.1, 0.1005], sent=[0, 0.0001]))
    assert kept.order == "fifo", "answers within a millisecond must not count as overtaking"


def test_gaps_and_lost_probes_at_the_end_of_a_recording_are_noted() -> None:
    sent = [0.1 * n + (10 if n > 20 else 0) for n in range(40)]
    (note,) = timelines.follow(ns.Delays.of([0.04] * 40, sent=sent)).notes
    assert note.startswith("a pause in sending of 10.1 s, 0:00:02 after the beginning")
    (note,) = timelines.follow(ns.Delays.of([0.04, None, None], every=1.0)).notes
    assert note.startswith("the recording ends with 2 lost probes")


#: The output of ping for five probes; the third and the fourth are lost.
LOG = """PING h (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=54 time=40.0 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=54 time=41.0 ms
64 bytes from 192.0.2.1: icmp_seq=5 ttl=54 time=42.0 ms

--- h ping statistics ---
5 packets transmitted, 3 received, 40% packet loss, time 400ms
rtt min/avg/max/mdev = 40.000/41.000/42.000/1.000 ms
"""


def test_a_note_says_that_times_of_sending_were_computed_for_the_timeline_of_a_log(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "log.txt").write_text(LOG)
    result = netspurt("delays", "log.txt", "--timeline", "moves.toml")
    assert result.returncode == 0, result
    assert " ".join(result.stdout.split()).startswith(
        "moves.toml: 3 delays in 3 steps, half of each round trip in each direction; 1 outage (two "
        "or more lost probes in a row); no other loss "
    )
    assert "note: times of sending computed" in " ".join(result.stdout.split())


def test_one_of_several_recordings_in_a_file_can_be_chosen(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "twice.txt").write_text(LOG + LOG.replace("time=40.0", "time=30.0"))
    words = ["delays", "twice.txt", "--timeline", "moves.toml"]
    refused(
        netspurt(*words), "there are 2: name one file, or choose a recording with --recording N"
    )
    refused(
        netspurt(*words, "--recording", 3), "no recording has the number 3; the numbers are 1 to 2"
    )
    refused(
        netspurt("delays", "twice.txt", "--recording", 1), "it needs --timeline: add --timeline OUT"
    )
    assert netspurt(*words, "--recording", 2).returncode == 0
    assert '["0 s", "15 ms"]' in (tmp_path / "moves.toml").read_text()
    refused(netspurt("delays", "nothere.txt", "--timeline", "x.toml"), "nothere.txt")


def test_pictures_show_the_directions_gaps_and_shaded_outages(
    netspurt: Command, tmp_path: Path
) -> None:
    second = 1_000_000_000
    forward = timelines.Way([(0, 20_000_000), (8 * second, 30_000_000)], loss=0.01)
    outages = [timelines.Outage(2 * second, 2 * second), timelines.Outage(6 * second, second)]
    reverse = replace(forward, outages=outages[:1])
    timeline = timelines.Timeline("sky", replace(forward, outages=outages), reverse)
    figure = draw_timeline(timeline, end_s=10)
    (axes,) = figure.axes
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["both directions", "dead", "dead, forward"]
    assert axes.get_title(loc="right") == "loss 1 % in each direction"
    assert axes.get_ylabel() == "delay [ms]"
    (line,) = axes.lines
    t, ms = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    # The line has no value during the outage of both directions. It has a value at the end of this
    # outage.
    assert np.isnan(ms[t == 2]).any()
    assert not np.any((t > 2) & (t < 4))
    assert ms[t == 4][-1] == 20
    Path(tmp_path, "sky.toml").write_text(timeline.to_toml())
    assert netspurt("timeline", "sky.toml", "--plot", "sky.png").stdout == "sky.png\n"
    assert (tmp_path / "sky.png").read_bytes().startswith(b"\x89PNG")
    result = netspurt("timeline", "sky.toml", "--plot", "sky.csv")
    refused(result, "the name of a plot's file must end in .png, .svg or .pdf")


def test_a_label_names_the_direction_of_a_one_way_outage() -> None:
    ms = 1_000_000
    forward = timelines.Way(outages=[timelines.Outage(1000 * ms, 2000 * ms)])
    reverse = timelines.Way(outages=[timelines.Outage(2000 * ms, 2000 * ms)])
    timeline = timelines.Timeline("x", forward, reverse)
    assert dead_times(timeline) == [(1, 2, "forward"), (2, 3, ""), (3, 4, "reverse")]


def test_pictures_of_runs_shade_the_outages_of_their_links(
    netspurt: Command, tmp_path: Path
) -> None:
    changes = {
        "stop": "20 s",
        "record.tables": ["segments", "cwnd", "rto", "rtt", "drops", "queue"],
    }
    run = ns.load("handover-dead").replace(changes).run()
    for draw in (run.plot.time_sequence, run.plot.cwnd, run.plot.rto, run.plot.queue):
        legend = draw().axes[0].get_legend()
        assert legend is not None
        assert "link space dead" in [text.get_text() for text in legend.get_texts()]
    assert run.plot.path().axes[0].get_ylabel() == "delay [ms]"
    run.save(tmp_path / "dead")
    words = ["plot", "dead", "--kind", "path", "--out", "dead.png"]
    assert netspurt(*words).stdout == "dead.png\n"
    refused(
        netspurt(*words, "--link", "sky"),
        "no link that changes is called 'sky'; the links that change are space",
    )
    refused(netspurt(*words, "--flow", "transfer"), "does not apply to path plots")
    still = ns.new_scenario().replace({"stop": "1 s"}).run()
    with pytest.raises(ValueError, match="no link changes"):
        still.plot.path()
