"""Tests the time that a lower minimum RTO saves.

The prediction of `netspurt explain` is compared with a simulation that has the lower minimum.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netspurt.analysis.remedies import Silences, remedies, silences
from netspurt.captures import explain
from netspurt.scenario import Scenario
from netspurt.table import Table

#: A scenario with a server whose replies cross a lossy link. The function `waits` fills in the
#: fields.
REPLIES = """
stop = "600 s"
seed = 5
[links.path]
between = ["client", "server"]
rate    = "100 Mbit/s"
delay   = "20 ms"
queue   = "1000 packets"
loss    = ["none", {{ probability = 0.03 }}]
[flows.web]
from    = "client"
to      = "server"
count   = {count}
every   = "300 ms"
send    = "200 B"
app     = {{ {app} }}
profile = "linux-6"
tcp.tlp = false
tcp.rto.min = "{min_ms} ms"
{more}
[record]
spy     = ["server"]
capture = true
tables  = ["segments", "drops"]
"""


def waits(
    folder: Path, min_ms: int, *, count: int, app: str, more: str = ""
) -> tuple[dict[str, Table], Silences, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Simulate replies with this minimum RTO, and explain the server's capture.

    Return the tables of the capture, its silences, and the waits with one timeout [s].
    """
    text = REPLIES.format(count=count, app=app, min_ms=min_ms, more=more)
    run = Scenario.parse(text, name="replies").run()
    run.save(folder / f"{min_ms}")
    tables = explain(folder / f"{min_ms}" / "server.pcapng").tables
    of = silences(tables)
    return dict(tables), of, of.waited_s[of.timeouts == 1]


@pytest.mark.parametrize(
    ("count", "app"),
    [(1500, 'reply = "6 kB", requests = 1'), (500, 'reply = "30 kB", requests = 4')],
)
def test_the_predicted_saving_equals_that_of_a_linux_sender_with_the_lower_minimum(
    tmp_path: Path, count: int, app: str
) -> None:
    """Linux lowers rttvar only once a round trip, so short connections save less than long ones."""
    tables, _, before_s = waits(tmp_path, 200, count=count, app=app)
    _, _, after_s = waits(tmp_path, 40, count=count, app=app)
    saved_s = (before_s.mean() - after_s.mean()) * len(before_s)
    (predicted,) = (one for one in remedies(tables) if one.floor_s == 0.04)
    assert predicted.saved_s.value == pytest.approx(saved_s, rel=0.1)
    assert all(one.floor_s != 0.02 for one in remedies(tables)), (
        "20 ms must not save much more than 40 ms"
    )


def test_a_lower_minimum_is_examined_without_sack_even_if_new_data_followed_duplicate_acks(
    tmp_path: Path,
) -> None:
    """New data on duplicate ACKs makes a wait shorter, but does not restart the timer."""
    app = 'reply = "30 kB", requests = 4'
    more = 'tcp.sack = false\ntcp.recovery = "newreno"'
    tables, of, before_s = waits(tmp_path, 200, count=500, app=app, more=more)
    assert of.above_srtt_s.min() > 0.19
    _, _, after_s = waits(tmp_path, 40, count=500, app=app, more=more)
    saved_s = (before_s.mean() - after_s.mean()) * len(before_s)
    (predicted,) = (one for one in remedies(tables) if one.floor_s == 0.04)
    assert predicted.saved_s.value == pytest.approx(saved_s, rel=0.2)
