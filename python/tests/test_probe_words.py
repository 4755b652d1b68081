"""Tests what `netspurt probe` prints: lines of its data file, its screen, hops, conclusions.

A shadow is a timer that gets the delays of the probes, but does not influence the probes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt import _core
from netspurt.cli.probing import (
    _heading,
    _hop_data,
    _hop_table,
    _meaning,
    _returned,
    _shown,
    _shown_line,
    _table_row,
    screen_lines,
)
from netspurt.estimators import estimator
from netspurt.probe import Hop, Plan, Shadow, Watch, hops_of
from netspurt.probe_lines import EchoProbeLine, HeaderLine, HopLine, Line, NoNoise, read_line
from netspurt.typed import TypedError

from conftest import ROOT, Command

#: The nanoseconds of a millisecond.
MS = 1_000_000


def header(**changes: Any) -> HeaderLine:
    """Return the first line of data/probe.jsonl, with changes."""
    found = read_line((ROOT / "data" / "probe.jsonl").read_text().partition("\n")[0])
    assert isinstance(found, HeaderLine)
    return replace(found, **changes)


def echo_probe(number: int, rtt_ns: int | None, **more: Any) -> EchoProbeLine:
    """Return an echo probe of 64 octets that left after `number` seconds."""
    lost = rtt_ns is None
    return EchoProbeLine(number, 64, number * 10**9, 0, lost=lost, rtt_ns=rtt_ns or 0, **more)


def late(number: int, rtt_ns: int) -> Line:
    """Return the line of an answer that came after the probe's give-up time."""
    stamps = {"rtt_ns": rtt_ns, "by": "kernel", "user_rtt_ns": rtt_ns, "user_rx_ns": 0}
    return read_line(json.dumps({"late": number, **stamps}))


def after(*lines: Line, estimators: tuple[str, ...] = ()) -> Watch:
    """Return the state of a run after these lines of a data file."""
    watch = Watch([Shadow(name) for name in estimators])
    for line in lines:
        watch.take(line)
    return watch


# The lines of a data file.


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            echo_probe(3, 25 * MS, by="kernel", user_rtt_ns=25 * MS + 40_000, ttl=64),
            "     3     64 B      25 ms  ttl 64  this host adds 40 µs",
        ),
        (
            echo_probe(3, 25 * MS, by="user", user_rtt_ns=25 * MS),
            "     3     64 B      25 ms  by the program's timestamps",
        ),
        (echo_probe(12, None), "    12     64 B  lost"),
        (
            echo_probe(12, None, why="port unreachable, says 10.0.0.2"),
            "    12     64 B  lost, port unreachable, says 10.0.0.2",
        ),
        (late(7, 31 * 10**9), "     7  late, after 31 s"),
        (
            read_line(json.dumps({"clock_step_ns": -1_500_000, "before": 4})),
            "the machine's clock was set by -0.001500 s",
        ),
        (header(file="probe-002.jsonl"), "probe-002.jsonl"),
    ],
)
def test_a_line_of_a_data_file_is_printed_in_words(line: Line, told: str) -> None:
    assert _shown_line(line) == [told]


def test_no_line_is_printed_about_a_hop_or_an_end_or_about_a_header_that_names_no_file() -> None:
    end = read_line('{"end": "complete", "echo_probes": 3}')
    assert _shown_line(end) == _shown_line(HopLine(1, 1, 60, 0)) == []
    assert _shown_line(header(file=None)) == []


def test_a_line_of_an_unknown_kind_is_refused() -> None:
    for text in ('{"before": 7}', "[1]", "7", '"end"'):
        with pytest.raises(TypedError, match="not a line of a probe's file"):
            read_line(text)


def test_the_heading_names_the_host_the_path_and_the_noise_of_the_machine() -> None:
    assert list(_heading(header())) == [
        "10.89.0.2: ICMP echo, raw socket, lengths rfc889, seed 889",
        "from 10.89.0.1 by eth0, MTU 1500",
        "noise floor, the delay of this machine over loopback: by the kernel's timestamps 2.343 µs "
        "median, 3.655 µs 99 %, 204.5 µs longest; by the program's timestamps 9.198 µs median, "
        "18.88 µs 99 %, 225.3 µs longest",
        "probe.jsonl",
    ]


