"""Tests what `netspurt explain` says about the place of a capture, and about late originals."""

from __future__ import annotations

from pathlib import Path

import pytest

from netspurt.captures import explain
from netspurt.cli.pooled import lost_before

from captured_path import captured_between
from conftest import Command

FAR = 'rate = "100 Mbit/s", delay = "25 ms"'


@pytest.mark.parametrize(("near", "away"), [("1 ms", "2 ms"), ("0.5 ms", "1 ms")])
def test_a_capture_near_a_host_is_not_said_to_be_on_it(
    tmp_path: Path, netspurt: Command, near: str, away: str
) -> None:
    folder = captured_between(tmp_path, f'rate = "1 Gbit/s", delay = "{near}"', FAR)
    for node, told in (
        ("a", "beside 10.0.0.1, which sent all the data."),
        ("m", f"beside 10.0.0.1 (a round trip of at most {away} away), which sent all the data."),
        ("b", "beside 10.0.0.3, which received all the data."),
    ):
        words = " ".join(netspurt("explain", folder / f"{node}.pcapng").stdout.split())
        assert f"The capture was taken {told}" in words, node


def test_an_original_that_comes_after_its_copy_is_not_reported_as_missing(tmp_path: Path) -> None:
    reorder = 'order = "overtaking", reorder = { probability = 0.01, by = "120 ms" }'
    near = f'rate = "1 Gbit/s", delay = "5 ms", {reorder}'
    found = explain(captured_between(tmp_path, near, FAR) / "m.pcapng")
    table = found.table("retransmissions")
    late = table["original_late"]
    assert late.sum() > 0
    assert (table["original_missing"] >= late).all()
    assert (table["verdict"][late] == "spurious").all()
    assert list(lost_before(found)) == []
