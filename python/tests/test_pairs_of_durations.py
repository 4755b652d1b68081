"""Tests the durations of connections in two runs: how many differ, and their quantiles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netspurt.analysis.paired import Pairs


def _pairs(first: list[float], second: list[float]) -> Pairs:
    """Return connections that have these durations in two runs [s]."""
    return Pairs("web", (np.array(first), np.array(second)), (0, 0), 0)


def test_a_duration_counts_as_equal_if_it_is_within_one_percent_of_that_in_the_first_run() -> None:
    pairs = _pairs([100.0] * 5, [98.9, 99.0, 100.0, 101.0, 101.1])
    assert pairs.later.tolist() == [1, 3, 1]
    assert _pairs([], []).later.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, (math.nan, math.nan, math.nan)),
        (1, (math.nan, math.nan, math.nan)),
        (2, (1, math.nan, math.nan)),
        (11, (6, 10, math.nan)),
        (100, (50, 90, 99)),
        (101, (51, 91, 100)),
    ],
)
def test_a_quantile_is_the_duration_of_its_rank_if_a_longer_duration_exists(
    count: int, expected: tuple[float, float, float]
) -> None:
    ranked = [float(rank) for rank in range(count, 0, -1)]
    found = _pairs(ranked, [2 * rank for rank in ranked]).quantiles_s()
    assert [share for share, _, _ in found] == [0.5, 0.9, 0.99]
    assert [in_first for _, in_first, _ in found] == pytest.approx(expected, nan_ok=True)
    doubled = [2 * e for e in expected]
    assert [in_second for _, _, in_second in found] == pytest.approx(doubled, nan_ok=True)
