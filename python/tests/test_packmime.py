"""Compares populations of web connections with ns-2's PackMime, a model of web traffic."""

import pytest
from packmime_agreement import RATES, compare


@pytest.mark.parametrize("rate", RATES)
def test_quantiles_of_sizes_and_durations_lie_between_the_extremes_of_ns2s_runs(rate: int) -> None:
    outside = [row for row in compare(rate, 110_000) if not row.inside()]
    assert not outside
