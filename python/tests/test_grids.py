"""Tests grids: texts that each describe many estimators.

For example, the grid `mills:g=1..3/4` describes estimators with four values of `g` from 1 to 3. The
core must accept each estimator of a grid. If a value has no unit, the core must read this value, or
the nearest value that the text of an estimator can express.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.grids import expand, ratio, size
from netspurt.timers import grid_front

#: For every algorithm, the keys whose defaults begin with a digit, with these defaults.
KEYS = [
    (name, key, default)
    for name in _core.ALGORITHMS
    for key, default in dict(_core.Estimator(name).settings).items()
    if default[0].isdigit()
]


def ends(default: str, rng: np.random.Generator) -> tuple[Fraction, Fraction, str]:
    """Return the random ends of a range for a key, and the unit of these ends.

    The range lies between 0 and 1 if the default is a ratio, or has no unit and is at most 1.
    Otherwise the range contains the default.
    """
    digits = default.rstrip("µsmnuh")
    middle, unit = Fraction(digits), default[len(digits) :]
    low, high = sorted(Fraction(int(rng.integers(1, 1000)), 1000) for _ in range(2))
    if "/" in digits or (not unit and middle <= 1):
        return low, high, ""
    return middle * low, middle * (1 + high), unit


@pytest.mark.parametrize(("name", "key", "default"), KEYS)
def test_the_core_reads_every_value_between_the_ends_of_a_range(
    name: str, key: str, default: str
) -> None:
    rng = np.random.default_rng(sum(map(ord, name + key)))
    tried = 0
    for _ in range(40):
        low, high, unit = ends(default, rng)
        first, last = (f"{float(end):.6f}" for end in (low, high))
        count = int(rng.integers(2, 14))
        text = f"{name}:{key}={first}{unit}..{last}{unit}/{count}"
        try:
            _core.Estimator(f"{name}:{key}={first}{unit}")
            _core.Estimator(f"{name}:{key}={last}{unit}")
            made = list(expand(text))
        except (_core.EstimatorError, ValueError):
            continue  # The key does not accept an end, or the steps are too small.
        tried += 1
        assert len(made) == count
        for place, one in enumerate(made):
            value = dict(_core.Estimator(one).settings)[key]
            if unit:
                continue
            exact = Fraction(first) + (Fraction(last) - Fraction(first)) * place / (count - 1)
            finest = Fraction(1, 2) if value.isdigit() else Fraction(1, 10**6)
            assert abs(Fraction(value) - exact) <= finest, text
    assert tried or _refuses_fractions(name, key), f"{name}:{key} was never tried"


def _refuses_fractions(name: str, key: str) -> bool:
    """Return True if a key refuses `3/2` because the key takes no fractions.

    Such a key may also refuse range ends that have six decimals.
    """
    try:
        _core.Estimator(f"{name}:{key}=3/2")
    except _core.EstimatorError as error:
        return "whole number" in str(error) or "cannot be" in str(error)
    return False


def test_values_between_the_ends_of_a_range_are_exact() -> None:
    assert list(expand("mills:g=1..3/4")) == [
        "mills:g=1",
        "mills:g=5/3",
        "mills:g=7/3",
        "mills:g=3",
    ]
    assert list(expand("rfc6298:k=1..10/4")) == [f"rfc6298:k={k}" for k in (1, 4, 7, 10)]
    assert list(expand("mills:falling=7/8..15/16/3"))[1] == "mills:falling=0.90625"


def test_steps_below_1_are_refused_for_whole_numbers() -> None:
    with pytest.raises(ValueError, match="steps below 1: take fewer"):
        size("rfc6298:k=1..3/4")


@pytest.mark.parametrize(
    "grid", ["mills:g=1..3/4", "mills:falling=1/9..8/9/8,g=1..7/10", "mills:g=10..100/7"]
)
def test_every_estimator_of_a_front_is_an_estimator_of_the_grid(grid: str) -> None:
    """The front has the estimators of a grid that no other estimator of the grid beats."""
    path = ns.Delays.of(np.random.default_rng(1).exponential(0.1, 300), every=1.0)
    front, count = grid_front(path, grid)
    assert count == size(grid)
    whole = {str(_core.Estimator(text)) for text in expand(grid)}
    assert set(front) <= whole


def test_a_ratio_is_read_back_with_a_tiny_relative_or_absolute_error() -> None:
    rng = np.random.default_rng(7)
    for _ in range(2000):
        value = float(10.0 ** rng.uniform(-6, 8))
        written = dict(_core.Estimator(f"mills:g={ratio(value)}").settings)["g"]
        assert float(Fraction(written)) == pytest.approx(value, rel=1e-7, abs=1e-9)
