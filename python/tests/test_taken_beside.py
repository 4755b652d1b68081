"""What `netspurt explain` says about the place of a capture, and about originals that came late."""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.captures import explain
from netspurt.cli.pooled import lost_before
from netspurt.scenario import Scenario

from conftest import Command

PATH = """
stop = "60 s"
[path]
nodes = ["a", "m", "b"]
links = [
    {{ rate = "1 Gbit/s", delay = "{near}", {reorder} }},
    {{ rate = "100 Mbit/s", delay = "25 ms", {loss} }},
]
[flows.x]
from    = "a"
to      = "b"
profile = "linux-6"
send    = "1 MB"
[record]
spy     = ["a", "m", "b"]
capture = true
"""


def run(folder: Path, near: str, reorder: str = "", loss: str = "") -> Path:
    """Return the folder of a transfer that was captured at both ends and between them."""
    scenario = Scenario.parse(PATH.format(near=near, reorder=reorder, loss=loss), name="path")
    scenario.run().save(folder / "run")
    return folder / "run"


@pytest.mark.parametrize(("near", "away"), [("1 ms", "2 ms"), ("0.5 ms", "1 ms")])
def test_a_capture_near_a_host_is_not_said_to_be_on_it(
    tmp_path: Path, netspurt: Command, near: str, away: str
) -> None:
    folder = run(tmp_path, near)
    for node, told in (
        ("a", "beside 10.0.0.1, which sent all the data."),
        ("m", f"beside 10.0.0.1 (a round trip of at most {away} away), which sent all the data."),
        ("b", "beside 10.0.0.3, which received all the data."),
    ):
        words = " ".join(netspurt("explain", folder / f"{node}.pcapng").stdout.split())
        assert f"The capture was taken {told}" in words, node


def test_an_original_that_its_copy_overtook_is_not_said_to_have_never_come(tmp_path: Path) -> None:
    reorder = 'order = "overtaking", reorder = { probability = 0.01, by = "120 ms" }'
    found = explain(run(tmp_path, "5 ms", reorder) / "m.pcapng")
    table = found.table("retransmissions")
    late = table["original_late"]
    assert late.sum() > 0
    assert (table["original_missing"] >= late).all()
    assert (table["verdict"][late] == "spurious").all()
    assert list(lost_before(found)) == []
