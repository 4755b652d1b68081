"""Compares the search for changes of level, and the rank-sum test, with their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from netspurt.analysis import find_changes
from netspurt.analysis.changes import kuiper
from netspurt.analysis.ranks import rank_sum_chance


@pytest.mark.parametrize("seed", range(6))
def test_pettitts_formula_gives_the_chance_of_a_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.permutation(30) / 100 + np.where(np.arange(30) < 8 + 2 * seed, 0.0, 1.0)
    (found,) = find_changes(values)
    n = len(values)
    signs = np.sign(values[:, np.newaxis] - values)
    # Pettitt 1979, eq. 2.1: U(t) is the sum of the signs of all differences between a value before
    # t and a value after t.
    u = {t: abs(signs[:t, t:].sum()) for t in range(6, n - 5)}
    assert found.at == max(u, key=lambda t: u[t])
    largest = max(u.values())
    assert found.chance == pytest.approx(2 * math.exp(-6 * largest**2 / (n**3 + n**2)))
    assert found.before == np.median(values[: found.at])
    assert found.after == np.median(values[found.at :])


def test_the_index_of_a_change_also_counts_missing_values() -> None:
    values = np.r_[
        np.full(3, np.nan), np.arange(20) % 3, np.full(4, np.nan), 50 + np.arange(20) % 3
    ]
    (found,) = find_changes(values)
    # The first value after the change follows 3 + 20 + 4 other values.
    assert found.at == 27


@pytest.mark.parametrize("method", ["rank-order", "bootstrap"])
@pytest.mark.parametrize("values", [[], [1.0], [2.0] * 40, [math.nan] * 40])
def test_a_series_without_different_values_has_no_change(method: str, values: list[float]) -> None:
    assert find_changes(values, method=method) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(("count", "changes"), [(5, 0), (6, 1)])
def test_a_level_of_fewer_than_six_values_is_not_found(count: int, changes: int) -> None:
    found = find_changes([1.0] * 30 + [9.0] * count, alpha=0.5)
    assert sum(one.at == 30 for one in found) == changes


@pytest.mark.parametrize("extent", [0.6, 1.0, 1.747, 2.5])
def test_the_range_of_a_brownian_bridge_is_distributed_as_in_fellers_series(extent: float) -> None:
    # Feller (1951) gives the distribution function of the range of a Brownian bridge as a sum over
    # reflected images.
    k = np.arange(-200, 201)
    images = (1 - 4 * k**2 * extent**2) * np.exp(-2 * k**2 * extent**2)
    assert kuiper(extent) == pytest.approx(1 - images.sum(), abs=1e-9)


def test_a_brownian_bridge_always_exceeds_a_small_range() -> None:
    assert kuiper(0.0) == kuiper(0.39) == 1.0
    assert kuiper(0.41) == pytest.approx(1.0, abs=1e-6)
    assert kuiper(9.0) < 1e-60


@pytest.mark.parametrize(
    ("own", "off"),
    [([1, 4, 5, 8], 0), ([1, 4, 6, 8], 1), ([1, 2, 6, 8], -1), ([3, 4, 6, 8], 3)],
)
def test_a_difference_of_ranks_is_corrected_for_continuity(own: list[int], off: int) -> None:
    # Four of the ranks 1 to 8 have an expected sum of 18, and a variance of 4 · 4 · 9 / 12.
    assert sum(own) - 18 == off
    others = [rank for rank in range(1, 9) if rank not in own]
    expected = min(2 * norm.sf(max(abs(off) - 0.5, 0) / math.sqrt(12)), 1.0)
    assert rank_sum_chance(own, others) == pytest.approx(expected)
    assert rank_sum_chance(others, own) == pytest.approx(expected)
