"""Tests that a sender without SACK retransmits as Linux does after a partial ACK.

A partial ACK acknowledges some of the data that was outstanding at the beginning of a recovery.
Linux does not retransmit the next lost segment on the partial ACK itself, but on the next ACK.
"""

from __future__ import annotations

import netspurt as ns

#: A transfer without SACK; five packets in a row, 30 to 34, are lost.
SCENARIO = """
stop = "3 s"
[links.wire]
between = ["a", "b"]
rate = "6 Mbit/s"
delay = "20 ms"
queue = "60 packets"
loss = [{ packets = [30, 31, 32, 33, 34] }, "none"]
[flows.x]
from = "a"
to = "b"
profile = "linux-6"
send = "207 segments"
pause = "200 ms"
tcp = { congestion = "reno", sack = false, recovery = "newreno", acks = "every segment", \
receive_buffer = "2 MB" }
"""


def test_the_next_lost_segment_is_retransmitted_one_ack_after_the_partial_ack() -> None:
    """Linux 6.18.44 sends nothing on the first partial ACK, and sends packet 31 on the next ACK.

    The reason is proportional rate reduction (RFC 9937).
    """
    run = ns.Scenario.parse(SCENARIO).run()
    seen = run.segments
    own = seen["node"] == "a"
    rows = list(
        zip(
            seen["t_ns"][own].tolist(),
            seen["kind"][own].tolist(),
            seen["packet"][own].tolist(),
            strict=True,
        )
    )
    first = next(n for n, row in enumerate(rows) if row[1:] == ("ack", 30))
    behind = rows[first + 1 : first + 4]
    assert [row[1:] for row in behind[:2]] == [("dupack", 30), ("retransmission", 31)], behind
    assert behind[1][0] == behind[0][0] > rows[first][0]
    assert run.flows["retransmissions"].tolist() == [5]
