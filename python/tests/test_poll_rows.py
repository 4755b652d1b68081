"""Tests polls without a network, and how captures from two points are matched.

A poll fetches pages from sites at a fixed interval and writes a row about each fetch. `netspurt
match` finds the segments that both captures have.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt import poll as polling
from netspurt.cli.polling import _line, _matches, _names, _span, _summary, _swapped
from netspurt.matched import CutCapture, MatchedConnection, cut_off, match
from netspurt.poll import Catalogue, Site, fetch_and_measure, handshake
from netspurt.poll import poll as run
from netspurt.worker import ProbeError

from conftest import Command, refused
from made_up_captures import ACK, SYN, SYN_ACK, MadeUp, made_up


@pytest.mark.parametrize(
    ("url", "host", "secure", "port", "page"),
    [
        ("http://a.example", "a.example", False, 80, "/"),
        ("https://a.example/b/c?d=e&f", "a.example", True, 443, "/b/c?d=e&f"),
        ("https://a.example:8443?q", "a.example", True, 8443, "/?q"),
        ("http://[2001:db8::1]:8080/x#part", "2001:db8::1", False, 8080, "/x"),
    ],
)
def test_the_url_of_a_site_gives_its_host_its_port_and_its_page(
    url: str, host: str, secure: bool, port: int, page: str
) -> None:
    site = Site("a", url)
    assert (site.host, site.secure, site.port, site.page) == (host, secure, port, page)


# A poll.


class Clock:
    """Imitates a clock that advances only in sleeps and in fetches, by the length of each."""

    def __init__(self) -> None:
        self.now = 100.0
        self.started: list[tuple[str, int, float]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds

    def fetching(self, takes: Callable[[str, int], float]) -> Callable[..., dict[str, Any]]:
        """Return a fetch that takes `takes(site, number)` seconds and notes when it began."""

        def one(site: Site, number: int, *_rest: object, **_more: object) -> dict[str, Any]:
            self.started.append((site.name, number, self.now - 100))
            self.now += takes(site.name, number)
            return {"site": site.name, "number": number}

        return one


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give polls a clock that a test controls."""
    made = Clock()
    monkeypatch.setattr(polling, "time", made)
    return made


#: Three sites with an address.
SITES = tuple(Site(name, f"http://{name}.example/", "192.0.2.1") for name in "abc")


