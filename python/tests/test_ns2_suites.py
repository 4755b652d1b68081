"""Compares the profile `ns-2` with the simulator ns-2.35 in the cases of ns-2's own test suites.

Debian's ns-2 made the stored events with `authorities/ns2/suites/driver.tcl`. The settings of the
cases come from the suites. They are in `cases.toml` in the same folder.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from ns2_suites import first_difference, rows_of, scenario_of, suites

#: The cases of the suites.
CASES = suites.read_cases()

#: In this case, a packet reaches a full queue at the instant at which another packet leaves it.
#: ns-2 computes the two instants in floating-point numbers, which differ in the last bit.
TIES = {"newreno/slow4"}

#: In these cases ns-2's random numbers decide which packets RED drops.
RANDOM = {f"tcp-init-win/{name}4" for name in ("tahoe", "reno", "newreno", "sack")}


@cache
def answers() -> dict[str, list[suites.Row]]:
    """Return the stored events of ns-2, by the title of the case."""
    return suites.read()


def ours(case: suites.Case) -> list[suites.Row]:
    """Run a case, and return its events."""
    return rows_of(case, scenario_of(case).run())


def test_all_cases_of_the_three_suites_are_stored() -> None:
    assert Counter(case.suite for case in CASES) == {"newreno": 64, "frto": 8, "tcp-init-win": 25}
    assert list(answers()) == [case.title for case in CASES]
    assert all(len(answers()[case.title]) > 40 for case in CASES)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.title not in TIES | RANDOM], ids=lambda case: case.title
)
def test_every_event_equals_that_of_ns2(case: suites.Case) -> None:
    """Packets, order and round trips in ticks must be equal. Times may differ by at most 5 us."""
    difference = first_difference(ours(case), answers()[case.title])
    assert difference is None, difference


@pytest.mark.parametrize("case", [c for c in CASES if c.title in TIES], ids=lambda case: case.title)
def test_a_case_with_a_tie_agrees_with_ns2_up_to_a_drop(case: suites.Case) -> None:
    """The first difference must be a drop at an instant at which a packet leaves the full queue.

    A packet takes 1,040 us on a link of 8 Mbit/s, and 10,400 us on a link of 800 kbit/s. So from
    1,040 us after the last burst began, a packet can leave the full queue every 10,400 us.
    """
    difference = first_difference(ours(case), answers()[case.title])
    assert difference is not None
    _, _, theirs = difference
    assert theirs is not None
    assert theirs.event == "drop"
    queued = [row for row in answers()[case.title] if row.us < theirs.us and row.event == "send"]
    burst = [row.us for row in queued if row.us == queued[-2].us]
    assert (theirs.us - burst[0] - 1040) % 10_400 == 0


@pytest.mark.parametrize("case", [c for c in CASES if c.title in RANDOM], ids=lambda c: c.title)
def test_every_event_before_the_first_drop_by_the_aqm_red_equals_that_of_ns2(
    case: suites.Case,
) -> None:
    ns2_rows = answers()[case.title]
    first = min(row.us for row in ns2_rows if row.event == "drop")
    early = [row for row in ns2_rows if row.us < first]
    mine = [row for row in ours(case) if row.us < first]
    assert len(early) > 20
    assert first_difference(mine, early) is None


def test_the_stored_events_equal_a_new_run_of_ns2() -> None:
    if not suites.available():
        pytest.skip("ns-2 is not installed: the stored events of its suites are not made anew")
    for case in CASES:
        assert suites.run(case) == answers()[case.title], case.title


@pytest.mark.parametrize(
    "key",
    [
        "handshake",
        "headers_on_top",
        "initial_window_by_size",
        "precise_cut",
        "limited_transmit",
        "bugfix",
        "bugfix_ss",
        "frto",
        "timestamps",
        "newreno.impatient",
        "newreno.deflates",
        "newreno.exit_fix",
        "newreno.less_careful",
        "newreno.bugfix_ack",
        "newreno.bugfix_ts",
        "partial_ack_sends",
        "sink.gaps_at_once",
        "sink.first_at_once",
    ],
)
def test_a_wrong_switch_changes_the_events_of_a_case(key: str) -> None:
    """The opposite value of a switch changes the events of at least one case."""

    def wrong(flow: suites.Flow) -> suites.Flow:
        return flow._replace(switches={**flow.switches, key: not flow.switches[key]})

    parted = 0
    for case in CASES:
        if case.title in TIES | RANDOM:
            continue
        changed = case._replace(flows=[wrong(flow) for flow in case.flows])
        parted += first_difference(ours(changed), answers()[case.title]) is not None
        if parted:
            return
    assert parted, key
