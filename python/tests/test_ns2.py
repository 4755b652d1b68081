"""Compares the profile `ns-2` with the simulator ns-2.35 in the runs of RFC 2416.

A stored trace has the events of ns-2 in one run. A row of a trace is one event at the sender or one
drop.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ns2_cases import AUTHORITY, Row, drive, first_difference, rows_of, scenario_of

#: The files of the stored traces.
TRACES = sorted((AUTHORITY / "rfc2416").glob("*.csv"))


def read(path: Path) -> list[Row]:
    """Return the rows of a stored trace."""
    with path.open(newline="") as file:
        return [
            Row(int(r["us"]), r["event"], int(r["packet"]), int(r["rtt_ticks"]))
            for r in csv.DictReader(file)
        ]


def case_of(path: Path) -> dict[str, object]:
    """Return the settings of a trace's run. The name of the trace's file states them."""
    recovery, window, limited = path.stem.split("-")
    return {
        "recovery": recovery,
        "initial_window": int(window.removeprefix("iw")),
        "limited_transmit": int(limited.removeprefix("lt")),
    }


def test_all_twenty_traces_are_stored() -> None:
    assert len(TRACES) == 20


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.stem)
def test_the_runs_of_rfc2416_equal_ns2_within_five_microseconds_over_240_seconds(
    path: Path,
) -> None:
    """Compares all sends, retransmissions, ACKs, timeouts and drops.

    At each event of the sender, the last round trip in ticks is compared, too.
    """
    ns2_rows = read(path)
    assert len(ns2_rows) > 580
    assert first_difference(rows_of(scenario_of(case_of(path)).run()), ns2_rows) is None


@pytest.mark.parametrize("path", TRACES[::7], ids=lambda p: p.stem)
def test_every_seventh_trace_equals_a_new_run_of_ns2(path: Path) -> None:
    if not drive.available():
        pytest.skip("ns-2 is not installed: its stored traces are not made anew")
    assert drive.run(case_of(path)) == read(path)


def test_the_comparison_finds_wrong_settings_a_late_event_and_missing_drops() -> None:
    ns2_rows = read(TRACES[0])
    own_rows = rows_of(scenario_of({**case_of(TRACES[0]), "minrto": 1.0, "tick": 0.5}).run())
    assert first_difference(own_rows, ns2_rows) is not None
    late = [row._replace(us=row.us + 6) if n == 40 else row for n, row in enumerate(ns2_rows)]
    assert first_difference(late, ns2_rows) is not None
    lost = [row for row in ns2_rows if row.event != "drop"]
    assert first_difference(lost, ns2_rows) is not None