def test_fetches_of_the_sites_are_spread_evenly_over_the_interval(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(polling, "fetch_and_measure", clock.fetching(lambda *_: 1.0))
    rows: list[dict[str, Any]] = []
    count = run(Catalogue(SITES, every=30), tmp_path / "p", rounds=2, on_row=rows.append)
    assert count == 6
    # Every site is fetched every 30 s, 10 s after the site before it.
    assert clock.started == [
        *[("a", 1, 0), ("b", 1, 10), ("c", 1, 20)],
        *[("a", 2, 30), ("b", 2, 40), ("c", 2, 50)],
    ]
    written = (tmp_path / "p" / "fetches.jsonl").read_text().splitlines()
    assert [json.loads(text) for text in written] == rows


def test_a_slow_fetch_delays_the_next_one_and_not_the_schedule(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = clock.fetching(lambda name, number: 25.0 if (name, number) == ("a", 1) else 1.0)
    monkeypatch.setattr(polling, "fetch_and_measure", slow)
    run(Catalogue(SITES, every=30), tmp_path / "p", rounds=2)
    assert [at for _, _, at in clock.started] == [0, 25, 26, 30, 40, 50]


def test_a_folder_that_exists_is_not_written_into(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        run(Catalogue(SITES), tmp_path, rounds=1)
    assert list(tmp_path.iterdir()) == []


def test_an_endless_poll_keeps_its_rows_at_an_interrupt(
    netspurt: Command, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text('[sites.a]\nurl = "http://a/"\naddress = "192.0.2.1"\n')
    own = clock.fetching(lambda *_: 1.0)

    def one(site: Site, number: int, *_rest: object, **_more: object) -> dict[str, Any]:
        if number == 3:
            raise KeyboardInterrupt
        return own(site, number) | {"failed": "TimeoutError: timed out", "tcp_rtt_s": None}

    monkeypatch.setattr(polling, "fetch_and_measure", one)
    result = netspurt("poll", "s.toml", "--every", "2 s", "--out", "p", "--json")
    # The status is 1 because no fetch was successful.
    assert result.returncode == 1
    told = json.loads(result.stdout)
    assert told["folder"] == "p"
    assert [row["number"] for row in told["fetches"]] == [1, 2]
    assert [at for _, _, at in clock.started] == [0, 2], (
        "--every must replace the catalogue's `every`"
    )


# A fetch.


def fetched(monkeypatch: pytest.MonkeyPatch, **row: Any) -> None:
    """Make every fetch return this row."""
    monkeypatch.setattr(polling, "fetch", lambda *_: dict(row))


def test_the_ratio_without_a_capture_uses_the_minimum_round_trips(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = Site("a", "http://a/", "192.0.2.1", "192.0.2.1")
    fetched(monkeypatch, min_rtt_s=0.03)
    monkeypatch.setattr(polling, "_pings", lambda *_: {"ping_rtt_s": 0.02})
    row = fetch_and_measure(site, 7, tmp_path, Catalogue((site,)), captures=False)
    assert (row["number"], row["tcp_rtt_s"]) == (7, 0.03)
    assert row["ratio"] == pytest.approx(1.5)
    without = Catalogue((site,), pings=0)
    assert "ratio" not in fetch_and_measure(site, 7, tmp_path, without, captures=False)
    fetched(monkeypatch, failed="TimeoutError: timed out")
    row = fetch_and_measure(site, 7, tmp_path, Catalogue((site,)), captures=False)
    assert row["tcp_rtt_s"] is None
    assert "ratio" not in row


def test_an_unsent_echo_probe_gets_a_note_and_raises_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = Site("a", "http://a/", "192.0.2.1", "192.0.2.9")
    plans = []

    def forbidden(plan: ns.probe.Plan) -> None:
        plans.append(plan)
        raise ProbeError("no right to raw sockets")

    fetched(monkeypatch, min_rtt_s=0.03)
    monkeypatch.setattr(polling, "run", forbidden)
    catalogue = Catalogue((site,), timeout=30.0, pings=3)
    row = fetch_and_measure(site, 7, tmp_path, catalogue, captures=False)
    assert row["ping_failed"] == "no right to raw sockets"
    (plan,) = plans
    # An echo probe is as long as a SYN with options. Its give-up time is that of a page, but at
    # most 2 s.
    assert (plan.host, plan.count, plan.timeout) == ("192.0.2.9", 3, 2.0)
    assert plan.lengths.order() == {"rule": "fixed", "octets": 60}
    assert fetch_and_measure(site, 7, tmp_path, replace(catalogue, timeout=0.5), captures=False)
    assert plans[1].timeout == 0.5


#: The packets of a client on port 4000 and a server. The round trip is 40 ms. The client sends
#: 500 octets, and the server 900.
EXCHANGE: list[MadeUp] = [
    (0.00, 0, 0, 0, SYN, 60_000, 0),
    (0.04, 1, 0, 1, SYN_ACK, 60_000, 0),
    (0.04, 0, 1, 1, ACK, 60_000, 0),
    (0.05, 0, 1, 1, ACK, 60_000, 500),
    (0.10, 1, 1, 501, ACK, 60_000, 900),
]


def written(file: Path, packets: list[MadeUp]) -> Path:
    """Write a capture of these packets."""
    file.write_bytes(made_up(packets))
    return file


def test_the_handshake_of_a_fetch_is_found_by_its_local_port(tmp_path: Path) -> None:
    file = written(tmp_path / "a.pcap", EXCHANGE)
    assert handshake(file, {"local_port": 4000}) == pytest.approx(0.04)
    assert handshake(file, {"local_port": 400}) is None
    assert handshake(file, {}) is None
    (tmp_path / "empty").write_bytes(b"")
    assert handshake(tmp_path / "empty", {"local_port": 4000}) is None


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"failed": "TimeoutError: timed out"}, "failed: TimeoutError: timed out"),
        (
            {"ping_rtt_s": 0.02, "ratio": 1.5},
            "200  20,000 B  1.234 s  TCP 30 ms  ping 20 ms  ratio 1.500",
        ),
        (
            {"ping_failed": "no raw sockets"},
            "200  20,000 B  1.234 s  TCP 30 ms  no ping: no raw sockets",
        ),
        ({"tcp_rtt_s": None}, "200  20,000 B  1.234 s  TCP -"),
    ],
)
def test_each_fetch_is_printed_in_one_line(row: dict[str, Any], says: str) -> None:
    page = {"status": 200, "octets": 20_000, "total_s": 1.2341, "tcp_rtt_s": 0.03}
    assert _line({"site": "here", "number": 12} | page | row) == f"here            12  {says}"


def test_the_summary_has_the_medians_of_the_known_values_of_each_site() -> None:
    rows: list[dict[str, Any]] = [
        {"site": "b", "tcp_rtt_s": 0.01, "ping_rtt_s": 0.02, "ratio": 0.5},
        {"site": "b", "tcp_rtt_s": 0.04, "ping_rtt_s": 0.02, "ratio": 2.0},
        {"site": "b", "tcp_rtt_s": 0.03},
        {"site": "b", "failed": "refused", "tcp_rtt_s": None},
        {"site": "a", "failed": "refused", "tcp_rtt_s": None},
    ]
    _, head, *told = _summary(rows)
    assert head.split() == ["site", "fetches", "failed", "TCP", "ping", "ratio"]
    assert [line.split() for line in told] == [
        ["b", "4", "1", "30", "ms", "20", "ms", "1.250"],
        ["a", "1", "1", "-", "-", "-"],
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
        (0.0, "0 ns"),
        (25e-9, "25 ns"),
        (1e-6, "1 µs"),
        (-0.0125, "-12.5 ms"),
        (1.0, "1 s"),
    ],
)
def test_times_of_a_poll_may_be_missing_or_negative(seconds: float | None, text: str) -> None:
    assert _span(seconds) == text


