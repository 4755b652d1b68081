"""Tests that netspurt counts the probes and replies in other people's recordings of delays.

The expected counts are in a table beside the recordings. The recordings are not part of the
repository. If they are missing, the tests are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import netspurt as ns
from netspurt.timers import USUAL

from conftest import ROOT

#: The folder of the recordings. The variable NETSPURT_DELAYS may name it.
FOLDER = Path(os.environ.get("NETSPURT_DELAYS", ROOT.parent / "shared" / "delays"))


def rows() -> dict[str, tuple[int, ...] | None]:
    """Return each file's counts of recordings, probes, replies, losses and duplicates.

    The counts come from the table in the folder's `README.md`. If the table lacks a count of a
    file, the result for this file is `None`.
    """
    table = FOLDER / "README.md"
    if not table.is_file():
        return {}
    found: dict[str, tuple[int, ...] | None] = {}
    lines = table.read_text().partition("## Files")[2].splitlines()
    for line in [line for line in lines if line.startswith("| ")][1:]:
        cells = [cell.strip() for cell in line.split("|")]
        counts = cells[9:14]
        known = all(cell.isdigit() for cell in counts)
        found[cells[1]] = tuple(map(int, counts)) if known else None
    return found


@pytest.fixture
def table() -> dict[str, tuple[int, ...] | None]:
    """Return what the function `rows` returns, or skip the test if there are no counts."""
    if not rows():
        pytest.skip(f"no recordings of other people in {FOLDER}: set NETSPURT_DELAYS")
    return rows()


def test_every_file_has_the_counts_of_the_table(table: dict[str, tuple[int, ...] | None]) -> None:
    differences = []
    for name, expected in table.items():
        try:
            recordings = ns.read_delays(FOLDER / name)
        except ns.DelaysError as error:
            # Only traceroutes, and summaries without samples, may be refused. The error names them.
            if not {"summary", "traceroutes"} & set(str(error).replace(",", " ").split()):
                differences.append(f"{name}: {error}")
            continue
        sums = (
            sum(getattr(recording, what) for recording in recordings)
            for what in ("sent", "received", "lost", "duplicates")
        )
        counted = (len(recordings), *sums)
        if counted != expected:
            differences.append(f"{name}: {counted}, not {expected}")
    assert differences == []
    assert len(table) > 20


def test_advice_picks_a_timer_only_if_it_compared_costs(
    table: dict[str, tuple[int, ...] | None],
) -> None:
    advised = 0
    for name, expected in table.items():
        if expected is None or name == "pingparsing__ping.txt" or expected[2] == 0:
            continue
        for path in ns.read_delays(FOLDER / name):
            try:
                advice = ns.advise([ns.replay(path, USUAL)])
            except ns.ReplayError:
                # The delays are smoothed, or the file has no probes or no times of sending.
                continue
            assert "nan" not in str(advice), name
            advised += advice.weighing is not None
            picked = advice.pick in {*advice.asked, *advice.alike, *advice.tuned}
            assert picked == (advice.weighing is not None), name
    assert advised >= 8
