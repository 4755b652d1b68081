"""Retransmission timers replayed on recorded delays, and conclusions from the results.

The replay is open loop: each probe is judged by the timer that an algorithm would have armed when
the probe left. Only a simulation or a live run shows the effect of retransmissions on later delays.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt._core import ReplayError
from netspurt.analysis.bootstrap import BINS, Floats, Interval, Resamples
from netspurt.analysis.notebook import html_replay
from netspurt.analysis.replayed import (
    SEEN,
    ReplaySums,
    could_be_chance,
    efficiency,
    is_spurious,
    learnt,
    learnt_from,
    mean_timer,
    share_interval,
    spurious_share,
    timer_interval,
    waited_in_delays,
)
from netspurt.analysis.replayed import resamples as drawn_again
from netspurt.delays import Delays, read_delays
from netspurt.estimators import EstimatorLike, by_name, name_of
from netspurt.estimators import estimator as make_estimator
from netspurt.grids import expand, ratio, size, two_gain_axes
from netspurt.stored import discard
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.advice import Price
    from netspurt.plots.replay import ReplayPlots

#: The estimators (algorithms of timers) that are replayed if the user names none.
USUAL = ("rfc6298", "rfc6298:min=0s", "linux", "quic", "mills", "mills-single")


@dataclass(frozen=True, eq=False)
class Algorithm:
    """The results of an algorithm on a recording. Times are in seconds.

    Attributes
    ----------
    estimator
        The algorithm, with the constants that differ from the published constants.
    probes, answered, lost, spurious
        The numbers of all, answered, lost and spuriously retransmitted probes.
    lost_before
        The number of lost probes that left before any delay was known. No delay of the recording
        influences their timers. If all probes left before any delay was known, the number is 0.
    good, waited, spurious_time
        RFC 889's sums. `good`: all delays. `waited`: the waits for lost probes, except those that
        `lost_before` counts. `spurious_time`: the delays of the probes that were retransmitted
        spuriously, which `good` also contains.
    waited_before
        The waits for the probes that `lost_before` counts. No other sum contains these waits.
    mean, cov, efficiency
        RFC 889's figures. `mean`: `good` divided by the number of all probes. `cov`: the standard
        deviation of the delays divided by their mean. `efficiency`: `good` divided by `total`.
    bad_share, waited_in_delays
        Allman and Paxson's figures: the share of timeouts that were spurious, and the mean ratio of
        the wait for a lost probe to the last delay before it.
    spurious_share, timer
        Spurious retransmissions per answer, and the mean timer. The mean is over the probes that
        left after a delay was known, or over all probes if there are no such probes. No delay of
        the recording influences the timers of earlier probes. Each figure has its interval.
    resamples
        Resamples of the algorithm's own sums, from which its intervals are computed. `None` if the
        algorithm has no intervals.
    """

    estimator: str
    probes: int
    answered: int
    lost: int
    lost_before: int
    spurious: int
    good: float
    waited: float
    waited_before: float
    spurious_time: float
    mean: float
    cov: float
    efficiency: float
    bad_share: float
    waited_in_delays: float
    spurious_share: Interval
    timer: Interval
    resamples: Resamples | None = field(repr=False)
    _core: _core.Replayed = field(repr=False)

    @property
    def order(self) -> str:
        """The order of the replay: `sequence` or `causal`."""
        return self._core.order

    @property
    def total(self) -> float:
        """RFC 889's total time."""
        return self.good + self.waited + self.spurious_time

    @property
    def waited_per_loss(self) -> float:
        """The mean wait for lost probes that `lost_before` does not count, or NaN without any."""
        counted = self.lost - self.lost_before
        return self.waited / counted if counted else math.nan

    @property
    def printed_efficiency(self) -> str:
        """The efficiency in the form of RFC 889: two digits, truncated."""
        if not math.isfinite(self.efficiency):
            return "-"
        hundredths = math.floor(self.efficiency * 100 + 1e-9)
        return "1" if hundredths >= 100 else f".{hundredths:02d}"

    @cached_property
    def waits(self) -> NDArray[np.float64]:
        """The timer of each probe, shape (probes,)."""
        return self._core.wait_ns() / 1e9

    def wait_percentiles(self, percents: Sequence[float]) -> NDArray[np.float64]:
        """Return percentiles of the waits for lost probes that `lost_before` does not count [s]."""
        counted = np.isnan(self._core_delays.rtt_s) & learnt(self._core_delays, self._core.order)
        return _percentiles(self.waits[counted], percents)

    def short_percentiles(self, percents: Sequence[float]) -> NDArray[np.float64]:
        """Return percentiles of delay minus timer [s] over spurious timeouts; NaN without any."""
        short = self._core_delays.rtt_s - self.waits
        return _percentiles(short[short > 0], percents)

    def sums(self) -> ReplaySums:
        """Return the sums over all probes."""
        first = learnt_from(self._core_delays, self.order)
        return ReplaySums.between(self._core, first, 0, self.probes)

    @property
    def _core_delays(self) -> Delays:
        return Delays(self._core.delays)


