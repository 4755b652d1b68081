"""Tests that the statistics of delays find effects that a test plants, and no other effects.

Some tests also check the printed tables of RFC 889, which reports delays on paths of 1983.
"""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from netspurt.analysis import (
    Account,
    Load,
    Sums,
    block_bootstrap,
    busy_against_quiet,
    contradictions,
    find_glitches,
    find_period,
    fit_lengths,
    label_by_delay,
    paired_difference,
    rate_band,
    rate_table,
)

from conftest import ROOT

PAPER = ROOT / "papers" / "rfc889"


def printed() -> list[Account]:
    """Return the rows of RFC 889's table of runs: the total time of each run and its parts."""
    with (PAPER / "efficiency.csv").open(newline="") as file:
        return [Account.of(row) for row in csv.DictReader(file)]


def two_lines(seed: int = 1, noise: float = 0.01) -> tuple[NDArray[np.int_], NDArray[np.float64]]:
    """Return lengths of probes and their delays [s], which lie on one line up to 125 octets.

    The delays of longer probes lie on another line.
    """
    rng = np.random.default_rng(seed)
    octets = np.maximum(rng.integers(0, 257, 2000), 40)
    line = np.where(octets < 126, 0.1 + 0.003 * octets, 0.5 + 0.001 * octets)
    return octets, line + rng.exponential(noise, len(octets)) - noise


@pytest.mark.parametrize("break_at", [126, "find"])
def test_known_lines_are_found_within_two_percent(break_at: int) -> None:
    octets, delay = two_lines()
    delay[::50] = np.nan
    fit = fit_lengths(octets, delay, break_at=break_at)
    assert fit.break_octets is not None
    assert abs(fit.break_octets - 126) <= 1
    for line, intercept, slope in zip(fit.lines, (0.1, 0.5), (0.003, 0.001), strict=True):
        assert line.intercept_s == pytest.approx(intercept, rel=0.02)
        assert line.slope_s == pytest.approx(slope, rel=0.02)
    assert sum(line.probes for line in fit.lines) == 1960


def test_a_path_without_fragmentation_has_one_line_and_one_rate() -> None:
    octets = np.arange(40, 257)
    table = rate_table(fit_lengths(octets, 0.05 + 8 * octets / 4800, break_at=None))
    assert table.octets == (40, 256)
    (rate,) = table.rates_bps
    assert rate == pytest.approx(4800)
    both = rate_table(fit_lengths(octets, 0.05 + 8 * octets / 4800))
    assert both.octets == (40, 125, 125, 256)


def test_probes_that_give_no_line_are_refused_with_the_reason() -> None:
    same = np.full(50, 40)
    with pytest.raises(ValueError, match=r"all lengths: .* \(probes: 50, different lengths: 1\)"):
        fit_lengths(same, np.ones(50), break_at=None)
    with pytest.raises(ValueError, match="lengths from 126 B"):
        fit_lengths(np.arange(40, 100), np.ones(60))
    with pytest.raises(ValueError, match="to find a break"):
        fit_lengths(same, np.ones(50), break_at="find")
    with pytest.raises(ValueError, match="shapes"):
        fit_lengths(same, np.ones(49))


