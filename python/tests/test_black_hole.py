"""Tests how `netspurt explain` recognises a black hole.

A black hole is a path that drops large packets without an ICMP report to the sender.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from netspurt.analysis.black_hole import BlackHole, black_holes
from netspurt.captures import explain
from netspurt.report.findings import finding

from conftest import ROOT, Command
from made_up_tables import rows

SECOND = 10**9


def words_of(netspurt: Command, name: str, *more: str) -> str:
    """Return what `netspurt explain` prints for the capture `name`, on one line."""
    return " ".join(netspurt("explain", ROOT / "data" / f"{name}.pcap", *more).stdout.split())


@pytest.mark.parametrize("more", [(), ("--connection", "0")])
def test_a_smaller_retransmission_that_is_answered_may_show_a_black_hole(
    more: tuple[str, ...], netspurt: Command
) -> None:
    words = words_of(netspurt, "black-hole", *more)
    assert "The path of connection 0 may drop large packets: 5 retransmissions of the same" in words
    seen = "got no answer, but then a retransmission with 512 octets got an answer"
    assert f"at least 1,024 octets of data, {seen}" in words
    assert "`ping -M do -s 1048 10.2.0.3` on 10.1.0.1" in words
    assert "tcp_mtu_probing" not in words


def test_the_path_may_also_have_failed_if_no_retransmission_is_answered(netspurt: Command) -> None:
    words = words_of(netspurt, "black-hole-unanswered")
    assert "6 retransmissions of the same octets, each with at least 1,448 octets of data" in words
    assert "Either the path or the host failed, or a router drops such packets" in words
    assert "`ping -M do -s 1472 10.1.0.3` on 10.1.0.1" in words
    assert "or set net.ipv4.tcp_mtu_probing=1 on a Linux sender" in words


def test_icmp_reports_that_reached_the_sender_exclude_a_black_hole(netspurt: Command) -> None:
    assert "may drop large packets" not in words_of(netspurt, "path-mtu")


def test_the_finding_of_a_report_names_a_possible_black_hole() -> None:
    found = explain(ROOT / "data" / "black-hole.pcap")
    (hole,) = black_holes(found.tables)
    assert hole.sentence("connection 0") in finding(found, [hole.sentence("connection 0")])


def test_the_column_acked_bytes_max_has_the_largest_segment_acked_or_sacked_so_far() -> None:
    again = explain(ROOT / "data" / "black-hole.pcap").table("retransmissions")
    largest = again["acked_bytes_max"].tolist()
    assert largest[:6] == [1] * 6, "only the SYN was acknowledged"
    assert largest[6] == 1024, "a SACK block has reported a segment of 1,024 octets"
    assert largest == sorted(largest)


def lost(at_s: float, size: int = 1448, **more: Any) -> dict[str, Any]:
    """Return the row of a retransmission of this size [octets] at the time `at_s`."""
    return {"t_ns": round(at_s * SECOND), "len_bytes": size, **more}


#: Three retransmissions of the same large segment.
THREE = [lost(1), lost(2), lost(4)]
#: The keys of a row about the reverse direction.
BACK: dict[str, Any] = {"direction": "reverse", "source": "b", "destination": "a"}


def holes(
    again: list[dict[str, Any]],
    answered_s: float | None = None,
    connections: list[dict[str, Any]] | None = None,
    **back: Any,
) -> list[BlackHole]:
    """Return the black holes of invented connections, whose retransmissions are `again`.

    Only the retransmission at the time `answered_s` is answered. The argument `back` has fields of
    the reverse direction.
    """
    defaults: Mapping[str, Any] = {
        "connection": 0,
        "direction": "forward",
        "source": "a",
        "destination": "b",
        "packets": 9,
        "mss_bytes": None,
        "sack_permitted": True,
        "timestamps": True,
    }
    none: dict[str, Any] = {"connection": 0, "direction": "forward", "seq": 1}
    told = {"len_bytes": 0, "cause": "rto", "verdict": "unknown", "acked_bytes_max": 1}
    waits = [
        {"t_ns": one["t_ns"], "answered_ns": 1 if one["t_ns"] == at else None}
        for one in again
        for at in [None if answered_s is None else round(answered_s * SECOND)]
    ]
    every = [{}, {**BACK, "mss_bytes": 1460, **back}, *(connections or [])]
    tables = {
        "connections": rows("connections", every, defaults),
        "retransmissions": rows("retransmissions", again, {"t_ns": 0, **none, **told}),
        "waits": rows("waits", waits, {"t_ns": 0, "answered_ns": None, **none}),
    }
    return black_holes(tables)


def test_three_large_retransmissions_without_an_answer_may_show_a_black_hole() -> None:
    (hole,) = holes(THREE)
    assert (hole.connection, hole.source, hole.destination) == (0, "a", "b")
    assert (hole.lost, hole.lost_bytes_min, hole.answered_bytes) == (3, 1448, None)
    assert hole.ping_bytes == 1472
    assert holes(THREE[:2]) == []
    assert holes([lost(1), lost(2), lost(4, seq=1449)]) == []
    assert holes([lost(1), lost(2), lost(4, 999)]) == []
    assert holes([]) == []


def test_a_smaller_answered_retransmission_may_show_a_black_hole() -> None:
    (hole,) = holes([*THREE, lost(8, 1024), lost(16, 512)], 16)
    assert (hole.lost, hole.lost_bytes_min, hole.answered_bytes) == (4, 1024, 512)
    assert holes([*THREE, lost(8)], 8) == [], "a large retransmission was answered"
    assert holes([lost(1), lost(2), lost(4, 512)], 4) == [], "only two retransmissions were lost"
    assert holes([lost(at, 900) for at in (1, 2, 4)] + [lost(8, 512)], 8) == []


@pytest.mark.parametrize("most", [1447, 1448, 65_000])
def test_an_acked_segment_of_similar_size_excludes_a_black_hole(
    most: int,
) -> None:
    assert holes([{**one, "acked_bytes_max": most} for one in THREE]) == []
    assert len(holes([{**one, "acked_bytes_max": 1446} for one in THREE])) == 1


def test_large_packets_that_arrived_after_the_answer_do_not_exclude_a_black_hole() -> None:
    again = [*THREE, lost(16, 512), lost(17, 512, seq=513, acked_bytes_max=65_000)]
    assert len(holes(again, 16)) == 1


def test_packets_above_the_mss_count_as_segments_of_the_mss() -> None:
    again = [lost(at, 2896) for at in (1, 2, 4)]
    assert [one.lost_bytes_min for one in holes(again)] == [1460]
    assert holes(again, mss_bytes=None) == []
    assert [one.lost_bytes_min for one in holes(again, mss_bytes=8960)] == [2896]
    assert holes([{**one, "acked_bytes_max": 1460} for one in again]) == []


def test_duplicate_acks_exclude_a_black_hole_if_sack_is_off() -> None:
    again = [lost(0.5, cause="fast"), *THREE]
    assert len(holes(again)) == 1
    assert holes(again, sack_permitted=False) == []
    assert len(holes(THREE, sack_permitted=False)) == 1


@pytest.mark.parametrize("field", [{"cause": "syn"}, {"cause": "too-big"}, {"verdict": "spurious"}])
def test_three_retransmissions_show_no_black_hole_if_one_is_a_syn_or_follows_icmp_or_is_spurious(
    field: dict[str, Any],
) -> None:
    assert holes([lost(1, **field), *THREE[1:]]) == []


def test_a_capture_of_one_direction_shows_no_black_hole() -> None:
    assert holes(THREE, packets=0) == []


def test_the_connection_with_the_most_lost_retransmissions_comes_first() -> None:
    more = [{"connection": 1}, {**BACK, "connection": 1, "mss_bytes": 1460}]
    again = [*THREE, *(lost(at, connection=1) for at in (1, 2, 4, 8))]
    assert [one.connection for one in holes(again, connections=more)] == [1, 0]
    again += [lost(at, seq=5000) for at in (1, 2, 4, 8, 16)]
    assert [(one.connection, one.lost) for one in holes(again, connections=more)] == [
        (0, 5),
        (1, 4),
    ]
