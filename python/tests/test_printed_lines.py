"""Tests the measures that are computed from RFC 889's table of delays, on made-up tables.

A measure computes the value that a claim of a paper is compared with. For each path, the table has
delays at two lengths of probes or more, and the rate of the line through these delays.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from netspurt.papers import PaperError
from netspurt.papers.data import Paper
from netspurt.papers.tables import account_rows, aliases, path_of, path_rows

from made_up_papers import host, line, measured, paper_with, run

#: A path with delays of 10 ms at 40 octets and 226 ms at 256 octets. 256 octets have 1,728 bits
#: more than 40 octets, and 1,728 bits in 216 ms are 8,000 bit/s.
PLAIN = line("PLAIN", 10, 226, 8000)
#: A path with two lines. The line of short probes rises by 68 ms over 680 bits, and the line of
#: long probes by 131 ms over 1,048 bits.
BENT = line("BENT", 100, 331, 8000, short=(168, 10_000, 200))


def lines(folder: Path, *rows: dict[str, object]) -> Paper:
    """Return a paper with this table of delays."""
    return paper_with(folder, delays=rows)


# Rates.


def test_the_range_of_a_rate_allows_for_delays_rounded_to_a_millisecond(tmp_path: Path) -> None:
    found = measured(lines(tmp_path, PLAIN, BENT), "line_rates", table="delays.csv", row="BENT")
    assert found.value == [10_000, 8000]
    # Each delay may be wrong by half a millisecond.
    expected = [(680 / 0.069, 680 / 0.067), (1048 / 0.132, 1048 / 0.130)]
    assert found.bands == [pytest.approx(band) for band in expected]
    assert found.table[1] == (
        "40 to 125",
        "100 and 168 ms",
        "10000 bit/s",
        "10000 bit/s",
        "9855 and 10149",
    )


@pytest.mark.parametrize("first", range(1, 10))
def test_delays_that_differ_by_a_millisecond_allow_rates_without_an_upper_bound(
    tmp_path: Path, first: float
) -> None:
    paper = lines(tmp_path, line("FAST", first, first + 1, 1e6))
    found = measured(paper, "line_rates", table="delays.csv", row="FAST")
    assert found.value == [1_728_000]
    assert found.bands == [(pytest.approx(864_000), math.inf)]


@pytest.mark.parametrize(
    # 1,728 bits in 215 to 217 ms give 7,963.13 to 8,037.2 bit/s.
    ("rate", "fits"),
    [(7963, False), (7964, True), (8037, True), (8038, False)],
)
def test_the_bits_between_the_ends_of_lines_are_returned_if_the_delays_allow_all_printed_rates(
    tmp_path: Path, rate: float, fits: bool
) -> None:
    paper = lines(tmp_path, line("ODD", 10, 226, rate), BENT)
    found = measured(paper, "fitting_bits", table="delays.csv")
    assert found.value == ([680, 1048, 1728] if fits else None)
    assert found.table[-1] == ("3 rates", "3 agree" if fits else "2 agree", "")
    named = [row[0] for row in found.table[1:-1]]
    assert named == ([] if fits else ["ODD"])


def test_the_speed_of_a_line_is_compared_with_the_rate_of_long_probes(tmp_path: Path) -> None:
    known = line("KNOWN", 100, 331, 8000, short=(168, 10_000, 200), nominal=9600)
    found = measured(
        lines(tmp_path, known, PLAIN), "nominal_rates", table="delays.csv", rows="PLAIN,KNOWN"
    )
    assert found.value == [0.0, 9600.0]
    assert list(found.table[1:]) == [("KNOWN", "8000", "9600", "-16.7 %")]


@pytest.mark.parametrize(
    # The measure returns 0.5 for delays of one direction and 1.0 for round trips: the value with
    # the smaller median error. With 6912 bit/s, the outlier P2 changes which value has the smaller
    # mean error, but not which value has the smaller median error.
    ("rates", "half"),
    [((9600, 4800), 0.5), ((4800, 2400), 1.0), ((5000, 2500), 1.0), ((6912, 3456), 0.5)],
)
def test_rates_show_whether_delays_are_of_one_direction_or_of_round_trips(
    tmp_path: Path, rates: tuple[float, float], half: float
) -> None:
    """A probe of a round trip crosses the line twice, so its delays show half of the speed."""
    rows = [line(f"P{n}", 10, 20, rates[n], nominal=(9600, 4800)[n]) for n in (0, 1)]
    outlier = line("P2", 10, 20, 1, nominal=9600)
    paper = lines(tmp_path, *rows, rows[0] | {"name": "P3"}, outlier)
    found = measured(paper, "halving", table="delays.csv", rows="P0,P1,P2,P3")
    assert found.value == half


# Lines of short and of long probes.


def test_paths_with_one_line_are_counted_by_group(tmp_path: Path) -> None:
    rows = [PLAIN, BENT, PLAIN | {"name": "FAR", "group": "far"}, PLAIN | {"name": "SECOND"}]
    found = measured(lines(tmp_path, *rows), "one_line_paths", table="delays.csv")
    assert found.value == 3
    assert list(found.table[1:]) == [("near", "2", "1"), ("far", "1", "0")]


@pytest.mark.parametrize(("short_rate", "steeper"), [(7999, 1), (8000, 0), (8001, 0)])
def test_a_line_with_a_lower_rate_is_steeper(
    tmp_path: Path, short_rate: float, steeper: int
) -> None:
    bent = BENT | {"short_rate_bps": short_rate}
    found = measured(lines(tmp_path, PLAIN, bent), "steeper_short_lines", table="delays.csv")
    assert found.value == steeper
    assert found.table[0] == ("two lines", "1")


def test_ratios_of_delays_are_sorted_and_ends_of_ranges_count(tmp_path: Path) -> None:
    ends = {"A": (10, 30), "B": (10, 20), "C": (10, 31), "D": (10, 19)}
    rows = [line(name, *both, 8000) for name, both in ends.items()]
    found = measured(lines(tmp_path, *rows), "length_ratios", table="delays.csv")
    assert found.value == [1.9, 3.1]
    assert [row[0] for row in found.table[1:]] == ["D", "B", "A", "C", "from 2 to 3"]
    assert found.table[-1][1] == "2 of 4"


@pytest.mark.parametrize(("others", "value"), [("1.9", [1.1, 1.2]), ("2", None)])
def test_a_range_of_ratios_is_returned_only_if_all_other_ratios_exceed_the_bound(
    tmp_path: Path, others: str, value: list[float] | None
) -> None:
    ends = {"FLAT_1": (10, 12), "FLAT_2": (10, 11), "STEEP": (10, 20), "ASIDE": (10, 13)}
    rows = [line(name, *both, 8000) for name, both in ends.items()]
    found = measured(
        lines(tmp_path, *rows),
        "flat_paths",
        table="delays.csv",
        rows="FLAT_1,FLAT_2",
        aside="ASIDE",
        others=others,
    )
    assert found.value == value


@pytest.mark.parametrize(
    # Without load, the delay of long probes is 200 ms, twice the delay of short probes. Under load,
    # the delay of long probes is `busy_256`.
    ("busy_256", "named"),
    [(399, "X"), (400, ""), (101, "X"), (100, ""), (50, "")],
)
def test_length_counts_more_than_load_if_it_changes_the_delay_by_a_larger_factor(
    tmp_path: Path, busy_256: float, named: str
) -> None:
    rows = [line("X-L", 100, 200, 8000), line("X-H", 100, busy_256, 8000)]
    found = measured(lines(tmp_path, *rows), "length_beats_load", table="delays.csv", hosts="X")
    assert found.value == named


def test_the_delays_of_the_longest_probes_are_compared_with_a_reference(tmp_path: Path) -> None:
    found = measured(
        lines(tmp_path, line("A", 10, 150, 8000), line("B", 10, 90, 8000), line("R", 10, 120, 1)),
        "longest_delays",
        table="delays.csv",
        rows="B,A",
        reference="R",
    )
    assert found.value == [90, 150]
    shown = [("B", "90 ms", "-25 %"), ("A", "150 ms", "+25 %"), ("R", "120 ms", "+0 %")]
    assert list(found.table[1:]) == shown


def test_a_delay_between_printed_lengths_lies_on_the_line_of_its_length(tmp_path: Path) -> None:
    rows = path_rows(lines(tmp_path, PLAIN, BENT), "delays.csv")
    assert rows["PLAIN"].at(148) == pytest.approx(118)  # the middle of 40 and 256 octets
    assert rows["BENT"].at(125) == 168
    assert rows["BENT"].at(126) == 201  # a millisecond for each octet
    corners = [(40, 0.1), (125, 0.168), (126, 0.201), (256, 0.331)]
    assert np.array(rows["BENT"].points()) == pytest.approx(np.array(corners))
    assert rows["PLAIN"].points() == [(40, 0.010), (256, 0.226)]


# Lines of delay, together with accounts (the rows of RFC 889's table of runs).


def test_each_run_gets_the_row_of_its_host_with_the_same_load(tmp_path: Path) -> None:
    paper = paper_with(
        tmp_path,
        delays=[PLAIN, line("X-L", 1, 2, 3), line("X-H", 1, 2, 3)],
        accounts=[run("X"), run("X *"), run("OLD-2"), run("GONE")],
        hosts=[host("X"), host("PLAIN", aliases="OLD OLDER")],
    )
    rows, paths = account_rows(paper, "accounts.csv"), path_rows(paper, "delays.csv")
    known = aliases(paper, "hosts.csv")
    assert known == {"X": "X", "PLAIN": "PLAIN", "OLD": "PLAIN", "OLDER": "PLAIN"}
    chosen = {name: path_of(rows[name], paths, known).name for name in ("X", "X *", "OLD-2")}
    assert chosen == {"X": "X-L", "X *": "X-H", "OLD-2": "PLAIN"}
    with pytest.raises(PaperError, match="GONE: no line of delay against length for GONE"):
        path_of(rows["GONE"], paths, known)


def mean_delay(shortest: int) -> float:
    """Return the mean delay [ms] of the path `PLAIN` over lengths from `shortest` to 256 octets.

    Lengths below 40 octets count as 40. On this path 40 octets take 10 ms, and each further octet
    takes 1 ms.
    """
    return float(np.mean([max(octets, 40) - 30 for octets in range(shortest, 257)]))


def comparable(folder: Path, mean_ms: float) -> Paper:
    """Return a paper with the line of `PLAIN` and a run of random lengths over the same path."""
    accounts = [run("PLAIN", mean_ms=mean_ms), run("PLAIN-1", mean_ms=5), run("PLAIN-2")]
    return paper_with(folder, delays=[PLAIN], hosts=[host("PLAIN")], accounts=accounts)


#: The arguments of measures that compare the three tables of RFC 889.
TABLES = "accounts.csv,delays.csv,hosts.csv"


@pytest.mark.parametrize(("shortest", "rule"), [(0, [0, 256, 40]), (40, [40, 256, 40])])
def test_the_returned_rule_of_random_lengths_is_the_one_that_predicts_the_mean_better(
    tmp_path: Path, shortest: int, rule: list[float]
) -> None:
    # A printed mean is cut off to a whole millisecond.
    paper = comparable(tmp_path, math.floor(mean_delay(shortest)))
    found = measured(paper, "length_rule", tables=TABLES, rows="PLAIN", probes="512")
    assert found.value == rule
    shown = [f"{mean_delay(0):.0f} ms", f"{mean_delay(40):.0f} ms"]
    assert list(found.table[1][2:]) == shown


@pytest.mark.parametrize(("aside", "largest"), [("NONE", 10.0), ("PLAIN", 0.0)])
def test_runs_that_are_set_aside_do_not_count_in_the_largest_error_of_predicted_means(
    tmp_path: Path, aside: str, largest: float
) -> None:
    # The measure adds half a millisecond to the printed mean, because the paper cuts off digits.
    paper = comparable(tmp_path, mean_delay(0) / 1.1 - 0.5)
    found = measured(paper, "predicted_means", tables=TABLES, aside=aside, probes="512")
    assert found.value == pytest.approx(largest)
    (row,) = found.table[1:]
    assert (row[1], row[-1]) == ("PLAIN", "+10.0 %")


def test_a_run_from_another_host_is_not_compared_with_the_usual_lines(tmp_path: Path) -> None:
    paper = paper_with(
        tmp_path,
        delays=[PLAIN | {"name": "UCL"}],
        hosts=[host("UCL")],
        accounts=[run("UCL", "NTA", mean_ms=5000), run("UCL", mean_ms=100)],
    )
    assert list(account_rows(paper, "accounts.csv")) == ["NTA:UCL", "UCL"]
    found = measured(paper, "predicted_means", tables=TABLES, aside="", probes="512")
    assert [row[0] for row in found.table[1:]] == ["UCL"]


def test_the_ratio_of_two_tables_is_a_mean_over_both_lengths(tmp_path: Path) -> None:
    accounts = [run("PLAIN-1", mean_ms=5), run("PLAIN-2", mean_ms=226)]
    paper = paper_with(tmp_path, delays=[PLAIN], hosts=[host("PLAIN")], accounts=accounts)
    found = measured(paper, "table_ratio", tables=TABLES, host="PLAIN")
    assert found.value == pytest.approx((10 / 5 + 226 / 226) / 2)
    assert [row[-1] for row in found.table[1:]] == ["2.00", "1.00"]


def test_each_table_lists_the_paths_of_another_host_in_its_own_order(tmp_path: Path) -> None:
    paper = paper_with(
        tmp_path,
        delays=[line(name, 1, 2, 3, group=group) for name, group in zip("CAB", "NNx", strict=True)],
        accounts=[run("A", "N"), run("B"), run("C", "N")],
    )
    assert measured(paper, "order_of", tables=TABLES, source="N").value == "C A; A C"


def test_the_hosts_of_a_catalogue_are_counted_in_all_and_by_group(tmp_path: Path) -> None:
    paper = paper_with(tmp_path, hosts=[host("A"), host("B", group="far"), host("C")])
    assert measured(paper, "catalogue", table="hosts.csv").value == [3, 2, 1]


# Numbers that a paper prints.


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("sum_of", {"terms": "20,8,12"}, 40),
        ("quotient", {"of": "3", "by": "4"}, 0.75),
        ("largest_of", {"numbers": "-3,-1.5,-2"}, -1.5),
        ("gain_of_durations", {"before": "8", "after": "6"}, 25),
        ("gain_of_durations", {"before": "6", "after": "9"}, -50),
        ("more_than", {"first": "110", "second": "100"}, 10),
        ("quotients", {"amount": "90", "rates": "3,9"}, [90, 30]),
        ("percent_of", {"count": "3", "each": "2", "of": "24,12"}, 25),
    ],
)
def test_arithmetic_on_printed_numbers_has_the_expected_value(
    tmp_path: Path, name: str, arguments: dict[str, str], value: object
) -> None:
    assert measured(paper_with(tmp_path), name, **arguments).value == pytest.approx(value)


def test_the_largest_printed_gain_is_returned_with_its_load(tmp_path: Path) -> None:
    gains = [(10, 9.5), (25, 23), (50, 38), (75, 8)]
    rows = [{"load_percent": load, "gain_percent": gain} for load, gain in gains]
    paper = paper_with(tmp_path, gains=rows)
    assert measured(paper, "largest_printed_gain", table="gains.csv").value == [38, 50]


def test_an_abbreviation_has_exactly_one_name_in_full(tmp_path: Path) -> None:
    rows = [{"abbreviation": "SFR", "name": "Super Fast"}, {"abbreviation": "SF", "name": "Slow"}]
    paper = paper_with(tmp_path, names=rows)
    assert measured(paper, "name_in_full", table="names.csv", word="SFR").value == "Super Fast"
    with pytest.raises(ValueError, match="not enough values"):
        measured(paper, "name_in_full", table="names.csv", word="S")