def test_every_printed_rate_follows_from_the_printed_delays() -> None:
    with (PAPER / "delays.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rates = 0
    for row in rows:
        ends = [("delay40_ms", "delay125_ms", "short_rate_bps", 85)] if row["delay125_ms"] else []
        long = ("delay125_long_ms", "delay256_ms", "long_rate_bps", 131)
        ends.append(long if row["delay125_ms"] else ("delay40_ms", *long[1:3], 216))
        for a, b, rate, octets in ends:
            low, high = rate_band(octets, int(row[a]) / 1e3, int(row[b]) / 1e3, unit=1e-3)
            assert low <= int(row[rate]) <= high, f"{row['name']}: {rate}"
            rates += 1
    assert (len(rows), rates) == (30, 49)


def test_every_printed_row_is_consistent_and_a_wrong_value_is_named() -> None:
    rows = printed()
    assert len(rows) == 52
    assert [contradictions(row) for row in rows if contradictions(row)] == []
    facc = next(row for row in rows if row.name == "FACC")
    # For the host FACC, a total of 137 s is wrong, because it is only the sum of the delays. A mean
    # of 433 ms is wrong, because it is the mean over the answered probes and not over all probes.
    assert contradictions(replace(facc, total_s=137))["total"].startswith("FACC: total 137 s")
    assert contradictions(replace(facc, mean_ms=433))["mean"].startswith("FACC: mean 433 ms")
    isid = next(row for row in rows if row.name == "ISID")
    assert contradictions(replace(isid, efficiency=0.99))["efficiency"].startswith("ISID")


def test_efficiency_is_the_good_time_divided_by_the_total_time() -> None:
    sums = Sums(good_s=6, lost_s=3, spurious_s=1)
    assert (sums.total_s, sums.efficiency) == (10, 0.6)


def glitchy(seed: int, starts: list[int]) -> NDArray[np.float64]:
    """Return delays [s] with glitches: jumps at the probes `starts`, which decay over 12 probes."""
    rng = np.random.default_rng(seed)
    delay = 0.2 + rng.exponential(0.02, 1000)
    for start in starts:
        delay[start : start + 12] += 3 * 0.8 ** np.arange(12)
    return delay


def test_planted_glitches_are_found_and_a_clean_recording_has_none() -> None:
    starts = [5, 300, 640, 985]
    delay = glitchy(1, starts)
    delay[302] = np.nan
    glitches = find_glitches(delay)
    assert [glitch.start for glitch in glitches] == starts
    assert all(glitch.times > 10 and glitch.end - glitch.start >= 5 for glitch in glitches)
    for seed in range(20):
        assert find_glitches(glitchy(seed, [])) == []


def test_losses_and_a_lasting_rise_of_the_delay_are_not_glitches() -> None:
    delay = glitchy(1, [])
    delay[400:] *= 5
    assert find_glitches(delay) == []
    assert find_glitches(np.full(100, np.nan)) == []
    with pytest.raises(ValueError, match="write a factor above one"):
        find_glitches(delay, times=1.0)
    with pytest.raises(ValueError, match="shape"):
        find_glitches(np.ones((2, 2)))


def test_a_planted_period_is_found() -> None:
    rng = np.random.default_rng(2)
    regular = np.arange(40) * 60.0 + rng.normal(0, 4, 40)
    kept = regular[rng.random(40) > 0.2]
    strays = rng.uniform(0, 2400, 5)
    period = find_period(np.concatenate([kept, strays]))
    assert period is not None
    assert period.period_s == pytest.approx(60, rel=0.02)
    assert period.strength > 0.6


def test_at_most_9_of_500_random_series_have_a_period() -> None:
    rng = np.random.default_rng(3)
    taken = sum(find_period(rng.uniform(0, 3600, 40)) is not None for _ in range(500))
    assert taken <= 9, "at most 9 of 500 random series may have a period"
    assert find_period([1.0, 2.0, 3.0]) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        find_period([1.0], chance=0)


def test_busy_runs_are_recognised_by_name_or_by_delay() -> None:
    names = [row.name for row in printed()]
    assert busy_against_quiet(names) == [("ISID *", "ISID"), ("ISIA *", "ISIA")]
    rng = np.random.default_rng(4)
    night, noon = rng.exponential(0.1, (2, 300))
    labels = label_by_delay({"night": night, "noon": noon + 0.1})
    assert labels == {"night": Load.QUIET, "noon": Load.BUSY}
    with pytest.raises(ValueError, match="gone has no reply"):
        label_by_delay({"gone": [np.nan]})


def correlated(rng: np.random.Generator, n: int = 600, memory: float = 0.8) -> NDArray[np.float64]:
    """Return a series with mean 0 whose neighbouring values have the correlation `memory`."""
    noise = rng.normal(size=n)
    series = np.empty(n)
    series[0] = noise[0] / np.sqrt(1 - memory**2)
    for i in range(1, n):
        series[i] = memory * series[i - 1] + noise[i]
    return series


def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of resamples. The last row of `sums` has their numbers of values."""
    return np.asarray(sums[0] / sums[-1])


def test_intervals_from_blocks_cover_the_mean_more_often_than_intervals_from_single_values() -> (
    None
):
    """The true mean of each series is 0."""
    rng = np.random.default_rng(5)
    covered = {"blocks": 0, "single": 0}
    for seed in range(60):
        series = correlated(rng)
        for name, block in (("blocks", None), ("single", 1)):
            bounds = block_bootstrap(series, mean, length=block, seed=seed)
            covered[name] += bounds.low <= 0 <= bounds.high
    assert covered["blocks"] >= 48, covered
    assert covered["single"] <= 42, covered


def test_a_paired_difference_shows_a_gain_that_separate_means_do_not_show() -> None:
    rng = np.random.default_rng(7)
    path = np.exp(correlated(rng))
    better, same = path * 0.97, path + rng.normal(0, 1e-3, len(path))
    assert paired_difference(better, path, mean).sign == -1
    separate = block_bootstrap(path, mean)
    assert separate.low < better.mean() < separate.high, (
        "the interval of one series must contain the mean of the other"
    )
    assert paired_difference(same - same.mean(), path - path.mean(), mean).sign == 0
    with pytest.raises(ValueError, match="must be the same"):
        paired_difference(path[:9], path, mean)
    with pytest.raises(ValueError, match="length = 700"):
        block_bootstrap(path, mean, length=700)


def test_about_95_percent_of_the_intervals_of_a_slope_contain_the_true_slope() -> None:
    rng = np.random.default_rng(889)
    held = 0
    for _ in range(400):
        octets = rng.integers(40, 257, 300)
        # The scatter grows with the length, and the drift is correlated from probe to probe.
        noise = rng.exponential(1e-3, 300) * octets / 100
        drift = np.convolve(rng.normal(0, 1e-3, 319), np.ones(20) / 20, "valid")
        line = fit_lengths(octets, 0.04 + 8e-6 * octets + noise + drift, break_at=None).lines[0]
        # The mean of the scatter grows by 10 us per octet, so the true slope is 18 us per octet.
        low, high = line.slope_between()
        held += low < 18e-6 < high
        assert line.rate_between() == pytest.approx((8 / high, 8 / low if low > 0 else np.inf))
    assert 0.91 < held / 400 < 0.985


def test_a_line_that_does_not_rise_has_no_maximum_rate() -> None:
    line = fit_lengths([40, 100, 256, 40, 100, 256], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0], break_at=None)
    low, high = line.lines[0].rate_between()
    assert low > 0
    assert high == float("inf")