def test_the_heading_names_host_port_and_gateway_and_says_why_the_noise_floor_is_unknown() -> None:
    path = replace(header().path, device=None, gateway="10.89.0.254", mtu=1280)
    about = header(
        host="far.example",
        port=7,
        lengths={"rule": "uniform", "low": 40, "high": 256},
        path=path,
        noise=NoNoise("no socket"),
        file=None,
    )
    assert list(_heading(about)) == [
        "far.example (10.89.0.2) port 7: ICMP echo, raw socket, lengths uniform 40 256, seed 889",
        "from 10.89.0.1 over 10.89.0.254, MTU 1280",
        "noise floor: not known, no socket",
    ]
    assert len(list(_heading(replace(about, noise=None)))) == 2


def test_the_programs_timestamps_give_the_noise_floor_if_the_kernel_has_none() -> None:
    noise: Any = header().noise
    without = header(noise=replace(noise, kernel=replace(noise.kernel, count=0)))
    (told,) = (text for text in _heading(without) if text.startswith("noise"))
    assert told.startswith("noise floor, the delay of this machine over loopback: by the program")
    assert "kernel" not in told


@pytest.mark.parametrize(("quiet", "verbose", "lines"), [(1, 0, 0), (0, 0, 4), (0, 1, 6)])
def test_echo_probes_are_printed_only_if_the_user_asks_for_them(
    quiet: int, verbose: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    about = header()
    watch = after(about)
    with _shown(Plan("host"), quiet=bool(quiet), verbose=bool(verbose)) as show:
        for line in (about, echo_probe(1, MS), late(1, 2 * MS)):
            show(line, watch)
    assert len(capsys.readouterr().out.splitlines()) == lines


# The state of a run.


def test_the_screen_counts_a_late_echo_probe_as_late_and_not_as_lost() -> None:
    lines = [echo_probe(1, 20 * MS), echo_probe(2, None), echo_probe(3, None), late(2, 10**9)]
    watch = after(*lines)
    told = screen_lines(Plan("host", count=9), watch, [], 80, 24)
    assert "3 of 9 echo probes, 1 lost, 1 late, 0 duplicates" in told
    assert sum(watch.histogram.bins.values()) == 2, "the late answer must count, too"


def test_the_screen_of_an_endless_probe_names_no_total() -> None:
    told = screen_lines(Plan("host", count=None), after(echo_probe(1, MS)), [], 80, 24)
    assert "1 echo probe, 0 lost, 0 late, 0 duplicates" in told


def test_a_continued_file_does_not_end_the_run() -> None:
    first, second = header(file="a-001.jsonl"), header(file="a-002.jsonl", seed=5, part=2)
    watch = after(first, read_line('{"end": "continued", "next": "a-002.jsonl"}'), second)
    assert watch.end is None
    assert watch.header is first
    assert watch.files == ["a-001.jsonl", "a-002.jsonl"]
    watch.take(read_line('{"end": "interrupted"}'))
    assert watch.end == "interrupted"


@given(
    st.lists(st.one_of(st.none(), st.integers(1, 3 * 10**9)), min_size=1, max_size=12),
    st.sampled_from(["rfc6298", "mills", "rfc793"]),
)
@settings(max_examples=25, deadline=None)
def test_the_sums_of_a_shadow_timer_equal_those_of_its_estimator_alone(
    rtts: list[int | None], name: str
) -> None:
    (shadow,) = after(
        *(echo_probe(n, rtt) for n, rtt in enumerate(rtts)), estimators=(name,)
    ).shadows
    alone = estimator(name)
    good = waited = early = 0.0
    for number, rtt_ns in enumerate(rtts):
        if rtt_ns is None:
            waited += alone.rto()
            continue
        rtt = rtt_ns / 1e9
        good += rtt
        early += rtt if rtt > alone.rto() else 0.0
        alone.on_sample(_core.Sample(rtt, at=number + rtt, sent=float(number), wire_bytes=64))
    assert shadow.good == pytest.approx(good)
    assert shadow.waited == pytest.approx(waited)
    assert shadow.spurious_time == pytest.approx(early)
    assert shadow.lost == rtts.count(None)
    assert shadow.timer == pytest.approx(alone.rto())
    assert shadow.efficiency == pytest.approx(good / (good + waited + early))


def test_a_timer_without_probes_has_no_efficiency() -> None:
    watch = after(estimators=("rfc6298",))
    assert math.isnan(watch.shadows[0].efficiency)
    rows = [line for line in screen_lines(Plan("h"), watch, [], 80, 24) if "rfc6298" in line]
    # RFC 6298 §2.1: until the first measurement, the RTO is 1 s.
    assert rows[0].split() == ["rfc6298", "1", "s", "0", "-"]


# Hops.


def hop(number: int, *rtts_ms: float | None, at: str | None = "10.0.0.1") -> list[HopLine]:
    """Return the lines of a hop's probes with these round trips [ms]; `None` is a lost probe."""
    return [
        HopLine(number, n, 60, 0, lost=rtt is None, rtt_ns=round((rtt or 0) * MS), from_=at)
        for n, rtt in enumerate(rtts_ms)
    ]


def test_the_added_delay_counts_from_the_last_hop_that_answered() -> None:
    lines = [
        *hop(3, 9.0, 7.0, 30.0, at="10.0.0.3"),
        *hop(1, 2.0, None, at="10.0.0.1"),
        *hop(2, None, None, at=None),
    ]
    first, silent, last = hops_of(after(*lines))
    assert (first.number, first.sent, first.answered) == (1, 2, 1)
    assert (first.least, first.adds) == (0.002, 0.002)
    assert (silent.names, silent.answered) == ((), 0)
    assert all(map(math.isnan, (silent.least, silent.median, silent.adds)))
    assert (last.least, last.median) == (0.007, 0.009)
    assert last.adds == pytest.approx(0.005)


def test_a_hop_with_two_routers_names_each_router_once() -> None:
    lines = [*hop(1, 1.0, at="a"), *hop(1, 2.0, at="b"), *hop(1, 3.0, at="a")]
    (only,) = hops_of(after(*lines))
    assert only.names == ("a", "b")
    assert only.median == 0.002


def test_the_table_of_hops_names_the_hop_that_adds_most() -> None:
    found = [
        Hop(1, ("a", "b"), 5, 5, 0.002, 0.003, 0.002),
        Hop(2, (), 5, 0, math.nan, math.nan, math.nan),
        Hop(3, ("c",), 5, 4, 0.010, 0.011, 0.008),
        # A router may answer more slowly than the host behind it.
        Hop(4, ("d",), 5, 5, 0.0095, 0.0095, -0.0005),
    ]
    _, head, *rows = _hop_table(found)
    columns = "hop  router or host  answered  least delay  median delay  added delay"
    assert head.split() == columns.split()
    cells = [row.split("  ") for row in rows]
    assert [cell.strip() for cell in cells[0] if cell] == [
        *("1", "a, b", "5/5", "2 ms", "3 ms", "2 ms")
    ]
    assert [cell.strip() for cell in cells[1] if cell] == ["2", "no answer", "0/5", *"---"]
    assert rows[3].endswith("0 ns"), "a hop that answers faster than the one before it must add 0"
    # The least round trip to the host is 9.5 ms. Hop 3 adds 8 ms of it.
    assert rows[4] == "hop 3 adds the largest part of the delay, 84 %"


def test_without_answers_no_hop_is_named_as_the_one_that_adds_most() -> None:
    silent = Hop(1, (), 5, 0, math.nan, math.nan, math.nan)
    assert len(list(_hop_table([silent]))) == 3
    assert _hop_data(silent) == {
        **{"hop": 1, "names": [], "sent": 5, "answered": 0},
        **dict.fromkeys(("least_s", "median_s", "adds_s")),
    }


@pytest.mark.parametrize(("answered", "status"), [(True, 0), (False, 1)])
@pytest.mark.parametrize("words", [(), ("--json",), ("-q",)])
def test_a_survey_exits_with_1_if_no_hop_answered(
    netspurt: Command,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    answered: bool,
    status: int,
) -> None:
    lines: list[Line] = [header(), *hop(1, 2.0 if answered else None)]

    def survey(plan: Plan, *, echo_probes: int, on_line: Callable[[Line, Watch], None]) -> Watch:
        # By default, `--hops` sends 5 probes to each hop, and a probe is lost after 2 s.
        assert (plan.timeout, echo_probes) == (2.0, 5)
        watch = after(*lines)
        for line in lines:
            on_line(watch.header if line is lines[0] and watch.header else line, watch)
        return watch

    monkeypatch.setattr("netspurt.probe.survey", survey)
    result = netspurt("probe", "10.89.0.2", "--hops", *words)
    assert result.returncode == status
    if words == ("--json",):
        told = json.loads(result.stdout)
        assert told["hops"][0]["answered"] == int(answered)
        assert told["header"]["seed"] == 889
    else:
        assert ("noise floor" in result.stdout) == (words == ())
        assert f"{int(answered)}/1" in result.stdout


# What the results mean.


def about(name: str, spurious: int = 0, lost: int = 0, waited_s: float = 0.0) -> dict[str, Any]:
    """Return the results of a timer."""
    return {"estimator": name, "spurious": spurious, "lost": lost, "waited_s": waited_s}


def test_sentences_on_timers_give_spurious_counts_and_the_shortest_and_longest_mean_waits() -> None:
    algorithms = [about("one", 0, 2, 4.0), about("two", 3, 4, 2.0), about("six", 1000, 4, 2.4)]
    early, wait = _meaning(after(header()), algorithms)
    assert early == (
        "Timers that would have retransmitted although the reply came, and how often: two 3, "
        "six 1,000; one: never."
    )
    assert wait == (
        "On average two would have waited the shortest time for a lost probe, 500 ms, and one the "
        "longest time, 2 s."
    )
    _, wait = _meaning(after(header()), algorithms[:1])
    assert wait == "On average one would have waited 2 s for a lost probe."


def test_without_losses_and_spurious_retransmissions_there_are_two_sentences() -> None:
    assert list(_meaning(after(header()), [about("a"), about("b")])) == [
        "No timer in the table would have retransmitted spuriously.",
        "No probe was lost, so no timer had to wait for a loss.",
    ]
    assert list(_meaning(after(header()), [])) == []


@pytest.mark.parametrize(
    ("kind", "answer", "advice"),
    [("udp", None, True), ("udp", MS, False), ("icmp", None, False), ("tcp", None, False)],
)
def test_an_echo_server_is_recommended_only_if_no_udp_probe_was_answered(
    kind: str, answer: int | None, advice: bool
) -> None:
    lost = [echo_probe(n, None, why="port unreachable, says 10.89.0.2") for n in (1, 2)]
    elsewhere = echo_probe(3, None, why="host unreachable, says 10.89.0.9")
    told = list(
        _returned(after(header(kind=kind, port=9), *lost, elsewhere, echo_probe(4, answer)))
    )
    assert told[:2] == [
        "2 lost probes: port unreachable, says 10.89.0.2",
        "1 lost probe: host unreachable, says 10.89.0.9",
    ]
    assert ("`netspurt serve echo --port 9 --address 10.89.0.2`" in " ".join(told[2:])) == advice


def test_the_row_of_a_timer_has_whole_round_trips() -> None:
    algorithm = {
        **{"estimator": "mills", "spurious": 6, "mean_timer_s": {"value": 0.25}},
        **{"waited_per_loss_s": 0.3, "efficiency": 0.71},
    }
    assert _table_row(algorithm) == ["mills", "6", "250 ms", "300 ms", "0.710"]
    unknown = algorithm | {"waited_per_loss_s": None, "efficiency": None}
    assert _table_row(unknown)[3:] == ["-", "-"]