# Matched captures.


def moved(packets: list[MadeUp], out_s: float, back_s: float, clock_s: float = 0.0) -> list[MadeUp]:
    """Return the packets with the times at a second capture point nearer to the server.

    Packets of the client pass the second point later than the first, by `out_s`. Packets of the
    server pass the second point earlier than the first, by `back_s`. The clock of the second point
    is `clock_s` ahead of the clock of the first. All times are in seconds.
    """
    delays = {0: clock_s + out_s, 1: clock_s - back_s}
    return sorted((at + delays[end], end, *rest) for at, end, *rest in packets)  # type: ignore[misc]


def test_the_times_between_two_points_are_computed_from_matched_segments(tmp_path: Path) -> None:
    near = written(tmp_path / "near.pcap", EXCHANGE)
    far = written(tmp_path / "far.pcap", moved(EXCHANGE, 0.015, 0.012, clock_s=5.0))
    (found,) = match(near, far)
    assert (found.client, found.server) == ("10.0.0.1:4000", "10.0.0.2:80")
    # The clocks differ by 5 s. This difference cancels in the sum of both times.
    assert found.out_s == pytest.approx(5.015, abs=1e-6)
    assert found.back_s == pytest.approx(0.012 - 5.0, abs=1e-6)
    assert (found.only_first, found.only_second) == (0, 0)
    (swapped,) = match(far, near)
    assert swapped.client == found.client
    assert swapped.out_s == pytest.approx(-found.out_s)


def test_segments_that_only_one_point_captured_are_counted(tmp_path: Path) -> None:
    more: MadeUp = (0.06, 0, 501, 1, ACK, 60_000, 500)
    near = written(tmp_path / "near.pcap", [*EXCHANGE[:-1], more])
    far = written(tmp_path / "far.pcap", moved([*EXCHANGE[:3], EXCHANGE[4]], 0.015, 0.012))
    (found,) = match(near, far)
    # The client's data were lost after the first point. The server's answer was lost between the
    # second point and the first.
    assert (found.only_first, found.only_second) == (2, 1)
    assert found.segments == found.paired + 3


