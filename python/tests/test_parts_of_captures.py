"""Tests, on small tables, how a connection's time is divided and where a capture was taken.

The table `spent` has the parts of each connection's time. The table `habits` has what the packets
of a direction show about its hosts and its path. A vantage says where packets were seen: beside
their sender, beside their receiver, or between them.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from netspurt.analysis.reordered import reorderings
from netspurt.analysis.seen import (
    RoundTrip,
    busiest,
    mostly_on_its_way,
    octets_by_vantage,
    receiver_of,
    round_trip,
    vantages,
    window_max,
    with_both_directions,
)
from netspurt.analysis.spent import WORDS, largest_parts, parts, unseen_timeouts_s, whole_s
from netspurt.table import Table

from made_up_tables import rows

#: The nanoseconds of a millisecond.
MS = 1_000_000


def _table(**columns: list[Any]) -> Table:
    """Return a table with these columns. `None` becomes a missing value."""
    every = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kinds = {name: type(own[0]) if own else int for name, own in columns.items()}
    defaults = {name: None if None in own else kinds[name]() for name, own in columns.items()}
    return rows("made", every, defaults)


def _spent(**ms: list[int]) -> Table:
    """Return rows of the table `spent` from times [ms]; parts that are not given are zero."""
    count = len(next(iter(ms.values())))
    columns = {f"{name}_ns": [MS * n for n in ms.get(name, [0] * count)] for name in WORDS}
    return _table(connection=[*range(1, count + 1)], **columns)


def _handshakes(*halves: tuple[float | None, float | None]) -> Table:
    """Return connections with these round trips in their handshakes [ms], forward and reverse."""
    each = [None if half is None else round(MS * half) for pair in halves for half in pair]
    numbers = [number for number in range(1, len(halves) + 1) for _ in range(2)]
    ways = ["forward", "reverse"] * len(halves)
    ends = ["10.0.0.1", "10.0.0.2"] * len(halves)
    return _table(
        connection=numbers,
        direction=ways,
        source=ends,
        destination=ends[1:] + ends[:1],
        handshake_rtt_ns=each,
    )


def _habits(*rows: tuple[int, str, str]) -> Table:
    """Return rows of the table `habits`, each with a connection, a direction and a vantage."""
    connection, direction, vantage = ([*own] for own in zip(*rows, strict=True))
    return _table(connection=connection, direction=direction, vantage=vantage)


def _row(**values: object) -> dict[str, object]:
    """Return a direction of a connection with round trips of 50 to 90 ms and these values."""
    least = {"rtt_ns_mean": 60 * MS, "rtt_ns_min": 50 * MS, "rtt_ns_max": 90 * MS}
    return {"connection": 1, "direction": "forward", **least, **values}


#: A row of `habits` that does not say where the capture was taken.
NOTHING_TOLD = _habits((1, "forward", "unknown"))


def test_the_whole_time_of_a_connection_is_the_sum_of_all_its_parts() -> None:
    spent = _spent(**{name: [10**n, 2 * 10**n] for n, name in enumerate(WORDS)})
    assert whole_s(spent) == pytest.approx([1111.111, 2222.222])


def test_each_connection_that_took_time_has_a_largest_part_with_its_share() -> None:
    spent = _spent(repair=[30, 0, 5], timeout=[60, 0, 5], handshake=[10, 0, 0])
    found = largest_parts(spent)
    assert {number: name for number, (name, _) in found.items()} == {1: "timeout", 3: "repair"}
    assert [share for _, share in found.values()] == pytest.approx([0.6, 0.5])


def test_the_parts_of_the_time_of_all_connections_are_in_descending_order() -> None:
    named, whole = parts(_spent(repair=[30, 0], timeout=[10, 50], delivery=[0, 10]))
    assert whole == pytest.approx(0.1)
    assert [name for name, _ in named[:3]] == ["timeout", "repair", "delivery"]
    assert [share for _, share in named] == pytest.approx([0.6, 0.3, 0.1, 0, 0, 0, 0])


@pytest.mark.parametrize("spent", [_spent(repair=[]), _spent(repair=[0, 0])])
def test_connections_without_time_have_no_parts(spent: Table) -> None:
    assert parts(spent) == ([], 0.0)


@pytest.mark.parametrize(
    ("halves", "forward", "reverse"),
    [
        ((10, 80), "receiver", "sender"),
        ((80, 10), "sender", "receiver"),
        ((10, 79), "middle", "middle"),
        ((0.009, 0.012), "receiver", "sender"),
        ((0.012, 0.009), "sender", "receiver"),
        ((0.009, 0.011), "middle", "middle"),
        ((0.010, 0.014), "middle", "middle"),
        ((30, 30), None, None),
        ((None, 30), None, None),
        ((30, None), None, None),
    ],
)
def test_the_much_shorter_half_of_the_handshake_shows_the_nearest_host(
    halves: tuple[float | None, float | None], forward: str | None, reverse: str | None
) -> None:
    found = vantages({"habits": NOTHING_TOLD, "connections": _handshakes(halves)})
    assert found.get((1, "forward")) == forward
    assert found.get((1, "reverse")) == reverse


def test_the_vantage_that_packets_show_replaces_the_vantage_that_the_handshake_shows() -> None:
    habits = _habits(
        (1, "forward", "receiver"), (1, "reverse", "unknown"), (2, "forward", "sender")
    )
    tables = {"habits": habits, "connections": _handshakes((80, 10), (None, None))}
    assert vantages(tables) == {
        (1, "forward"): "receiver",
        (1, "reverse"): "receiver",
        (2, "forward"): "sender",
    }


def test_both_directions_of_a_connection_within_one_host_count_as_seen_beside_their_senders() -> (
    None
):
    ends = ["127.0.0.1", "127.0.0.53", "10.0.0.1", "10.0.0.1", "127.0.0.1", "10.0.0.1"]
    connections = _table(
        connection=[1, 1, 2, 2, 3, 3],
        direction=["forward", "reverse"] * 3,
        source=ends,
        destination=["127.0.0.53", "127.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "127.0.0.1"],
        handshake_rtt_ns=[12, 13, None, None, None, None],
    )
    found = vantages({"connections": connections, "habits": NOTHING_TOLD})
    assert found == {(n, way): "sender" for n in (1, 2) for way in ("forward", "reverse")}


def test_the_busiest_direction_has_the_most_data_and_octets_are_counted_for_each_vantage() -> None:
    connections = _table(
        connection=[1, 1, 2, 2, 3],
        direction=["forward", "reverse", "forward", "reverse", "forward"],
        unique_bytes=[100, 900, 70, 30, 0],
        source=["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2", "10.0.0.1"],
        destination=["10.0.0.2", "10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"],
        handshake_rtt_ns=[10, 80, None, None, None],
    )
    tables = {"connections": connections, "habits": NOTHING_TOLD}
    assert busiest(tables) == {1: "reverse", 2: "forward", 3: "forward"}
    assert octets_by_vantage(tables) == {"receiver": 100, "sender": 900, "unknown": 100}


@pytest.mark.parametrize(("mean_s", "queue"), [(0.124, False), (0.125, True), (0.3, True)])
def test_a_queue_is_found_if_the_mean_round_trip_exceeds_the_shortest_by_a_quarter_or_more(
    mean_s: float, queue: bool
) -> None:
    assert RoundTrip(mean_s, 0.1, of_data=True).has_queue is queue


def test_round_trips_of_data_include_the_path_from_sender_to_capture() -> None:
    # In the reverse direction, the handshake measures the path from the capture to the sender of
    # the forward direction.
    found = round_trip(_row(), _handshakes((50, 7)), beside=False)
    assert found is not None
    assert (found.mean_s, found.min_s) == pytest.approx((0.067, 0.057))
    assert found.of_data
    alone = round_trip(_row(), _handshakes((50, None)), beside=False)
    assert alone is not None
    assert (alone.mean_s, alone.min_s) == pytest.approx((0.06, 0.05))


@pytest.mark.parametrize(
    ("row", "beside"),
    # A capture beside the receiver shows no round trips of data, so the row is not used.
    [(_row(), True), (_row(rtt_ns_mean=None), False), (_row(rtt_ns_max=0), False)],
)
def test_if_no_data_shows_a_round_trip_the_handshake_shows_it(
    row: dict[str, object], beside: bool
) -> None:
    found = round_trip(row, _handshakes((50, 7)), beside=beside)
    assert found is not None
    assert (found.mean_s, found.min_s) == pytest.approx((0.057, 0.057))
    assert not found.of_data
    for halves in ((None, 7), (50, None), (None, None), (0, 0)):
        assert round_trip(row, _handshakes(halves), beside=beside) is None, halves


@pytest.mark.parametrize(
    ("syns", "most", "expected"),
    [([1, 1], 65_535, 65_535), ([0, 1], 9, None), ([1, 0], 9, None), ([2, 1], None, None)],
)
def test_the_receive_window_is_known_only_with_both_syns(
    syns: list[int], most: int | None, expected: int | None
) -> None:
    connections = _table(
        connection=[1, 1, 2],
        direction=["forward", "reverse", "reverse"],
        syns=[*syns, 1],
        window_bytes_max=[1, most, 2],
    )
    row = cast("Any", connections).records()[0]
    assert window_max(row, connections) == expected
    receiver = receiver_of(row, connections)
    assert receiver is not None
    assert (receiver["connection"], receiver["direction"]) == (1, "reverse")


def test_a_connection_with_one_direction_has_no_receiver_and_no_window() -> None:
    connections = _table(connection=[1], direction=["forward"], syns=[1], window_bytes_max=[9])
    row = cast("Any", connections).records()[0]
    assert receiver_of(row, connections) is None
    assert window_max(row, connections) is None


def test_connections_with_a_silent_direction_are_not_judged() -> None:
    connections = _table(connection=[1, 1, 2, 2, 3, 3], packets=[5, 0, 5, 5, 1, 1])
    spent = _spent(congestion_window=[90, 50, 49], repair=[10, 50, 51])
    tables = {"connections": connections, "spent": spent}
    assert with_both_directions(tables)["connection"].tolist() == [2, 3]
    # Exactly half of a connection's time already counts as most of the time.
    assert mostly_on_its_way(tables) == {2: pytest.approx(0.1)}


def _both_ends() -> Table:
    """Return both directions of a connection; only the forward direction has data."""
    rows = {"data_packets": [90, 0], "segment_bytes_max": [1000, 0]}
    return _table(connection=[0, 0], direction=["forward", "reverse"], **rows)


def _overtaken(seen: int, in_acks: int, uncaptured_bytes: int = 0) -> Table:
    """Return a row of `habits` with packets that arrived late.

    The number `seen` counts packets that the capture shows to be late. The number `in_acks` counts
    packets that were late according to SACK blocks.
    """
    return _table(
        connection=[0],
        direction=["forward"],
        overtaken_packets=[seen],
        overtaken_in_acks_packets=[in_acks],
        overtaken_distance_segs_max=[2],
        overtaken_in_acks_distance_segs_max=[2],
        overtaken_ns_max=[MS],
        uncaptured_bytes=[uncaptured_bytes],
    )


@pytest.mark.parametrize(
    ("seen", "uncaptured_bytes", "late"), [(0, 29_000, 30), (0, 30_000, None), (4, 30_000, 4)]
)
def test_packets_that_the_capture_missed_do_not_count_as_reordering(
    seen: int, uncaptured_bytes: int, late: int | None
) -> None:
    """SACK blocks report 30 gaps. The packets that the capture missed may have filled the gaps."""
    sent = _table(connection=[9], direction=["forward"], cause=["rto"], verdict=["needed"])
    habits = _overtaken(seen, 30, uncaptured_bytes)
    tables = {"connections": _both_ends(), "habits": habits, "retransmissions": sent}
    assert [one.late for one in reorderings(tables)] == ([] if late is None else [late])


def test_reordering_does_not_count_as_a_cause_of_timeouts() -> None:
    """Reordering can cause retransmissions that ACKs trigger, but not retransmissions by timers."""
    connections = _both_ends()
    habits = _overtaken(5, 0)
    for cause, spurious in (("rto", 0), ("go-back-n", 0), ("fast", 2), ("rack", 2)):
        sent = _table(
            connection=[0] * 3,
            direction=["forward"] * 3,
            cause=[cause] * 3,
            verdict=["spurious", "needed", "spurious"],
        )
        tables = {"connections": connections, "habits": habits, "retransmissions": sent}
        (found,) = reorderings(tables)
        assert (found.again, found.spurious) == (3, spurious)
        assert ("Reordering is a likely cause" in found.sentence("it")) == (spurious > 0)


@pytest.mark.parametrize(
    ("source", "silent_ms", "waited_ms", "unseen_s"),
    [
        ("10.0.0.1", 700, 400, 0.3),
        ("10.0.0.1", 600, 400, 0.2),
        ("10.0.0.1", 599, 400, 0),
        ("fd00::1", 700, 400, 0),
    ],
)
def test_an_unseen_timeout_is_found_only_with_200_ms_of_silence_and_ip_identifications(
    source: str, silent_ms: int, waited_ms: int, unseen_s: float
) -> None:
    tables = {
        "spent": _spent(timeout=[silent_ms]),
        "waits": _table(connection=[1], t_ns=[900 * MS], waited_ns=[waited_ms * MS]),
        "connections": _table(connection=[1, 1], packets=[9, 9], source=[source, source]),
    }
    assert unseen_timeouts_s(tables) == unseen_s
