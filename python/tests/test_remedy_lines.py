"""Tests what `netspurt explain` says about waits for timers, and about remedies for them.

A remedy is a change of the sender that would have made the waits shorter. The captures `a`, `m` and
`b` are beside the sender, in the middle of the path, and beside the receiver.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.analysis.remedies import outages, silences
from netspurt.captures import explain

import captured_path
from conftest import Command
from made_up_captures import ACK, FIN, SYN, SYN_ACK, made_up


def said(netspurt: Command, file: Path) -> str:
    """Return the output of `netspurt explain`, in one line."""
    return " ".join(netspurt("explain", file).stdout.split())


@pytest.mark.parametrize("sack", [True, False])
def test_tail_loss_probes_are_no_remedy_for_a_connection_without_sack(
    netspurt: Command, tmp_path: Path, sack: bool
) -> None:
    switches = 'tcp.tlp = false\ntcp.rto.min = "1 s"'
    if not sack:
        switches += '\ntcp.sack = false\ntcp.recovery = "newreno"'
    link = 'rate = "20 Mbit/s", delay = "20 ms"'
    lossy = f"{link}, loss = {{ nth = [15] }}"
    run = captured_path.captured_between(tmp_path, lossy, link, send="20 kB", more=switches)
    output = said(netspurt, run / "a.pcapng")
    assert "timeout 1 1 1 0 0" in output
    assert ("Tail loss probes (RFC 8985) would have saved" in output) == sack


def test_an_outage_is_shown_if_only_the_last_ack_of_several_retransmissions_arrived(
    netspurt: Command, tmp_path: Path
) -> None:
    link = 'rate = "20 Mbit/s", delay = "20 ms"'
    lost = ", ".join(map(str, range(14, 34)))
    run = captured_path.captured_between(
        tmp_path, link, f'{link}, loss = ["none", {{ nth = [{lost}] }}]', send="60 kB"
    )
    tables = explain(run / "a.pcapng").tables
    rows = tables["retransmissions"]
    assert (rows["cause"] == "rto").sum() > 1
    assert set(rows["verdict"].tolist()) == {"spurious"}
    assert not silences(tables).arrived.any()
    failed = outages(silences(tables))
    assert failed is not None
    assert failed.silences == 1
    output = said(netspurt, run / "a.pcapng")
    assert "All transmissions or their ACKs were lost for at least" in output
    assert "the original had arrived, so retransmissions were spurious" not in output


def test_retransmissions_that_acks_report_one_by_one_are_not_called_an_outage(
    netspurt: Command, tmp_path: Path
) -> None:
    link = 'rate = "20 Mbit/s", delay = "20 ms"'
    delayed = (
        'rate = "20 Mbit/s", delay = { timeline = [["0 s", "20 ms"], ["100 ms", "2 s"], '
        '["2 s", "20 ms"]] }, order = "fifo"'
    )
    run = captured_path.captured_between(tmp_path, link, delayed, send="200 kB")
    tables = explain(run / "a.pcapng").tables
    long = silences(tables)
    assert long.timeouts.max() > 1
    assert outages(long) is None
    assert "All transmissions or their ACKs were lost" not in said(netspurt, run / "a.pcapng")


def test_a_timeout_whose_losses_the_capture_missed_is_no_pause_of_the_application(
    netspurt: Command, tmp_path: Path
) -> None:
    link = 'rate = "8 Mbit/s", delay = "20 ms", queue = "60 packets"'
    outage = (
        'handovers = [{ at = "600 ms", dead = "1 s", direction = "forward", queue = "flush", '
        'arrivals = "drop", in_flight = "drop" }]'
    )
    run = captured_path.captured_between(tmp_path, f"{link}, {outage}", link, send="2 MB")
    at_sender = explain(run / "a.pcapng").table("retransmissions")
    for point in "mb":
        found = explain(run / f"{point}.pcapng")
        assert len(found.table("waits")) == 0, "the capture shows no retransmission by a timer"
        spent = found.table("spent")
        assert spent.seconds("application_ns").sum() < 0.01
        assert 1 < spent.seconds("timeout_ns").sum() < 1.5
        # After the timeout, the sender went back to the first lost octet (go-back-N). The packets
        # that were lost in the outage are not in this capture.
        rows = found.table("retransmissions")
        for cause in ("go-back-n", "sack-recovery"):
            assert (rows["cause"] == cause).sum() == (at_sender["cause"] == cause).sum()
        output = said(netspurt, run / f"{point}.pcapng")
        assert "of silence, although no retransmission in the capture shows them" in output
        assert "What an earlier timer would have saved is unknown" in output


def test_a_timeout_in_the_capture_explains_the_whole_silence_before_it(
    netspurt: Command, tmp_path: Path
) -> None:
    """The capture is beside the receiver. The path loses the ACK of a FIN.

    The silence begins when the ACK leaves. The wait begins when the ACK would have arrived.
    """
    fin = FIN | ACK
    packets = [
        (0.02, 0, 100, 0, SYN, 60_000, 0),
        (0.02, 1, 900, 101, SYN_ACK, 60_000, 0),
        (0.06, 0, 101, 901, ACK, 60_000, 0),
        (0.06, 0, 101, 901, ACK, 60_000, 500),
        (0.06, 1, 901, 601, ACK, 60_000, 0),
        (0.10, 0, 601, 901, fin, 60_000, 0),
        (0.10, 1, 901, 602, ACK, 60_000, 0),
        (0.40, 0, 601, 901, fin, 60_000, 0),
        (0.40, 1, 901, 602, ACK, 60_000, 0),
    ]
    file = tmp_path / "b.pcap"
    file.write_bytes(made_up(packets))
    found = explain(file)
    assert found.table("waits").seconds("waited_ns").sum() == pytest.approx(0.26)
    assert found.table("spent").seconds("timeout_ns").sum() == pytest.approx(0.26)
    assert "no retransmission in the capture shows" not in said(netspurt, file)


def test_only_a_capture_beside_the_sender_shows_that_no_retransmission_waited_for_a_timer(
    netspurt: Command, tmp_path: Path
) -> None:
    run = captured_path.captured(tmp_path, send="300 kB", loss=0.005, seed=4)
    outputs = {end: said(netspurt, run / f"{end}.pcapng") for end in "ab"}
    assert "No retransmission waited for a timer" in outputs["a"]
    assert "no retransmission waited for a timer. Only a capture beside the sender" in outputs["b"]
