"""Counts how often intervals of 95 % contain the true value of invented data.

`python python/tests/test_coverage.py 1000` prints a table that is also in VALIDATION.md. Each
figure of this table comes from 1000 sets of data. The tests draw fewer sets, so their bounds are
wide.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Resamples, block_bootstrap
from netspurt.analysis.cases import compare, summarise
from netspurt.analysis.lengths import fit_lengths
from netspurt.analysis.loss_share import loss_share
from netspurt.analysis.period import find_period
from netspurt.analysis.sites import rank_correlation

Floats = NDArray[np.float64]
#: A trial is a function that draws a given number of values. It returns whether the interval from
#: these values contains the true value.
Trial = Callable[[np.random.Generator, int], bool]

#: Functions that draw values, by name, each with the true mean of its values.
VALUES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "normal": (lambda rng, n: rng.normal(5.0, 1.0, n), 5.0),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
    "log-normal": (lambda rng, n: rng.lognormal(0.0, 1.0, n), math.exp(0.5)),
    "rare timeouts": (
        lambda rng, n: 1 + rng.exponential(0.05, n) + 0.3 * rng.binomial(3, 0.1, n),
        1.14,
    ),
}


def of_runs(**columns: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return these columns as a sweep's table of cases, with a run in each row."""
    n = len(next(iter(columns.values())))
    return {"case": np.arange(n), "repeat": np.arange(n) + 1, **columns}


def of_mean(values: str) -> Trial:
    """Return the trial of a mean over the runs of a sweep."""
    draw, truth = VALUES[values]

    def trial(rng: np.random.Generator, n: int) -> bool:
        (row,) = summarise(of_runs(request_ns_mean=draw(rng, n)), "request_ns_mean", [], {})
        return row.mean.low <= truth <= row.mean.high

    return trial


def of_difference(values: str, *, shared: bool) -> Trial:
    """Return the trial of the difference between two senders of a sweep.

    The time of a run is the sum of a time of its seed and a time of its sender. If `shared` is
    false, only the second sender has a time of its own. The differences are then as skewed as the
    times.
    """
    draw, truth = VALUES[values]

    def trial(rng: np.random.Generator, n: int) -> bool:
        seeds = draw(rng, n)
        first = seeds + (draw(rng, n) if shared else 0.0)
        cases = of_runs(request_ns_mean=np.concatenate([first, seeds + draw(rng, n)]))
        cases["repeat"] = np.tile(np.arange(n) + 1, 2)
        cases["sender"] = np.repeat(["a", "b"], n)
        (row,) = compare(cases, "request_ns_mean", "sender", {"sender": ["a", "b"]}, paired=True)
        return row.difference.low <= (0.0 if shared else truth) <= row.difference.high

    return trial


def of_ratio(rng: np.random.Generator, n: int) -> bool:
    """Carry out the trial of a ratio of counts: retransmissions to transmissions."""
    sent = rng.poisson(300, n) + 1.0
    cases = of_runs(retransmissions=rng.binomial(sent.astype(int), 0.03), sent=sent)
    (row,) = summarise(cases, "retransmissions/sent", [], {})
    return row.mean.low <= 0.03 <= row.mean.high


def correlated(rng: np.random.Generator, n: int, rho: float) -> Floats:
    """Return normal values of variance 1 whose neighbours have the correlation `rho`."""
    series, level = np.empty(n), float(rng.normal())
    for place, noise in enumerate(rng.normal(0.0, math.sqrt(1 - rho**2), n).tolist()):
        level = rho * level + noise
        series[place] = level
    return series


def of_delays(rho: float, *, skewed: bool) -> Trial:
    """Return the trial of the mean of delays whose neighbours have the correlation `rho`."""

    def trial(rng: np.random.Generator, n: int) -> bool:
        series = correlated(rng, n, rho)
        told = block_bootstrap(np.exp(series) if skewed else series, lambda s: s[0] / s[-1])
        return told.low <= (math.exp(0.5) if skewed else 0.0) <= told.high

    return trial


def of_losses(begins: float, ends: float) -> Trial:
    """Return the trial of a share of losses on a path with a good and a bad state (Gilbert 1960).

    The bad state loses all probes. The numbers `begins` and `ends` are the probabilities, per
    probe, that the bad state begins and ends.
    """
    truth = begins / (begins + ends)

    def trial(rng: np.random.Generator, n: int) -> bool:
        lost, place, bad = np.zeros(n, bool), 0, bool(rng.random() < truth)
        while place < n:
            until = place + int(rng.geometric(ends if bad else begins))
            lost[place:until], place, bad = bad, until, not bad
        told = loss_share([lost])
        return told.low <= truth <= told.high

    return trial


