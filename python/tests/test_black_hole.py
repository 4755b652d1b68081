"""Tests how explain recognises paths that drop large packets without a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from netspurt.analysis.black_hole import BlackHole, black_holes, without_holes
from netspurt.captures import explain
from netspurt.table import Table

from conftest import ROOT, Command
from made_up_tables import rows

SECOND = 10**9


def words_of(netspurt: Command, name: str, *more: str) -> str:
    return " ".join(netspurt("explain", ROOT / "data" / f"{name}.pcap", *more).stdout.split())


@pytest.mark.parametrize("more", [(), ("--connection", "0")])
def test_a_black_hole_is_told_if_smaller_segments_arrived(
    more: tuple[str, ...], netspurt: Command
) -> None:
    words = words_of(netspurt, "black-hole", *more)
    assert "from 10.1.0.1 to 10.1.0.3 seems to drop large packets without a report" in words
    assert "all 5 retransmissions, each with at least 1,024 octets of data, were lost" in words
    assert "segments with up to 512 octets of data arrived meanwhile" in words
    assert "outage" not in words
    assert "shorter timer" not in words


def test_without_an_answer_a_black_hole_is_only_possible(netspurt: Command) -> None:
    words = words_of(netspurt, "black-hole-unanswered")
    assert "10.1.0.3 acknowledged none of 6 retransmissions" in words
    assert "So the path or the host failed, or the path drops large packets" in words
    assert "`ping -M do -s 1472 10.1.0.3` on 10.1.0.1" in words
    assert "no remedy would have saved time" in words


def test_the_largest_acknowledged_segment_may_be_a_part_of_a_segment() -> None:
    (_, back) = explain(ROOT / "data" / "black-hole.pcap").table("connections").records()
    assert (back["segment_bytes_max"], back["acked_segment_bytes_max"]) == (1448, 512)
    (_, back) = explain(ROOT / "data" / "black-hole-unanswered.pcap").table("connections").records()
    assert back["acked_segment_bytes_max"] is None
    (forward, _) = explain(ROOT / "data" / "path-mtu.pcap").table("connections").records()
    assert forward["acked_segment_bytes_max"] is not None


def lost(
    at_s: float, size: int = 1448, connection: int = 0, cause: str = "rto", verdict: str = "unknown"
) -> dict[str, Any]:
    return {
        "t_ns": round(at_s * SECOND),
        "connection": connection,
        "len_bytes": size,
        "cause": cause,
        "verdict": verdict,
    }


THREE = [lost(1), lost(2), lost(4)]
#: The table of connections in these tests: the second of two connections begins at 3 s.
TWO = [{"connection": 0}, {"connection": 1, "first_ns": 3 * SECOND, "handshake_rtt_ns": 1}]


def holes(
    again: list[dict[str, Any]], every: list[dict[str, Any]] | None = None, **first: Any
) -> list[BlackHole]:
    """Return the black holes of made-up connections; `first` has fields of the first of them."""
    defaults: Mapping[str, Any] = {
        "connection": 0,
        "direction": "forward",
        "source": "a",
        "destination": "b",
        "first_ns": 0,
        "mss_bytes": None,
        "timestamps": True,
        "handshake_rtt_ns": None,
        "acked_segment_bytes_max": None,
    }
    every = [{"connection": 0}] if every is None else every
    every = [{**every[0], **first}, *every[1:]]
    back = [
        {"connection": one["connection"], "direction": "reverse", "source": "b", "destination": "a"}
        for one in every
    ]
    back[0]["mss_bytes"] = 1460
    tables = {
        "connections": rows("connections", [*every, *back], defaults),
        "retransmissions": rows(
            "retransmissions",
            again,
            {**lost(0), "direction": "forward"},
        ),
    }
    return black_holes(tables)


def test_three_large_segments_without_an_answer_are_a_possible_black_hole() -> None:
    (hole,) = holes(THREE)
    assert (hole.source, hole.destination, hole.directions) == ("a", "b", (0,))
    assert (hole.lost, hole.lost_bytes_min, hole.acked_bytes_max) == (3, 1448, 0)
    assert not hole.is_shown
    assert hole.until_ns == 4 * SECOND
    assert hole.ping_bytes == 1472
    assert holes(THREE, timestamps=False)[0].ping_bytes == 1460
    assert holes(THREE[:2]) == []
    assert holes([lost(at, 900) for at in (1, 2, 4)]) == []
    assert holes([]) == []


@pytest.mark.parametrize(
    "also",
    [
        lost(1.5, cause="sack-recovery"),
        lost(1.5, cause="rack"),
        lost(6, 512, verdict="needed"),
    ],
)
def test_smaller_packets_that_arrived_meanwhile_show_a_black_hole(also: dict[str, Any]) -> None:
    (hole,) = holes([*THREE, also], acked_segment_bytes_max=512)
    assert hole.is_shown
    assert hole.acked_bytes_max == 512


@pytest.mark.parametrize(
    "also",
    [lost(0.5, 512, verdict="needed"), lost(6, 512), lost(6, 512, verdict="spurious")],
)
def test_smaller_packets_show_nothing_if_they_came_before_or_may_be_lost(
    also: dict[str, Any],
) -> None:
    (hole,) = holes([*THREE, also], acked_segment_bytes_max=512)
    assert not hole.is_shown


def test_a_later_handshake_between_the_hosts_shows_a_black_hole() -> None:
    (hole,) = holes([*THREE, lost(5, connection=1)], TWO)
    assert (hole.is_shown, hole.directions) == (True, (0, 2))
    assert "4 retransmissions of 2 connections" in hole.sentence()
    earlier = [TWO[0], {**TWO[1], "first_ns": SECOND // 2}]
    assert [one.is_shown for one in holes([*THREE, lost(5, connection=1)], earlier)] == [False]


def test_a_large_segment_that_arrived_on_the_same_path_excludes_a_black_hole() -> None:
    assert holes(THREE, acked_segment_bytes_max=1448) == []
    # A FIN has a sequence number, too.
    assert holes(THREE, acked_segment_bytes_max=1447) == []
    assert holes(THREE, acked_segment_bytes_max=1446) != []
    assert holes(THREE, [TWO[0], {**TWO[1], "acked_segment_bytes_max": 1448}]) == []
    elsewhere = {**TWO[1], "destination": "c", "acked_segment_bytes_max": 1448}
    assert len(holes(THREE, [TWO[0], elsewhere])) == 1


def test_segments_that_a_network_card_divides_do_not_count() -> None:
    assert holes([lost(at, 2896) for at in (1, 2, 4)], acked_segment_bytes_max=1448) == []


@pytest.mark.parametrize("cause", ["syn", "too-big"])
def test_reported_losses_and_syns_do_not_count(cause: str) -> None:
    assert holes([lost(at, cause=cause) for at in (1, 2, 4)]) == []


def test_waits_in_a_black_hole_are_left_out_of_the_remedies() -> None:
    def wait(t_s: float, waited_s: float, connection: int = 0) -> dict[str, Any]:
        t_ns, waited_ns = round(t_s * SECOND), round(waited_s * SECOND)
        return {"connection": connection, "t_ns": t_ns, "waited_ns": waited_ns}

    every = [wait(2, 1), wait(8, 4), wait(20, 1), wait(2, 1, connection=1)]
    defaults = {"connection": 0, "direction": "forward", "t_ns": 0, "waited_ns": 0}
    waits: Table = rows("waits", every, defaults)
    shown = holes([*THREE, lost(1.5, cause="rack")], acked_segment_bytes_max=512)
    left = without_holes(waits, shown).records(["connection", "t_ns"])
    assert left == [
        {"connection": 0, "t_ns": 20 * SECOND},
        {"connection": 1, "t_ns": 2 * SECOND},
    ]
    assert len(without_holes(waits, holes(THREE))) == len(waits)
