"""Compares two runs of one population, connection by connection.

A population consists of many connections of one kind that start at different instants of a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, paired_difference
from netspurt.table import Table

Floats = NDArray[np.float64]

#: The maximum difference of two durations that count as the same, as a share of the first duration.
SAME = 0.01

#: A connection begins at the same instant in two simulations. In live runs, the instants may differ
#: by less than `INSTANTS_DIFFERENCE_S` [s].
INSTANTS_DIFFERENCE_S = 0.1

#: The minimum number of connections for an interval of the mean difference. Two connections show
#: too little of how connections differ.
CONNECTIONS_MIN = 3

#: The quantiles of durations that are compared, as shares.
SHARES = (0.5, 0.9, 0.99)


class Populated(Protocol):
    """An object that has tables of populations, such as a run."""

    @property
    def seed(self) -> int:
        """The seed of the random draws."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""

    def table(self, name: str) -> Table:
        """Return a table, or raise an error that says how to record it."""


@dataclass(frozen=True)
class Pairs:
    """The connections of a population in two runs.

    Attributes
    ----------
    population
        The population's name.
    durations_s
        For each run, the durations of the connections that were complete in both runs [s].
    incomplete
        For each run, the number of connections that arrived in both runs and were not complete in
        this run.
    unlike
        The number of connections of the first run that have no counterpart in the second run. A
        counterpart has the same flow number, the same sizes and the same instant.
    """

    population: str
    durations_s: tuple[Floats, Floats]
    incomplete: tuple[int, int]
    unlike: int

    @property
    def later(self) -> NDArray[np.intp]:
        """The numbers of connections that are faster, equally fast and slower in the second run."""
        return np.bincount(np.sign(self._changes()).astype(int) + 1, minlength=3)

    def _changes(self) -> Floats:
        first, second = self.durations_s
        return np.where(np.abs(second - first) <= SAME * first, 0.0, second - first)

    def quantiles_s(self) -> list[tuple[float, float, float]]:
        """Return each share with the quantile of each run [s].

        A quantile is NaN if it would be the longest of the durations, or if there are none.
        """
        first, second = (np.sort(each) for each in self.durations_s)
        return [(share, _quantile(first, share), _quantile(second, share)) for share in SHARES]

    def difference_s(self) -> Interval:
        """Return the mean duration in the second run minus the mean duration in the first [s].

        Fewer than `CONNECTIONS_MIN` connections give no interval.
        """
        first, second = self.durations_s
        if len(first) < CONNECTIONS_MIN:
            return Interval.without(float(np.mean(second) - np.mean(first)))
        return paired_difference(second, first, lambda sums: sums[0] / sums[-1])


def _quantile(ordered: Floats, share: float) -> float:
    """Return the value with the rank ⌈share · n⌉ among n values in ascending order.

    This is definition 1 of Hyndman and Fan 1996. The result is NaN if this value is the last value,
    or if there are no values.
    """
    # A share such as 0.99 is not exact in binary.
    rank = math.ceil(round(share * len(ordered), 9))
    return float(ordered[rank - 1]) if 0 < rank < len(ordered) else math.nan


def pairs_of(first: Populated, second: Populated, population: str) -> Pairs:
    """Return the connections of a population that both runs have.

    Two connections are the same if they have the same number, sizes and instant. Two runs with the
    same seed and population have the same connections. This is also true if their TCP or path
    differs, or if only one of the runs is live.

    Raises
    ------
    RunError
        If connections were not recorded.
    ValueError
        If no connection is in both runs, or if none is complete in both runs.
    """
    columns = ("flow", "forward_bytes", "reverse_bytes")
    rows = []
    for run in (first, second):
        table = run.table("connections")
        own = [str(flow).rpartition(".")[0] == population for flow in table["flow"]]
        keys = zip(*(table[name][own].tolist() for name in columns), strict=True)
        times = zip(table.seconds("opened_ns")[own], table.seconds("duration_ns")[own], strict=True)
        rows.append(dict(zip(keys, times, strict=True)))
    both = [
        key
        for key, (opened, _) in rows[0].items()
        if key in rows[1] and abs(rows[1][key][0] - opened) < INSTANTS_DIFFERENCE_S
    ]
    if not both:
        raise ValueError(
            f"no connection of {population} is in both runs, whose seeds are {first.seed} and "
            f"{second.seed}: give both the same seed and population"
        )
    durations = [np.array([row[key][1] for key in both]) for row in rows]
    missing = [np.isnan(each) for each in durations]
    known = ~(missing[0] | missing[1])
    if not known.any():
        raise ValueError(
            f"no connection of {population} is complete in both runs: give both a later `stop`"
        )
    return Pairs(
        population,
        (durations[0][known], durations[1][known]),
        (int(missing[0].sum()), int(missing[1].sum())),
        len(rows[0]) - len(both),
    )
