"""Tests the values of timelines: units and bounds of tables, files read back, and directions.

A timeline is a list of the delays, rates or losses of a link, each with the time at which it
begins.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netspurt as ns
from netspurt.timelines import (
    Outage,
    Timeline,
    TimelineError,
    Way,
    delivered,
    follow,
    paired,
    read_followed,
    read_timeline,
)
from netspurt.timelines.directions import FORWARD, REVERSE, Directions, per_direction, split
from netspurt.timelines.heading import FileLine

#: The nanoseconds of a second and of a millisecond.
S, MS = 1_000_000_000, 1_000_000
#: The seconds of a week.
WEEK_S = 7 * 86_400


@given(st.integers(101, 300), st.data())
def test_a_caret_stands_below_the_error_even_in_a_long_line(
    length: int, data: st.DataObject
) -> None:
    text = "".join(chr(ord("a") + n % 26) for n in range(length))
    column = data.draw(st.integers(1, length))
    error = TimelineError("wrong", "write it", "x.csv", (7, column), text)
    message, arrow, shown, marks = str(error).split("\n")
    assert (message, arrow) == ("wrong", f"   --> x.csv:7:{column}")
    assert shown[marks.index("^")] == text[column - 1]
    assert shown[5:] in text
    assert len(shown) <= 5 + 100
    assert (error.line, error.column) == (7, column)


def test_an_error_hides_control_characters_and_may_concern_the_whole_file() -> None:
    place = str(TimelineError("wrong", "fix", "x", (1, 2), "a\x1b\tb", 9))
    assert place.splitlines()[2:] == [" 1 | a??b", "   |  ^^^^ fix"]
    whole = TimelineError("wrong", "fix", "x")
    assert str(whole) == "wrong\n   --> x\n    = fix"
    assert (whole.line, whole.column) == (None, None)


def test_a_cell_is_read_with_its_column_and_without_the_blanks_and_quotes_around_it() -> None:
    line = '  t_s ,"delay_ms",, \t" x "'
    cells = [(cell.text, cell.column) for cell in FileLine("f", 1, line).cells()]
    assert cells == [("t_s", 3), ("delay_ms", 8), ("", 19), ("x", 22)]


def sheet(folder: Path, text: str, **how: Any) -> Timeline:
    """Write a text to a file; return the timeline that is read from it."""
    file = folder / "sheet"
    file.write_bytes(text.encode())
    return read_timeline(file, **how)


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        ("delay_s", "0.25", 250 * MS),
        ("delay_ms", "0.5", 500_000),
        ("delay_us", "1.5", 1500),
        ("delay_ns", "7", 7),
        # A round trip is two delays.
        ("rtt_s", "0.25", 125 * MS),
        ("rtt_ms", "1", 500_000),
        ("rtt_us", "3", 1500),
        ("rtt_ns", "8", 4),
        ("delay_s", str(WEEK_S), WEEK_S * S),
        ("rate_bps", "1", 1),
        ("rate_kbps", "1.5", 1500),
        ("rate_mbps", "2.5", 2_500_000),
        ("rate_mbps", "1e9", 10**15),
        ("loss", "1", 1.0),
        ("loss", "0.125", 0.125),
    ],
)
def test_the_name_of_a_column_gives_the_unit_of_its_values(
    tmp_path: Path, column: str, text: str, value: float
) -> None:
    read = sheet(tmp_path, f"t_s,{column}\n0,{text}\n").forward
    assert [*read.delay, *read.rate, *cast(Any, read.loss)] == [(0, value)]


@pytest.mark.parametrize(
    ("column", "text", "at_ns"),
    [
        ("t_s", "0.1", 100 * MS),
        # A float of 64 bits holds this instant [s] only to the nearest 2 ns.
        ("t_s", "12345678.123456789", 12_345_678_123_456_789),
        ("t_ms", "1.5", 1_500_000),
        ("t_us", "2", 2000),
        ("t_ns", "3", 3),
    ],
)
def test_instants_are_exact_in_every_unit(
    tmp_path: Path, column: str, text: str, at_ns: int
) -> None:
    read = sheet(tmp_path, f"{column},delay_ns\n{text},1\n")
    assert read.forward.delay == [(at_ns, 1)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t_s,t_ms,loss\n1,2,0\n", "this is a second column of instants"),
        ("t_s,speed_of_light\n1,2\n", "the ending _forward or _reverse stands for one direction"),
        ("t_s,rtt_ms_forward\n1,2\n", "there is no column 'rtt_ms_forward'"),
        ("t_s,Delay_MS\n1,2\n", "did you mean delay_ms?"),
        ("t_s\tdelay_ms\n1\t2\n", "separate the cells by commas, not by tabs"),
        ("t_s,delay_ms,delay_s_reverse\n1,2,3\n", "delay_s_reverse and delay_ms set the same"),
        ("t_s,rate_bps_reverse\n1,2\n", "add rate_bps_forward, or rename the column to rate_bps"),
        ("t_s,delay_ms\n31536001,1\n1031536001.1,2\n", "is more than 31 years after the start"),
        ("t_s,delay_ms\n1,1e31\n", "1e31 is too large"),
        (f"t_s,delay_s\n1,{WEEK_S}.000000001\n", "write a delay of at most a week"),
        ("t_s,rate_bps\n1,-1\n", "or 0 for an outage in which packets wait"),
        ("t_s,rate_mbps\n1,1000000001\n", "write a rate of at most 1 Pbit/s"),
        ("t_s,loss\n1,-0.1\n", "-0.1 is out of range for loss"),
        ("t_s,delay_ms,outage\n1,2,yes\n2,3,1\n", "the outage in the last row has no end"),
        ("t_s,delay_ms\n1,٣\n", "'٣' is not a number"),
        ("# nothing\n", "the file has no keys"),
        ("delay = '5 bit/s'\n", "'5 bit/s' is not a delay"),
        ("rate = { timeline = [['1 B', '1 Mbit/s']] }\n", "'1 B' is not an instant"),
        ("loss = { probability = 'x' }\n", "this value is not possible for a link (could not"),
        ('order = "fifo"\n["spee\\u0064"]\n', "'speed' is not a key of a timeline\n   --> "),
    ],
)
def test_a_mistake_in_a_file_is_refused_with_the_fix(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(TimelineError) as error:
        sheet(tmp_path, text)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("delay = '1 ms'\nde = 1\n", (2, 1)),
        ("[ duplicate ]\nprobability = 0\n[ dup.x ]\n", (3, 3)),
        ("[[handovers]]\nat = '1 s'\n[[ 'handover' ]]\n", (3, 5)),
        ("'loss' = 'none'\n \"los\"=1\n", (2, 3)),
        ("loss.probability = 0\nlos.x = 1\n", (2, 1)),
        ("order = 'fifo'\n[order-x]\n", (2, 2)),
    ],
)
def test_an_error_never_shows_a_different_key_with_the_same_beginning(
    text: str, place: tuple[int, int]
) -> None:
    with pytest.raises(TimelineError) as error:
        read_followed(text, "x")
    assert (error.value.line, error.value.column) == place


def test_an_outage_of_no_duration_is_left_out_and_packets_wait_in_the_queue_at_rate_zero(
    tmp_path: Path,
) -> None:
    text = "t_s,rate_bps,outage\n0,5,0\n1,5,1\n1,5,0\n2,0,0\n3,0,TRUE\n5,5,No\n"
    outages = [Outage(2 * S, S, "queue"), Outage(3 * S, 2 * S, "drop")]
    assert sheet(tmp_path, text).forward.outages == outages


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r", "\n\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_kind_of_line_end_and_a_byte_order_mark_are_read(
    tmp_path: Path, ends: str, mark: str
) -> None:
    assert sheet(tmp_path, f"{mark}t_s,loss{ends}1,0.5{ends}").forward.loss == [(S, 0.5)]


def test_a_format_can_be_named_and_unknown_formats_and_invalid_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sheet(tmp_path, "5,6\n", format_="hypatia").forward.delay == [(5, 3)]
    with pytest.raises(TimelineError, match="the table has no names of columns"):
        sheet(tmp_path, "5,6\n", format_="csv")
    with pytest.raises(ValueError, match=r"`ns3` is not a format .* csv, hypatia, mahimahi, toml"):
        sheet(tmp_path, "5,6\n", format_="ns3")
    (tmp_path / "binary").write_bytes(b"\xff\xfe1")
    with pytest.raises(TimelineError, match="this is not a text file"):
        read_timeline(tmp_path / "binary")
    monkeypatch.setattr("netspurt.timelines.files.POINTS_MAX", 3)
    assert sheet(tmp_path, "1\n2\n3\n").forward.opportunities == [MS, 2 * MS, 3 * MS]
    with pytest.raises(TimelineError, match="the file has 4 lines"):
        sheet(tmp_path, "1\n2\n3\n4\n")


def test_files_of_two_directions_become_one_link() -> None:
    up = Timeline("up", Way(rate=[(0, 8)]), notes=["slow"])
    down = Timeline("down", Way(rate=[(0, 9)]), notes=["fast"])
    both = paired(up, down)
    assert (both.forward, both.reverse) == (up.forward, down.forward)
    assert both.name == "up, and in reverse down"
    assert both.notes == ["up: slow", "down: fast"]
    assert paired(up, replace(up, name="copy")).reverse is None
    trace = Timeline("trace", Way(opportunities=[5]))
    assert paired(up, trace).reverse == trace.forward, "a trace must count as a rate"
    rough = paired(up, replace(down, order="overtaking", duplicates=0.02))
    assert (rough.order, rough.duplicates) == ("overtaking", 0.01)
    assert [note.split()[0] for note in rough.notes] == ["up:", "down:", "packets", "both"]
    with pytest.raises(ValueError, match="up has `between` = 'step', and down has 'linear', but"):
        paired(up, replace(down, between="linear"))
    with pytest.raises(ValueError, match="up, and in reverse down has both directions already"):
        paired(up, both)
    with pytest.raises(ValueError, match="up has a rate, and still has none: add one"):
        paired(Timeline("still", Way()), up)


@st.composite
def ways(draw: st.DrawFn, instants: list[int]) -> Way:
    """Draw the values of a direction; its outages do not overlap."""

    def steps(values: st.SearchStrategy[Any]) -> list[tuple[int, Any]]:
        return [(at, draw(values)) for at in instants]

    probability = st.integers(0, 1000).map(lambda n: n / 1000)
    delay = steps(st.integers(0, 10**12))
    edges = sorted(draw(st.lists(st.integers(0, 10**13), max_size=4, unique=True)))
    spans = zip(edges[::2], edges[1::2], strict=False)
    outages = [Outage(a, b - a, draw(st.sampled_from(["drop", "queue"]))) for a, b in spans]
    way = Way(delay=delay, outages=outages)
    if draw(st.booleans()):
        way = replace(way, rate=steps(st.integers(1, 10**12)))
    else:
        way = replace(way, opportunities=sorted(draw(st.lists(st.integers(1, 10**12)))))
    which = draw(st.sampled_from(["none", "constant", "steps", "bits"]))
    if which == "constant":
        return replace(way, loss=draw(probability))
    if which == "steps":
        return replace(way, loss=steps(probability))
    return replace(way, bit_errors=steps(probability)) if which == "bits" else way


def plain(way: Way) -> dict[str, Any]:
    """Return the values of a direction, without a loss with the probability 0."""
    loss: Any = way.loss
    loss = [] if loss == 0 else loss
    lists = {**vars(way), "loss": [loss] if isinstance(loss, float) else loss}
    return {name: list(values) for name, values in lists.items()}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=3, unique=True), st.data())
def test_a_timeline_is_read_back_from_its_file(instants: list[int], data: st.DataObject) -> None:
    own = ways(sorted(instants))
    written = Timeline(
        "x",
        data.draw(own),
        data.draw(st.one_of(st.none(), own)),
        between=data.draw(st.sampled_from(["step", "linear"])),
        order=data.draw(st.sampled_from(["fifo", "overtaking"])),
        duplicates=data.draw(st.integers(0, 100)) / 100,
    )
    read = read_followed(written.to_toml(), "x")
    both = [plain(way) for way in written.ways]
    assert [plain(way) for way in read.ways] == both[: 1 + (both[0] != both[-1])]
    for name in ("between", "order", "duplicates"):
        assert getattr(read, name) == getattr(written, name)


def test_a_link_that_duplicates_every_packet_is_read_back() -> None:
    always = Timeline("x", Way(delay=[(0, MS)]), duplicates=1.0)
    assert read_followed(always.to_toml(), "x").duplicates == 1.0


def test_steps_become_vertical_lines_if_another_value_of_the_link_changes_linearly() -> None:
    text = """
        delay = { timeline = [["0 s", "5 ms"], ["2 s", "9 ms"], ["3 s", "1 ms"]] }
        loss = { probability = { between = "linear", timeline = [["0 s", 0.5], ["1 s", 0]] } }
    """
    read = read_followed(text, "x")
    assert read.between == "linear"
    steps = [(0, 5), (2, 5), (2, 9), (3, 9), (3, 1)]
    assert read.forward.delay == [(at * S, ms * MS) for at, ms in steps]
    assert read.forward.loss == [(0, 0.5), (S, 0.0)]


def test_a_direction_without_a_delay_is_read_back_with_a_delay_of_zero() -> None:
    one_way = Timeline("x\n", Way(delay=[(0, 5 * MS)], rate=[(0, 7)]), Way(loss=0.25))
    read = read_followed(one_way.to_toml(), "x")
    assert read.reverse == Way(delay=[(0, 0)], rate=[], loss=0.25, outages=[])
    assert one_way.to_toml().startswith("# From x?.\n")


def test_a_timeline_ends_with_the_latest_outage_of_either_direction() -> None:
    one, two, three = Outage(5, 1), Outage(3, 9), Outage(7, 2)
    apart = Timeline("x", Way(outages=[one, three]), Way(outages=[two], delay=[(11, 1)]))
    assert apart.outages() == [(two, "reverse"), (one, "forward"), (three, "forward")]
    assert apart.end_ns == 12
    alike = Timeline("x", Way(outages=[one]), Way(outages=(one,), loss=0.5))
    assert alike.outages() == [(one, "")]
    assert Timeline("x").end_ns == 0
    assert Timeline("x", Way(opportunities=[4, 8])).end_ns == 8


def test_the_loss_of_a_round_trip_is_divided_between_both_directions() -> None:
    # If each direction loses a tenth, 1 - 0.9² of all round trips are lost.
    assert per_direction(0.19, 2) == pytest.approx(0.1)
    assert per_direction(0.3, 1) == pytest.approx(0.3)
    assert (per_direction(0.0, 2), per_direction(7.0, 2)) == (0.0, 1.0)


#: The delay of a lost probe.
NAN = float("nan")


@pytest.mark.parametrize(
    ("lost_direction", "one_way", "expected"),
    [
        # Of 10 probes, one was lost forward, and 3 of the other 9 in reverse.
        ([FORWARD, REVERSE, REVERSE, REVERSE], False, (0.1, 3 / 9)),
        ([FORWARD, REVERSE, REVERSE, 0], False, (per_direction(0.4, 2),) * 2),
        ([0, 0, 0, 0], True, (0.4, 0.0)),
    ],
)
def test_losses_count_for_their_direction_or_are_divided_if_a_direction_is_unknown(
    lost_direction: list[int], one_way: bool, expected: tuple[float, float]
) -> None:
    forward = np.array([NAN] * 4 + [0.1] * 6)
    ways_of = np.array(lost_direction + [0] * 6, dtype=np.uint8)
    directions = Directions(forward, None if one_way else forward, ways_of)
    assert directions.losses(np.ones(10, dtype=bool)) == pytest.approx(expected)
    assert directions.losses(np.zeros(10, dtype=bool)) == (0.0, 0.0)
    assert directions.losses(np.arange(10) >= 4) == (0.0, 0.0)


def recording(rtt: list[float], forward: list[float], measure: str = "round-trip") -> ns.Delays:
    """Return a recording with these round trips and these forward delays [s]."""
    known = {"rtt_s": np.array(rtt), "forward_s": np.array(forward), "measure": measure}
    return cast(ns.Delays, SimpleNamespace(**known, lost_direction=np.zeros(len(rtt), np.uint8)))


@pytest.mark.parametrize(
    ("forward_ms", "expected_ms", "measured", "says"),
    [
        # The round trips are 40, 60 and 50 ms.
        ([10, 20, 30], [10, 20, 30], True, "at least 10 ms forward and 20 ms in reverse"),
        ([-10, 5, 0], [20, 35, 30], True, "clocks of both ends differ by about 30 ms"),
        ([50, 65, 60], [20, 35, 30], True, "clocks of both ends differ by about 30 ms"),
        ([-10, 61, 0], [20, 30, 25], False, "the difference between the clocks of both ends chan"),
        ([10, NAN, 30], [20, 30, 25], False, None),
    ],
)
def test_round_trips_are_divided_by_the_clocks_of_both_ends_or_into_halves(
    forward_ms: list[float], expected_ms: list[float], measured: bool, says: str | None
) -> None:
    rtt = [0.04, 0.06, 0.05, NAN]
    found = split(recording(rtt, [1e-3 * ms for ms in [*forward_ms, 5]]))
    assert found.reverse is not None
    np.testing.assert_allclose(found.forward, [1e-3 * ms for ms in expected_ms] + [NAN])
    np.testing.assert_allclose(found.forward + found.reverse, rtt)
    assert found.measured == measured
    assert len(found.notes) == (says is not None)
    assert says is None or says in found.notes[0]


def test_delays_of_one_direction_have_no_reverse_and_smoothed_delays_are_refused(
    tmp_path: Path,
) -> None:
    file = tmp_path / "one.csv"
    file.write_text("order,measure,probe,sent_ns,rtt_ns\n" + "".join(
        f"causal,one-way,{n},{n}000000000,{'' if n == 2 else 30 * MS}\n" for n in range(5)
    ))  # fmt: skip
    (one_way,) = ns.read_delays(file)
    moves = follow(one_way)
    assert (moves.forward.delay, moves.reverse) == ([(0, 30 * MS)], None)
    assert moves.forward.loss == pytest.approx(0.2)
    file.write_text(file.read_text().replace("one-way", "smoothed"))
    (smoothed,) = ns.read_delays(file)
    with pytest.raises(ValueError, match="has smoothed delays, and no packet had such a delay"):
        follow(smoothed)


def test_a_timeline_with_too_many_points_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netspurt.timelines.recorded.POINTS_MAX", 3)
    monkeypatch.setattr("netspurt.timelines.traces.POINTS_MAX", 3)
    assert len(follow(ns.Delays.of([0.1, 0.2, 0.3, None], every=1.0)).forward.delay) == 3
    with pytest.raises(ValueError, match="has 4 delays, and a timeline can have at most 3 points"):
        follow(ns.Delays.of([0.1, 0.2, 0.3, 0.4], every=1.0))
    assert len(delivered("x", range(4), [1500] * 4).forward.opportunities) == 3
    with pytest.raises(ValueError, match="x has 4 opportunities, and at most 3 are allowed"):
        delivered("x", range(5), [1500] * 5)


def test_a_file_with_too_many_octets_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "path.csv"
    file.write_text("t_s,delay_ms\n0,10\n1,20\n")
    assert len(read_timeline(file).forward.delay) == 2
    monkeypatch.setattr("netspurt.timelines.files._OCTETS_MAX", 20)
    with pytest.raises(TimelineError, match="more than 20 octets"):
        read_timeline(file)
