"""Compares confidence intervals from the block bootstrap with the theory of known series.

The block bootstrap draws blocks of neighbouring values. A series has a memory if neighbouring
values are correlated.
"""

import numpy as np
import pytest

from netspurt.analysis.bootstrap import (
    Floats,
    Interval,
    Resamples,
    block_bootstrap,
    block_length,
)


def autoregressive(n: int, rho: float, seed: int) -> Floats:
    """Return a series with mean 0 whose neighbouring values have the correlation `rho`."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=n)
    series = np.empty(n)
    level = 0.0
    for place in range(n):
        level = rho * level + noise[place]
        series[place] = level
    return series


def mean(sums: Floats) -> Floats:
    """Return the means of resamples. The last row of `sums` has their numbers of values."""
    means: Floats = sums[0] / sums[-1]
    return means


def interval(series: Floats, length: int | None = None) -> Interval:
    """Return the interval of a series's mean, from blocks of this length."""
    return block_bootstrap(series, mean, length=length)


def test_a_series_without_memory_has_the_usual_interval_of_its_mean() -> None:
    series = np.random.default_rng(3).normal(size=5000)
    bounds = interval(series)
    width = 2 * 1.96 * series.std() / np.sqrt(len(series))
    assert bounds.high - bounds.low == pytest.approx(width, rel=0.1)
    assert bounds.low < bounds.value < bounds.high


def test_a_series_with_memory_has_a_wider_interval_that_covers_its_mean() -> None:
    # The mean of an autoregressive series has the variance 1 / (1 - rho)² / n.
    rho, n = 0.9, 4000
    covered, widths = 0, []
    for seed in range(40):
        bounds = interval(autoregressive(n, rho, seed))
        covered += bounds.low <= 0 <= bounds.high
        widths.append(bounds.high - bounds.low)
    assert np.mean(widths) == pytest.approx(2 * 1.96 / (1 - rho) / np.sqrt(n), rel=0.2)
    assert covered >= 34
    narrow = interval(autoregressive(n, rho, 0), length=1)
    assert narrow.high - narrow.low < 0.4 * widths[0]


def test_intervals_that_allow_for_memory_cover_the_mean_more_often() -> None:
    covered = {True: 0, False: 0}
    for seed in range(60):
        series = autoregressive(60, 0.5, seed)
        length = min(block_length(series), 7)
        for memory in covered:
            bounds = Resamples(series, length=length, memory=memory).interval(mean)
            covered[memory] += bounds.low <= 0 <= bounds.high
    assert covered[True] >= 53
    assert covered[True] > covered[False]


def test_blocks_are_longer_for_a_series_with_a_longer_memory() -> None:
    lengths = [block_length(autoregressive(4000, rho, 5)) for rho in (0.0, 0.5, 0.9, 0.98)]
    assert lengths == sorted(lengths)
    assert lengths[0] <= 3
    assert lengths[-1] > 40


def test_a_constant_series_has_an_interval_of_no_width() -> None:
    bounds = interval(np.full(100, 7.0))
    assert (bounds.value, bounds.low, bounds.high) == (7.0, 7.0, 7.0)


def test_a_ratio_that_is_never_defined_has_no_interval() -> None:
    bounds = block_bootstrap(np.zeros(5000), lambda sums: sums[0] / sums[0], length=1)
    assert np.isnan([bounds.value, bounds.low, bounds.high]).all()


def test_a_long_series_has_the_usual_interval_of_its_mean() -> None:
    series = np.random.default_rng(3).normal(size=120_000)
    bounds = interval(series, 300)
    width = 2 * 1.96 / np.sqrt(len(series))
    assert bounds.high - bounds.low == pytest.approx(width, rel=0.15)
