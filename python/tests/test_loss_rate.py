"""Tests that a sender has about the rate of the square-root formula if losses limit its rate.

The formula computes a rate from the round trip and from the share of losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netspurt.analysis.directions import loss_events
from netspurt.analysis.full_link import full_links
from netspurt.analysis.loss_rate import _segments, loss_limits
from netspurt.captures import Explained, explain
from netspurt.scenario import Scenario
from netspurt.table import Table

import captured_path
from conftest import Command
from made_up_tables import Made, rows


def captured(folder: Path, **words: object) -> Explained:
    """Run a transfer with these values. Explain and return the capture at its sender."""
    known = {"stop": "60 s", "queue": 1000, "loss": 0.01, "congestion": "reno"}
    return explain(captured_path.captured(folder, **{**known, **words}) / "a.pcapng")


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("loss", [0.005, 0.01, 0.03])
def test_random_losses_limit_reno_to_the_rate_of_the_formula(
    tmp_path: Path, loss: float, seed: int
) -> None:
    (one,) = loss_limits(captured(tmp_path, loss=loss, seed=seed).tables)
    assert one.rtt_s == pytest.approx(0.05, rel=0.1)
    assert one.cuts == pytest.approx(loss * one.packets, rel=0.6)
    assert 0.6 < one.had_bps / one.formula_bps < 1.4


def test_losses_do_not_limit_a_sender_that_does_not_slow_down(tmp_path: Path) -> None:
    capture = captured(tmp_path, congestion="bbr")
    assert len(capture.table("retransmissions")) > 10
    assert loss_limits(capture.tables) == []


def test_drops_at_a_full_queue_do_not_count_as_losses_that_limit_the_rate(tmp_path: Path) -> None:
    capture = captured(tmp_path, rate="4 Mbit/s", queue=20, loss=0)
    assert len(capture.table("retransmissions")) > 10
    assert loss_limits(capture.tables) == []


def test_retransmissions_of_packets_that_were_too_big_are_no_losses_of_the_path(
    tmp_path: Path,
) -> None:
    found = captured(tmp_path)
    again = found.table("retransmissions")
    columns = {
        name: again[name].tolist() if again[name].dtype.kind == "U" else again[name]
        for name in again
    }
    for cause, limited in (("rack", 1), ("too-big", 0)):
        made: Any = Made({**columns, "cause": [cause] * len(again)})
        tables = {**found.tables, "retransmissions": Table(made)}
        assert len(loss_limits(tables)) == limited


@pytest.mark.parametrize(("ratio", "is_full"), [(1.1, False), (1.5, True)])
def test_losses_are_not_the_limit_if_a_constant_rate_shows_a_full_link(
    tmp_path: Path, ratio: float, is_full: bool
) -> None:
    found = captured(tmp_path)
    (one,) = loss_limits(found.tables)
    (row,) = found.table("connections").where(direction=one.direction).records()
    steady = {
        "connection": one.connection,
        "direction": one.direction,
        "span_ns": 30 * 10**9,
        "rate_bps": one.had_bps,
        "rtt_ns_mean": ratio * row["rtt_ns_min"],
        "rtt_ns_low": row["rtt_ns_min"],
        "sent_variation": 0.08,
        "delivered_variation": 0.08,
    }
    none = found.table("delay_changes").where(connection=-1)
    tables = {
        **found.tables,
        "steady": rows("steady", [steady], steady),
        "delay_changes": none,
    }
    assert loss_limits(tables) == ([] if is_full else [one])
    assert len(full_links(tables)) == is_full


def test_netspurt_explain_names_losses_as_the_limit_with_and_without_the_option_connection(
    tmp_path: Path, netspurt: Command
) -> None:
    captured(tmp_path)
    for words in ([], ["--connection", "0"]):
        result = netspurt("explain", tmp_path / "run/a.pcapng", *words)
        assert result.returncode == 0, result.stderr
        output = " ".join(result.stdout.split())
        assert "Losses limited the rate of connection 0 to " in output
        assert output.count("Time went to: ") == 1


#: Delays from 5 to 35 ms, and a timeline that changes to another of these delays every 150 ms.
STEPS = [20, 31, 8, 27, 35, 12, 23, 5, 33, 16]
JITTER = ", ".join(f'["{150 * n} ms", "{STEPS[n * 7 % 10]} ms"]' for n in range(400))


@pytest.mark.parametrize("congestion", ["reno", "cubic"])
def test_losses_limit_the_rate_although_the_delay_varies(tmp_path: Path, congestion: str) -> None:
    tables = jittery(tmp_path, congestion=congestion).tables
    assert has_long_round_trips(tables)
    (one,) = loss_limits(tables)
    assert one.is_delay_varied
    assert full_links(tables) == []


@pytest.mark.parametrize("queue", [30, 100, 400])
@pytest.mark.parametrize("congestion", ["reno", "cubic"])
def test_drops_at_a_full_queue_do_not_limit_the_rate_if_the_delay_varies(
    tmp_path: Path, congestion: str, queue: int
) -> None:
    words = {"rate": "8 Mbit/s", "queue": queue, "loss": 0, "send": "6 MB"}
    tables = jittery(tmp_path, congestion=congestion, **words).tables
    assert has_long_round_trips(tables)
    assert loss_limits(tables) == []


def test_connections_that_share_a_queue_are_not_limited_by_losses_if_the_delay_varies(
    tmp_path: Path,
) -> None:
    words = {"queue": 30, "loss": 0, "more": "count = 6", "congestion": "cubic"}
    assert loss_limits(jittery(tmp_path, **words).tables) == []


def test_a_line_says_that_the_delay_varied(tmp_path: Path, netspurt: Command) -> None:
    jittery(tmp_path, congestion="cubic")
    result = netspurt("explain", tmp_path / "run/a.pcapng")
    assert "So the delay of the path varied" in " ".join(result.stdout.split())


def jittery(folder: Path, **words: object) -> Explained:
    """Run a transfer over a path whose delay varies, and explain its capture beside the sender."""
    steps = f'delay = {{{{ timeline = [{JITTER}], between = "step" }}}}'
    path = captured_path.PATH.replace('delay   = "25 ms"', steps)
    known = {"seed": 3, "rate": "20 Mbit/s", "queue": 1000, "loss": 0.01, "send": "4 MB"}
    known |= {"stop": "60 s", "more": "", "link": ""}
    run = Scenario.parse(path.format(**{**known, **words}), name="path").run()
    run.save(folder / "run")
    return explain(folder / "run/a.pcapng")


def has_long_round_trips(tables: Mapping[str, Table]) -> bool:
    """Return whether the mean round trip of the data is at least 1.25 times the shortest one."""
    (row,) = tables["connections"].where(direction="forward").records()
    return bool(row["rtt_ns_mean"] >= 1.25 * row["rtt_ns_min"])


@pytest.mark.parametrize(("most", "counted"), [(15_000, (1000, 1000)), (1000, (100, 1000))])
def test_segments_are_counted_as_on_the_wire_if_offload_joined_them_in_a_capture(
    most: int, counted: tuple[int, int]
) -> None:
    none = {"connection": 0, "direction": "reverse", "data_packets": 0, "data_bytes": 0}
    none |= {"segment_bytes_max": 0, "mss_bytes": 1000}
    forward = {"direction": "forward", "data_packets": 100, "data_bytes": 1_000_000}
    forward |= {"segment_bytes_max": most, "mss_bytes": 1460}
    both = rows("connections", [forward, {}], none)
    assert _segments(next(iter(both.each())), both) == counted


def events(*again: tuple[int, int | None, int, str]) -> list[int]:
    """Return the index of the first retransmission of each loss event. Round trips take 60 ms.

    Each item of `again` is a retransmission. It has the time, the time since the transmission
    before it (both in milliseconds), the first octet and the cause.
    """
    t_ms, gap_ms, octets, causes = zip(*again, strict=True)
    gaps = [0 if gap is None else gap for gap in gap_ms]
    made: Any = Made(
        {
            "t_ns": np.array(t_ms) * 1_000_000,
            "gap_ns": np.ma.array(np.array(gaps) * 1_000_000, mask=[gap is None for gap in gap_ms]),
            "seq": np.array(octets),
            "cause": list(causes),
        }
    )
    return loss_events(Table(made), 0.06)


def test_packets_that_were_sent_before_the_first_repair_belong_to_one_loss_event() -> None:
    repairs = [(60 + 60 * n, 60 + 60 * n, 1000 * n, "fast") for n in range(4)]
    assert events(*repairs) == [0], "NewReno repairs one packet in each round trip"
    assert events(*repairs, (400, 60, 9000, "fast")) == [0, 4], (
        "a packet that was sent after the first repair must begin another loss event"
    )


def test_successive_timeouts_and_the_go_back_n_after_them_are_one_loss_event() -> None:
    timeouts = [(260, 260, 0, "rto"), (780, 520, 0, "rto"), (1820, 1040, 0, "rto")]
    back = [(1880 + 60 * n, 1870 + 60 * n, 1000 + 1000 * n, "go-back-n") for n in range(3)]
    assert events(*timeouts, *back) == [0]
    assert events(*timeouts, *back, (3000, 260, 9000, "rto")) == [0, 6]


def test_successive_retransmissions_of_a_syn_are_one_loss_event() -> None:
    assert events(*((1000 * n, 1000, 0, "syn") for n in range(1, 6))) == [0]


def test_go_back_n_belongs_to_its_timeout_even_if_the_originals_were_not_captured() -> None:
    back = [(700 + 100 * n, None, 1000 + 1000 * n, "go-back-n") for n in range(4)]
    assert events((600, None, 0, "rto"), *back) == [0]
    assert events(*back) == [0], "the timeout itself was not captured"


def test_losses_within_a_round_trip_are_one_event_if_no_first_transmission_was_captured() -> None:
    assert events((100, None, 0, "fast"), (150, None, 1000, "fast"), (170, None, 2000, "fast")) == [
        0,
        2,
    ]