def _percentiles(values: Floats, percents: Sequence[float]) -> Floats:
    return np.percentile(values, percents) if len(values) else np.full(len(percents), np.nan)


@dataclass(frozen=True, eq=False)
class Replay:
    """Algorithms replayed on a recording.

    Attributes
    ----------
    delays
        The recording.
    order
        `sequence` (one probe in flight, as in RFC 889) or `causal` (samples as replies arrive).
    clock
        The host's clock: `exact`, `linux-hz250`, or the length of its ticks.
    told
        True if the algorithms learned of their timeouts and backed off.
    algorithms
        The results of each algorithm, in the order in which the algorithms were named.
    seed
        The seed of all resamples.
    """

    delays: Delays
    order: str
    clock: str
    told: bool
    algorithms: list[Algorithm]
    seed: int = 1

    @cached_property
    def resamples(self) -> Resamples:
        """The sums of all algorithms, resampled together, for differences between algorithms.

        `netspurt.analysis.replayed.ReplaySums` reads them.
        """
        waits = [algorithm.waits for algorithm in self.algorithms]
        return drawn_again(self.delays, waits, self.order, self.seed)

    @property
    def block(self) -> int:
        """The number of probes in a block of `resamples`."""
        return self.resamples.length * -(-len(self.delays) // BINS)

    def _repr_html_(self) -> str:
        return html_replay(self)

    def __getitem__(self, estimator: str) -> Algorithm:
        """Return the results of the algorithm with this text.

        Raises
        ------
        KeyError
            If the algorithm was not replayed.
        """
        for algorithm in self.algorithms:
            if algorithm.estimator == estimator:
                return algorithm
        replayed = ", ".join(algorithm.estimator for algorithm in self.algorithms)
        raise KeyError(f"{estimator!r} was not replayed; the replayed timers are {replayed}")

    def difference(self, first: Algorithm, second: Algorithm) -> tuple[Interval, Interval]:
        """Return how two estimators differ in spurious retransmissions per answer and mean timer.

        Both estimators had the same probes, so the effects of the path cancel out. If the
        difference in spurious retransmissions is not beyond chance, the first interval is widened
        to contain zero.
        """
        a, b = (self.algorithms.index(algorithm) for algorithm in (first, second))

        share = self.resamples.interval(lambda s: spurious_share(s, a) - spurious_share(s, b))
        share = share.bounded(-1.0, 1.0)
        ones, others = (is_spurious(self.delays, algorithm.waits) for algorithm in (first, second))
        only = (int(np.sum(ones & ~others)), int(np.sum(others & ~ones)))
        if share.sign and could_be_chance(*only):
            ends = (min(share.low, 0.0), max(share.high, 0.0))
            share = Interval(share.value, *ends, share.level, share.block)
        return share, self.resamples.interval(lambda s: mean_timer(s, a) - mean_timer(s, b))

    def versus(self, first: Algorithm, second: Algorithm) -> Versus:
        """Return whether an algorithm is more efficient than another, by RFC 889's measure.

        A verdict needs enough observations. If the more efficient algorithm has the shorter timer,
        at least `SEEN` of its retransmissions must have been spurious. If it has the longer timer,
        the difference in spurious retransmissions must be beyond chance. Otherwise the interval is
        widened to contain zero.
        """
        a, b = (self.algorithms.index(algorithm) for algorithm in (first, second))
        ahead = self.resamples.interval(lambda s: efficiency(s, a) - efficiency(s, b))
        if _same_waits(first, second):
            ahead = Interval(0.0, 0.0, 0.0, ahead.level, ahead.block)
        elif ahead.sign and not self._is_seen(first, second, ahead.sign):
            ends = (min(ahead.low, 0.0), max(ahead.high, 0.0))
            ahead = Interval(ahead.value, *ends, ahead.level, ahead.block)
        return Versus(first, second, ahead.bounded(-1.0, 1.0))

    def _is_seen(self, first: Algorithm, second: Algorithm, sign: int) -> bool:
        """Return whether there are enough observations for a verdict."""
        winner, other = (first, second) if sign > 0 else (second, first)
        if winner.timer.value < other.timer.value:
            return winner.spurious >= SEEN
        ones, others = (is_spurious(self.delays, algorithm.waits) for algorithm in (winner, other))
        return not could_be_chance(int(np.sum(ones & ~others)), int(np.sum(others & ~ones)))

    def front(self) -> list[Algorithm]:
        """Return the Pareto front of spurious retransmissions and mean timers.

        An estimator is on the front unless another estimator is at least as good in both values and
        better in one of them.
        """

        def beaten(algorithm: Algorithm) -> bool:
            mine = (algorithm.spurious, algorithm.timer.value)
            others = ((own.spurious, own.timer.value) for own in self.algorithms)
            return any(o != mine and o[0] <= mine[0] and o[1] <= mine[1] for o in others)

        kept = [algorithm for algorithm in self.algorithms if not beaten(algorithm)]
        return sorted(kept, key=lambda algorithm: (algorithm.spurious, algorithm.timer.value))

    def __str__(self) -> str:
        rows = [
            (algorithm.estimator, algorithm.spurious, algorithm.timer.value, algorithm.efficiency)
            for algorithm in self.algorithms
        ]
        lines = [
            f"{name}: {count} spurious, timer {_ms(timer)} on average, efficiency {share:.3f}"
            for name, count, timer, share in rows
        ]
        return "\n".join([repr(self.delays), *lines, *self.recommendation()])

    __repr__ = __str__

    def with_estimators(self, estimators: Iterable[str]) -> Replay:
        """Return a replay that also has these estimators, on the same probes."""
        every = {algorithm.estimator: algorithm for algorithm in self.algorithms}
        for estimator in estimators:
            one = self._one(estimator)
            if one.estimator not in every:
                every[one.estimator] = _resampled(one, self.delays, self.seed)
        return replace(self, algorithms=list(every.values()))

    def only(self, estimators: Collection[str]) -> Replay:
        """Return a replay that has only these estimators, on the same probes."""
        kept = [one for one in self.algorithms if one.estimator in estimators]
        return replace(self, algorithms=kept)

    def replayed(self, estimator: str) -> _core.Replayed:
        """Return the timers of an estimator on the same probes, without figures and intervals."""
        known = [own._core for own in self.algorithms if own.estimator == estimator]
        return known[0] if known else self._one(estimator)

    def _one(self, estimator: str) -> _core.Replayed:
        return _replay(self.delays, estimator, order=self.order, clock=self.clock, told=self.told)

    def recommendation(self, price: Price | None = None) -> list[str]:
        """Return paragraphs: which algorithm is cheapest, how sure this is, and how to deploy it.

        Parameters
        ----------
        price
            The price of a spurious retransmission; see `netspurt.advice.Price`.
        """
        from netspurt.advice import advise

        return advise([self], price).paragraphs()

    def records(self) -> Table:
        """Return the table `replay`: a row for each algorithm and probe."""
        return records([self])

    @property
    def plot(self) -> ReplayPlots:
        """The pictures of the replay."""
        from netspurt.plots.replay import ReplayPlots

        return ReplayPlots(self)


@dataclass(frozen=True, eq=False)
class Versus:
    """The comparison of two algorithms on one recording.

    Attributes
    ----------
    first, second
        The algorithms.
    ahead
        The efficiency of the first minus the efficiency of the second, with its interval.
    """

    first: Algorithm
    second: Algorithm
    ahead: Interval

    @property
    def verdict(self) -> str:
        """The verdict on `first`: `better`, `worse`, `cannot tell`, or `same` for equal timers."""
        if _same_waits(self.first, self.second):
            return "same"
        return {1: "better", -1: "worse", 0: "cannot tell"}[self.ahead.sign]


def _same_waits(first: Algorithm, second: Algorithm) -> bool:
    return bool(np.array_equal(first.waits, second.waits))


def replay(  # noqa: PLR0913 - each is a choice of its own
    delays: Delays | str | os.PathLike[str],
    estimators: str | Iterable[str | EstimatorLike | type] = USUAL,
    *,
    order: str | None = None,
    clock: str = "exact",
    told: bool = False,
    seed: int = 1,
) -> Replay:
    """Replay retransmission timers on a recording.

    Parameters
    ----------
    delays
        The recording, or a file with exactly one recording.
    estimators
        There are three ways to give an estimator. The first is an algorithm's name, with the
        constants that differ from the published ones (`linux:rto_min=50ms`). The second is a class,
        or its place as text (`file.py:Class:k=3`). The third is an object with the methods of an
        estimator. An object continues from its current state. A text in place of a list names one
        estimator. The results name an object by the text from which `ns.estimator` made it, or else
        by its class. If several objects have the same name, the second and later objects get `#2`,
        `#3` and so on after the name.
    order
        `sequence`: one probe in flight, as in RFC 889. `causal`: a sample is known when its reply
        has arrived. By default, the order of the recording.
    clock
        The clock for the host's round trips and timers: `exact`, `linux-hz250`, or the length of a
        tick, such as `10 ms`.
    told
        Whether algorithms learn of their timeouts, once per probe, and back off. If this is true,
        the reply to a retransmitted probe is an ambiguous sample, except for QUIC, whose
        acknowledgments tell transmissions apart. By default, all replies are samples and no timeout
        is reported, as in RFC 889 and as for a sender with timestamps.
    seed
        The seed of the resamples for the intervals.

    Raises
    ------
    ReplayError
        If the file does not have exactly one recording. Also if the recording cannot be replayed:
        it has no probes, it has smoothed values, or it lacks the times of sending that the causal
        order needs.
    EstimatorError
        If an algorithm or a constant is unknown or invalid.
    ValueError
        If no estimator is named.

    Examples
    --------
    >>> import netspurt as ns
    >>> path = ns.Delays.of([0.1, 0.2, None, 0.1, 0.3], every=1.0)
    >>> mills = ns.replay(path, ["mills"]).algorithms[0]
    >>> mills.spurious, mills.lost, round(mills.waited, 3)
    (1, 1, 0.25)
    """
    if not isinstance(delays, Delays):
        delays = _only(delays)
    named = by_name([estimators] if isinstance(estimators, str) else estimators)
    if not named:
        raise ValueError("no estimator to replay: name one, such as `rfc6298`")
    core = [
        _replay(delays, estimator, name, order=order, clock=clock, told=told)
        for name, estimator in named.items()
    ]
    algorithms = [_resampled(one, delays, seed) for one in core]
    return Replay(delays, algorithms[0].order, clock, told, algorithms, seed)


def _only(path: str | os.PathLike[str]) -> Delays:
    """Return the one recording of a file."""
    found = read_delays(path)
    if len(found) != 1:
        names = ", ".join(recording.name for recording in found[:5])
        raise ReplayError(
            f"{os.fspath(path)} has {len(found)} recordings ({names}): "
            "take one of `netspurt.read_delays(path)`"
        )
    return found[0]


def figures(
    delays: Delays,
    estimator: str,
    *,
    order: str | None = None,
    clock: str = "exact",
    told: bool = False,
) -> Algorithm:
    """Return the results of one estimator without intervals, which take most of a replay's time.

    Raises
    ------
    ReplayError, EstimatorError
        In the same cases as in `replay`.
    """
    core = _replay(delays, estimator, order=order, clock=clock, told=told)
    return _algorithm(core, delays, None)


def _replay(  # noqa: PLR0913 - each is a choice of its own
    delays: Delays,
    estimator: str | EstimatorLike | type,
    name: str = "",
    *,
    order: str | None,
    clock: str,
    told: bool,
) -> _core.Replayed:
    """Replay one estimator. Its name in the results is `name` or else `name_of(estimator)`."""
    name = name or name_of(estimator)
    if isinstance(estimator, type):
        estimator = estimator()
    made = make_estimator(estimator) if isinstance(estimator, str) else estimator
    return _core.replay(delays._core, made, name, order=order, clock=clock, told=told)


def grid_front(  # noqa: PLR0913 - each is a choice of its own
    delays: Delays | Sequence[Delays],
    grid: str,
    *,
    order: str | None = None,
    clock: str = "exact",
    told: bool = False,
    progress: Callable[[float, float], None] | None = None,
) -> tuple[list[str], int]:
    """Return the estimators on the front of a grid, and the number of estimators in the grid.

    An estimator is not on the front if another estimator is at least as good in spurious
    retransmissions and in the mean timer. Of equal estimators, the first remains. In a grid of RFC
    889's filter, all estimators run side by side in binary64 if there is one recording, the clock
    is exact, and no timeouts are reported. Otherwise they run one after the other. Memory does not
    grow with the grid.

    Parameters
    ----------
    delays
        The recording, or several recordings, whose sums are added.
    grid
        An estimator with ranges, such as `mills:g=1.5..3/16`.
    order, clock, told
        As in `replay`.
    progress
        A function that is called with the number of estimators tried so far, and the number of all
        estimators. It is not called for estimators that run side by side.

    Examples
    --------
    >>> import netspurt as ns
    >>> path = ns.Delays.of([0.1, 0.1, 0.15, 0.1, 0.25], every=1.0)
    >>> grid_front(path, "mills:g=1..3/5")
    (['mills:g=5/2', 'mills:g=3/2', 'mills:g=1'], 5)
    """
    paths = [delays] if isinstance(delays, Delays) else [*delays]
    axes = two_gain_axes(grid)
    if axes is not None and clock == "exact" and not told and len(paths) == 1:
        found, count = _core.two_gain_front(paths[0]._core, **axes, order=order)
        texts = [
            f"mills:falling={ratio(f)},rising={ratio(r)},g={ratio(g)}" for f, r, g, *_ in found
        ]
        return [str(_core.Estimator(text)) for text in texts], count
    count = size(grid)
    kept: list[tuple[float, float, str]] = []
    for tried, text in enumerate(expand(grid), start=1):
        cores = [_replay(path, text, order=order, clock=clock, told=told) for path in paths]
        sums = [core.account() for core in cores]
        shorts, timers = (sum(own[name] for own in sums) for name in ("spurious", "timers_ns"))
        new = (shorts, timers, cores[0].estimator)
        if not any(old[0] <= new[0] and old[1] <= new[1] for old in kept):
            kept = [old for old in kept if old[0] < new[0] or old[1] < new[1]] + [new]
        if progress is not None:
            progress(tried, count)
    return [name for _, _, name in sorted(kept)], count


def records(replays: Iterable[Replay]) -> Table:
    """Return the table `replay` of several replays: a row per recording, estimator and probe."""
    return Table(
        _core.replay_records(
            [algorithm._core for replay in replays for algorithm in replay.algorithms]
        )
    )


def _resampled(core: _core.Replayed, delays: Delays, seed: int) -> Algorithm:
    """Return the results of an algorithm. No other algorithm influences its intervals."""
    return _algorithm(core, delays, drawn_again(delays, [core.wait_ns() / 1e9], core.order, seed))


def _algorithm(core: _core.Replayed, delays: Delays, resamples: Resamples | None) -> Algorithm:
    sums, waits, lost = core.account(), core.wait_ns() / 1e9, np.isnan(delays.rtt_s)
    knew = learnt(delays, core.order)
    before, counted = lost & ~knew, lost & knew
    good, spurious_time = sums["good_ns"] / 1e9, sums["spurious_ns"] / 1e9
    waited = float(waits[counted].sum())
    total = good + waited + spurious_time
    spurious, answered = int(sums["spurious"]), delays.received - delays.untimed
    return Algorithm(
        estimator=core.estimator,
        probes=int(sums["probes"]),
        answered=answered,
        lost=int(sums["lost"]),
        lost_before=int(before.sum()),
        spurious=spurious,
        good=good,
        waited=waited,
        waited_before=float(waits[before].sum()),
        spurious_time=spurious_time,
        mean=sums["mean_ns"] / 1e9,
        cov=sums["cov"],
        efficiency=good / total if total else math.nan,
        bad_share=sums["bad_share"],
        waited_in_delays=waited_in_delays(delays, waits),
        spurious_share=share_interval(resamples, spurious, answered),
        timer=timer_interval(resamples, waits[knew]),
        resamples=resamples,
        _core=core,
    )


def _ms(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2g} ms"


def save_records(replays: Iterable[Replay], path: str | os.PathLike[str]) -> Path:
    """Write the table `replay` as a Parquet file. The file appears only when it is complete."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        records(replays)._core.write(str(partial))
        partial.replace(path)
    except BaseException:
        discard(partial)
        raise
    return path
