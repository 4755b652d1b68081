"""Compares the profile `ns-2` with the simulator ns-2.35 in random cases.

The cases vary losses, queues, sudden changes of the delay, clocks and receivers. An answer has the
events of ns-2 in one case. A case counts only if a change of 1 ns in the delay of the slowest link
leaves the order of packets in ns-2 as it was. A tie is two events at one instant, whose order in
ns-2 depends on the rounding of floating-point numbers.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from ns2_exact import decided_by_doubles
from ns2_fresh import verdict

from ns2_cases import Difference, cases, drive, first_difference, rows_of, scenario_of, table
from ns2_ties import coincidences, reach_ns

#: Cases that count, but in which netspurt differs from ns-2 because of a tie. The two events are a
#: departure and an arrival, or an arrival and the end of a hold (the wait of a delayed ACK). Their
#: exact instants are equal. As floating-point numbers, they differ in the last bits: the event that
#: ns-2 scheduled last comes out earlier, so ns-2 runs it first. The order in ns-2 changes if the
#: rate changes by 1e-8 of its value, or if the hold changes by 1 ns.
ROUNDED = {2, 3, 12}

#: The seed of the new cases, and how many new cases there are. They are not stored, so the tests
#: run them with ns-2.
FRESH_SEED, FRESH_COUNT = 77, 60

#: How many of the new cases are also run with a wrong initial window and compared.
WRONG_COUNT = 20


@cache
def answers() -> list[table.Answer]:
    """Return the stored answers of ns-2."""
    return table.read()


@cache
def differences() -> dict[int, Difference]:
    """Return the first difference of each case that differs from ns-2, by the case's number."""
    found = {}
    for number, answer in enumerate(answers()):
        difference = difference_of(answer)
        if difference is not None:
            found[number] = difference
    return found


def difference_of(answer: table.Answer) -> Difference | None:
    """Return the first difference between our run of a case and ns-2's answer."""
    return first_difference(rows_of(scenario_of(answer.case).run()), answer.rows)


def is_near_a_coincidence(answer: table.Answer, difference: Difference) -> bool:
    """Return whether our run has two events at one instant shortly before the first difference."""
    sides = (difference.ours, difference.theirs)
    parted = max(row.us for row in sides if row is not None) * 1000 + 5000
    times = coincidences(answer.case)
    return bool(np.any((times <= parted) & (times >= parted - reach_ns(answer.case))))


def test_at_least_150_cases_count_and_at_least_15_of_each_sender() -> None:
    clear = Counter(a.case["recovery"] for a in answers() if a.tie != "delay")
    assert clear.total() >= 150
    assert set(clear) == set(cases.RECOVERIES)
    assert min(clear.values()) >= 15


def test_the_cases_have_all_values_of_eight_settings() -> None:
    for name, values in {
        "tick": {0.5, 0.1, 0.01, 0.001},
        "minrto": {0, 0.2, 1},
        "delayed_ack": {0, 0.1, 0.2},
        "limited_transmit": {0, 1},
        "bugfix": {0, 1},
        "initial_window": set(range(1, 11)),
        "window": {4, 8, 12, 20, 32, 50, 64, 100},
        "packet": {296, 500, 576, 1000, 1460, 1500},
    }.items():
        assert {answer.case[name] for answer in answers()} == values, name
    assert sum(1 for a in answers() if a.case["delays"]) > 50
    assert sum(1 for a in answers() if a.case["drops"]) > 100


def test_only_three_of_the_cases_that_count_differ_from_ns2_in_a_packet() -> None:
    """The order and the round trips in ticks must be equal. Times may differ by at most 5 us."""
    parted = {number for number in differences() if answers()[number].tie != "delay"}
    assert parted == ROUNDED, {n: differences()[n] for n in parted ^ ROUNDED}


def test_every_difference_comes_from_a_tie_in_ns2_and_a_coincidence_in_netspurt() -> None:
    for number, difference in differences().items():
        assert answers()[number].tie, number
        assert is_near_a_coincidence(answers()[number], difference), (number, difference)


def test_every_fourth_stored_answer_equals_a_new_run_of_ns2() -> None:
    if not drive.available():
        pytest.skip("ns-2 is not installed: its stored answers are not made anew")
    for number, answer in list(enumerate(answers()))[::4]:
        assert drive.run(answer.case) == answer.rows, number


def test_new_cases_equal_ns2_packet_for_packet_except_at_ties_that_rounding_decides() -> None:
    if not drive.available():
        pytest.skip("ns-2 is not installed: no new cases are compared")
    verdicts = [verdict(case) for case in cases.draw(FRESH_SEED, FRESH_COUNT)]
    assert "clear" not in verdicts, verdicts.index("clear")
    assert verdicts.count("same") >= FRESH_COUNT * 9 // 10


def test_ties_rarely_explain_the_difference_that_a_wrong_initial_window_makes() -> None:
    if not drive.available():
        pytest.skip("ns-2 is not installed: no wrong initial windows are compared")
    parted = []
    for case in cases.draw(FRESH_SEED, WRONG_COUNT):
        changed = {**case, "initial_window": 1 + int(str(case["initial_window"])) % 10}
        own_rows, ns2_rows = rows_of(scenario_of(changed).run()), drive.run(case)
        if first_difference(own_rows, ns2_rows) is not None:
            parted.append(not decided_by_doubles(case, own_rows, ns2_rows))
    assert len(parted) >= WRONG_COUNT * 9 // 10
    assert sum(parted) > len(parted) * 9 // 10


def test_the_seed_draws_the_first_five_stored_cases_again() -> None:
    first = cases.draw(20260, 5)
    assert [answer.case for answer in answers()[:5]] == first


def test_a_wrong_minimum_rto_or_a_wrong_sender_changes_some_cases() -> None:
    """Checks that the comparison finds a wrong minimum RTO, and finds NewReno in place of Reno."""
    clear = [a for n, a in enumerate(answers()) if a.tie != "delay" and n not in ROUNDED]
    floored = [a for a in clear if a.case["minrto"] == 0]
    wrong = [a._replace(case={**a.case, "minrto": 1}) for a in floored]
    assert sum(difference_of(a) is not None for a in wrong) > len(wrong) // 8
    reno = [a for a in clear if a.case["recovery"] == "reno"]
    wrong = [a._replace(case={**a.case, "recovery": "newreno"}) for a in reno]
    assert sum(difference_of(a) is not None for a in wrong) > len(wrong) // 5
