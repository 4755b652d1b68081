"""Tests that `netspurt explain` names the end whose application made the other end wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.analysis.let_wait import let_wait
from netspurt.captures import explain
from netspurt.report.findings import finding

from captured_path import captured
from conftest import Command

#: The client waits before each request except the first. The server waits before each reply.
TALK = 'app = {{ reply = "20 kB", requests = 20, think = "{think}", serve = "{serve}" }}'


@pytest.mark.parametrize(
    ("think", "serve", "end"),
    [("5 ms", "400 ms", "10.0.0.2 (port 5001)"), ("400 ms", "5 ms", "10.0.0.1 (port 10000)")],
    ids=["server", "client"],
)
@pytest.mark.parametrize("beside", ["a", "b"])
def test_netspurt_explain_names_the_end_whose_application_made_the_other_end_wait(
    tmp_path: Path, netspurt: Command, think: str, serve: str, end: str, beside: str
) -> None:
    more = TALK.format(think=think, serve=serve)
    file = captured(tmp_path, send="1 kB", more=more) / f"{beside}.pcapng"
    found = explain(file)
    (one,) = let_wait(found.tables)
    assert one.end == end
    # There are at least 19 waits of 400 ms, because the client does not wait before the first
    # request. A capture beside the end that waits adds a round trip to each wait.
    assert 7.59 <= one.waited_s < 20 * 0.5
    words = " ".join(netspurt("explain", file).stdout.split())
    assert (
        f"For {one.waited_s:.3g} s of this time the connection waited for data from {end}" in words
    )
    # In a capture beside the end that waits, lost or late data looks like a slow application.
    own = end.startswith({"a": "10.0.0.1", "b": "10.0.0.2"}[beside])
    told = (
        "Look at this application first." if own else "Only a capture beside this end shows which"
    )
    assert words.index(told) < words.index("retransmission waited for a timer")
    assert one.is_seen == own
    assert end in finding(found, [])


def test_a_busy_connection_waits_for_no_application(tmp_path: Path) -> None:
    found = explain(captured(tmp_path, rate="4 Mbit/s") / "a.pcapng")
    assert let_wait(found.tables) == []