def of_slope(*, growing: bool) -> Trial:
    """Return the trial of a line's slope. The scatter of the delays may grow with the length."""

    def trial(rng: np.random.Generator, n: int) -> bool:
        octets = rng.integers(40, 1000, n)
        scatter = rng.normal(0.0, 1.0, n) * (octets / 500 if growing else 1.0)
        (line,) = fit_lengths(octets, 0.01 * octets + scatter, break_at=None).lines
        low, high = line.slope_between()
        return low <= 0.01 <= high

    return trial


def of_saved_share(rng: np.random.Generator, n: int) -> bool:
    """Carry out the trial of the share of the waits that a remedy saves (`analysis/remedies.py`).

    The saved share of a connection does not depend on its waits.
    """
    waited = rng.lognormal(0.0, 1.0, n)
    saved = waited * rng.beta(2, 2, n) * (rng.random(n) < 0.7)
    told = Resamples(np.stack([saved, waited]), length=1).interval(lambda s: s[0] / s[1])
    return told.low <= 0.35 <= told.high


def of_ranks(rng: np.random.Generator, n: int) -> bool:
    """Carry out the trial of a correlation of ranks."""
    x = rng.normal(size=n)
    told = rank_correlation(x, 0.5 * x + math.sqrt(0.75) * rng.normal(size=n))
    return told.low <= 6 / math.pi * math.asin(0.25) <= told.high


#: The kinds of intervals by name. Each has its trial, and the numbers of values that are drawn.
KINDS: dict[str, tuple[Trial, tuple[int, ...]]] = {
    **{f"sweep, mean: {name}": (of_mean(name), (3, 5, 10, 30)) for name in VALUES},
    "sweep, ratio of counts": (of_ratio, (3, 5, 10, 30)),
    "sweep, difference: log-normal, both": (of_difference("log-normal", shared=True), (3, 10, 30)),
    "sweep, difference: log-normal, one": (of_difference("log-normal", shared=False), (3, 10, 30)),
    "delays, mean: normal, 0.5": (of_delays(0.5, skewed=False), (30, 100, 1000)),
    "delays, mean: normal, 0.9": (of_delays(0.9, skewed=False), (30, 100, 1000)),
    "delays, mean: log-normal, 0.9": (of_delays(0.9, skewed=True), (30, 100, 1000)),
    "losses: single, 1 %": (of_losses(0.0101, 1.0), (100, 1000, 10_000)),
    "losses: bursts of 5, 0.5 %": (of_losses(0.001, 0.2), (100, 1000, 10_000)),
    "losses: bursts of 5, 4.8 %": (of_losses(0.01, 0.2), (100, 1000, 10_000)),
    "slope of delay on length: even scatter": (of_slope(growing=False), (5, 10, 30, 100)),
    "slope of delay on length: growing scatter": (of_slope(growing=True), (5, 10, 30, 100)),
    "saved share of waits": (of_saved_share, (3, 5, 10, 30)),
    "correlation of ranks": (of_ranks, (10, 30, 100)),
}


def share(kind: str, n: int, sets: int) -> float:
    """Return the share of the intervals that contain the true value, in sets of `n` values."""
    trial = KINDS[kind][0]
    rng = np.random.default_rng([n, *kind.encode()])
    return sum(trial(rng, n) for _ in range(sets)) / sets


@pytest.mark.parametrize(
    ("kind", "n", "least"),
    [
        # If the interval did not allow for skewed values, the next two shares would be 80 % and
        # 83 %.
        ("sweep, mean: rare timeouts", 5, 0.86),
        ("sweep, mean: log-normal", 10, 0.88),
        ("sweep, mean: normal", 5, 0.92),
        ("sweep, ratio of counts", 5, 0.92),
        # If the intervals used White's squares of residuals, the next two shares would be 87 %
        # and 91 %.
        ("slope of delay on length: growing scatter", 10, 0.915),
        ("slope of delay on length: even scatter", 5, 0.94),
        ("losses: bursts of 5, 4.8 %", 1000, 0.90),
    ],
)
def test_intervals_contain_true_values_about_as_often_as_validation_md_says(
    kind: str, n: int, least: float
) -> None:
    assert share(kind, n, 500 if kind.startswith("sweep") else 800) >= least


@pytest.mark.parametrize("events", [15, 40])
def test_random_arrivals_are_seldom_called_periodic(events: int) -> None:
    rng = np.random.default_rng(events)
    arrivals = (np.cumsum(rng.exponential(1.0, events)) for _ in range(600))
    called = sum(find_period(times, chance=0.05) is not None for times in arrivals)
    # On average, at most 30 series are expected to be called periodic. By chance, more than 48 are
    # called periodic once in 1000 times.
    assert called <= 48


def print_table(sets: int) -> None:
    """Print the share of each kind of interval, as a table in Markdown."""
    for kind, (_, numbers) in KINDS.items():
        cells = (f"{n:,}: {100 * share(kind, n, sets):.0f} %" for n in numbers)
        print(f"| {kind} | {'; '.join(cells)} |", flush=True)


if __name__ == "__main__":
    print_table(int(sys.argv[1]))
