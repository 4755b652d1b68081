"""Tests think times of a client that delays its ACK of the end of a reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.captures import explain

from captured_path import captured

#: A client that delays its ACKs, asks 30 times, and thinks for 200 ms after each reply.
ASKS = """tcp.nagle = false
tcp.quick_acks = "0 segments"
tcp.acks = {{ delayed = "40 ms" }}
app = {{ reply = "{reply}", requests = 30, think = "200 ms", serve = "{serve}" }}
"""


def application_s(folder: Path, reply: str, serve: str) -> list[float]:
    """Return how long the applications made each other wait [s], as two captures show it.

    The first capture was taken beside the client, the second one beside the server.
    """
    more = ASKS.format(reply=reply, serve=serve)
    run = captured(folder, send="300 B", more=more)
    tables = [explain(run / f"{end}.pcapng").table("spent") for end in "ab"]
    return [float(spent.seconds("application_ns").sum()) for spent in tables]


@pytest.mark.parametrize(("reply", "serve"), [("7240 B", "2 ms"), ("20 kB", "30 ms")])
def test_both_captures_count_the_delay_of_a_last_ack_as_think_time(
    tmp_path: Path, reply: str, serve: str
) -> None:
    """The client thinks 29 times for 200 ms. The server takes 30 ms or 2 ms for each of 30 replies.

    Times of 2 ms are too short to be counted.
    """
    served = 30 * 0.03 if serve == "30 ms" else 0
    for found in application_s(tmp_path, reply, serve):
        assert found == pytest.approx(29 * 0.2 + served, abs=0.07)