def pair(out_s: float, back_s: float, *, paired: int = 3) -> MatchedConnection:
    """Return a matched connection with these median times from point to point [s]."""
    ends = ("c:1", "s:80")
    return MatchedConnection(*ends, 5, paired, 1, 1, out_s, back_s, False, *ends, 0, 0)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([pair(0.02, 0.02)], None),
        # Only the sum of the times in both directions is independent of the clocks.
        ([pair(5.02, -4.98)], None),
        ([pair(-5.02, 4.98)], "passed c.pcap before a b.pcap. Swap the captures"),
        ([pair(-0.02, math.nan)], "before a b.pcap, or because the clocks differ. Swap"),
        ([pair(-5.02, 4.98), pair(0.02, 0.02)], None),
        ([pair(math.nan, math.nan)], None),
        ([], None),
    ],
)
def test_the_sum_of_the_times_in_both_directions_shows_that_captures_are_swapped(
    found: list[MatchedConnection], says: str | None
) -> None:
    told = _swapped(found, Path("a b.pcap"), Path("c.pcap"))
    assert len(told) == (says is not None)
    if says is not None:
        assert says in told[0]
        assert told[0].endswith("netspurt match c.pcap 'a b.pcap'")


def test_captures_with_the_same_file_name_are_named_by_their_paths() -> None:
    assert _names(Path("a/x.pcap"), Path("b/x.pcap")) == ["a/x.pcap", "b/x.pcap"]
    assert _names(Path("a/x.pcap"), Path("b/y.pcap")) == ["x.pcap", "y.pcap"]
    head, line = _matches([pair(0.02, math.nan)], ["x", "y"])
    assert "only in x  only in y" in head
    assert line.split() == ["c:1", "s:80", "5", "3", "1", "1", "20", "ms", "-", "-"]


def test_netspurt_match_exits_with_1_if_captures_share_no_connection(
    netspurt: Command, tmp_path: Path
) -> None:
    written(tmp_path / "a.pcap", EXCHANGE)
    assert netspurt("match", "a.pcap", "a.pcap").returncode == 0
    # A connection between the same ends with different sequence numbers is a different connection.
    later = [(at, end, seq + 90_000, ack + 90_000, *rest) for at, end, seq, ack, *rest in EXCHANGE]
    written(tmp_path / "b.pcap", later)  # type: ignore[arg-type]
    result = netspurt("match", "a.pcap", "b.pcap", "--json")
    assert result.returncode == 1
    assert [row["paired"] for row in json.loads(result.stdout)] == [0]
    (tmp_path / "text").write_text("not a capture")
    refused(netspurt("match", "a.pcap", "text"), "text")


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_cut_pcapng_is_found_in_either_byte_order(order: str, tmp_path: Path) -> None:
    def block(kind: int, body: bytes) -> bytes:
        length = 12 + len(body)
        return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)

    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    statistics = block(5, bytes(20))
    file = tmp_path / "a.pcapng"
    for size, cut in (
        (len(section + statistics), None),
        (len(section + statistics) - 1, CutCapture(1, 31, 32)),
        (len(section) + 11, CutCapture(1, 11, 12)),
        (len(section) - 1, CutCapture(0, 27, 28)),
        (len(section), None),
    ):
        file.write_bytes((section + statistics)[:size])
        assert cut_off(file) == cut, size
    # A block that claims to be shorter than its own header must not make the search endless.
    file.write_bytes(section + struct.pack(order + "III", 5, 0, 0) + statistics)
    assert cut_off(file) is None


def test_a_second_section_of_a_capture_may_have_the_other_byte_order(tmp_path: Path) -> None:
    sections = [
        struct.pack(order + "IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) for order in "<>"
    ]
    file = tmp_path / "a.pcapng"
    file.write_bytes(b"".join(sections))
    assert cut_off(file) is None
    file.write_bytes(b"".join(sections)[:-4])
    assert cut_off(file) == CutCapture(1, 24, 28)


def test_the_median_time_of_a_direction_counts_only_segments_of_this_direction(
    tmp_path: Path,
) -> None:
    sent = [(0.1 + n / 100, 0, 1 + 500 * n, 1, ACK, 60_000, 500) for n in range(5)]
    near = written(tmp_path / "near.pcap", sent)
    late = np.array([0.010, 0.011, 0.050, 0.012, 0.013])
    shifted = [(at + d, *rest) for (at, *rest), d in zip(sent, late, strict=True)]
    far = written(tmp_path / "far.pcap", sorted(shifted))
    (found,) = match(near, far)
    assert found.out_s == pytest.approx(np.median(late), abs=2e-6)
    assert math.isnan(found.back_s)
