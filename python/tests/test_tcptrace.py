"""Compares the statistics of `netspurt explain` with those of tcptrace, on the same captures."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tcptrace_agreement import (
    LISTED,
    OTHER_REASONS,
    REASONS,
    captures,
    differences,
    listed,
    ours,
    theirs,
)

import netspurt as ns

#: Columns that tcptrace computes wrongly for the simulated captures of this file. The file
#: authorities/tcptrace/README.md gives the reasons.
FAULTY = (
    *("RTT_full_sz", "RTT full_sz", "wavg_owin", "duplicate_acks", "triple_dupacks"),
    *("avg_win_adv", "initial_window", "avg_owin"),
)

#: Skips a test if tcptrace is not installed.
needs_tcptrace = pytest.mark.skipif(
    shutil.which("tcptrace") is None, reason="tcptrace is not installed"
)


@needs_tcptrace
@pytest.mark.skipif(not captures(), reason="the sample captures are not there")
@pytest.mark.parametrize("file", captures(), ids=lambda file: file.name)
def test_statistics_agree_with_tcptrace_except_for_the_listed_differences(file: Path) -> None:
    known = {difference for difference in listed() if difference.file == file.name}
    assert set(differences(file.name, theirs(file), ours(file))) == known


@needs_tcptrace
@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("side", ["source", "receiver"])
def test_statistics_of_simulated_captures_agree_with_tcptrace(
    tmp_path: Path, loss: float, side: str
) -> None:
    scenario = ns.new_scenario().replace(
        {"stop": "200 s", "flows.transfer.send": "200 segments", "record.capture": True}
    )
    scenario = scenario.replace({"record.spy": ["source", "receiver"]})
    if loss:
        scenario = scenario.replace({"links.t1.loss.probability": loss})
    file = scenario.run().save(tmp_path / "run") / f"{side}.pcapng"
    tcptrace_rows = theirs(file)
    packets = sum(
        int(row[f"total_packets_{way}"]) for row in tcptrace_rows.values() for way in ("a2b", "b2a")
    )
    assert packets > 100
    left = list(differences(file.name, tcptrace_rows, ours(file)))
    assert [difference for difference in left if not difference.column.startswith(FAULTY)] == []


def test_every_listed_difference_has_a_documented_reason() -> None:
    documented = set(
        re.findall(r"^\| `([a-z-]+)` \|", (LISTED.parent / "README.md").read_text(), re.M)
    )
    assert {*listed().values(), *REASONS.values(), *OTHER_REASONS} <= documented
