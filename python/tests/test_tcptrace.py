"""The statistics of `netspurt explain` beside those of tcptrace on the same captures."""

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

#: tcptrace has faults here that every capture with data shows; see its list of reasons.
FAULTY = (
    *("RTT_full_sz", "RTT full_sz", "wavg_owin", "duplicate_acks", "triple_dupacks"),
    "avg_win_adv",
)

needs_tcptrace = pytest.mark.skipif(
    shutil.which("tcptrace") is None, reason="tcptrace is not installed"
)


@needs_tcptrace
@pytest.mark.skipif(not captures(), reason="the sample captures are not there")
@pytest.mark.parametrize("file", captures(), ids=lambda file: file.name)
def test_statistics_are_those_of_tcptrace_but_for_the_differences_listed(file: Path) -> None:
    known = {one for one in listed() if one.file == file.name}
    assert set(differences(file.name, theirs(file), ours(file))) == known


@needs_tcptrace
@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("side", ["source", "receiver"])
def test_statistics_of_simulated_captures_are_those_of_tcptrace(
    tmp_path: Path, loss: float, side: str
) -> None:
    scenario = ns.new_scenario().replace({"stop": "20 s", "record.capture": True})
    scenario = scenario.replace({"record.spy": ["source", "receiver"]})
    if loss:
        scenario = scenario.replace({f"links.{LINK}.loss.probability": loss})
    file = scenario.run().save(tmp_path / "run") / f"{side}.pcapng"
    found = theirs(file)
    packets = sum(
        int(row[f"total_packets_{way}"]) for row in found.values() for way in ("a2b", "b2a")
    )
    assert packets > 100
    left = list(differences(file.name, found, ours(file)))
    assert [one for one in left if not one.column.startswith(FAULTY)] == []


def test_every_difference_listed_has_a_reason_that_is_told() -> None:
    told = set(re.findall(r"^\| `([a-z-]+)` \|", (LISTED.parent / "README.md").read_text(), re.M))
    assert {*listed().values(), *REASONS.values(), *OTHER_REASONS} <= told
