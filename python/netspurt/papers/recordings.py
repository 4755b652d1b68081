"""Surrogates for the rows of a printed table, and timers replayed on them.

A surrogate is an invented recording that fits a printed row. RFC 889's table has a row for each run
of probes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.delays import Delays
from netspurt.papers.data import Paper, PaperError
from netspurt.papers.tables import (
    LONGEST,
    SHORTEST,
    AccountRow,
    account_rows,
    aliases,
    path_of,
    path_rows,
)
from netspurt.surrogate import Lengths, Row, Structure

#: A setting of RFC 889's filter with two gains: weight F1 for samples below the estimate, weight F2
#: for samples above it, and the factor G from the estimate to the timer.
Setting = tuple[float, float, float]


@dataclass(frozen=True)
class Variant:
    """A model of the order of a row's delays and losses."""

    structure: Structure
    #: How many losses follow each other.
    burst: int

    def __str__(self) -> str:
        return self.structure + (f", losses in groups of {self.burst}" if self.burst > 1 else "")


@dataclass(frozen=True)
class Replays:
    """The results of several settings, replayed on the surrogates of one row and one variant.

    Attributes
    ----------
    efficiency
        The efficiency of each setting on each surrogate, shape (seeds, settings).
    spurious
        The number of spurious retransmissions of each setting on each surrogate, of the same shape.
    waited
        The mean wait per loss divided by the mean delay, of the same shape. It is NaN if the row
        has no losses.
    """

    efficiency: NDArray[np.float64]
    spurious: NDArray[np.float64]
    waited: NDArray[np.float64]


class PaperSurrogates:
    """The surrogates of a paper's rows, as configured by `[surrogates]` in its `paper.toml`."""

    def __init__(self, paper: Paper) -> None:
        settings = paper.surrogates
        if not settings:
            raise PaperError(f"{paper.key}: no [surrogates] in paper.toml")
        self.rows = account_rows(paper, settings["accounts"])
        self.variants = [Variant(v["structure"], v.get("burst", 1)) for v in settings["variants"]]
        self.probes: int = settings["probes"]
        self.seeds: int = settings["seeds"]
        self._paths = path_rows(paper, settings["lines"])
        self._hosts = aliases(paper, settings["hosts"])
        self._made: dict[tuple[str, Variant], list[Delays]] = {}
        self._replayed: dict[Any, Replays] = {}

    def made(self, name: str, variant: Variant) -> list[Delays]:
        """Return the surrogates of a row under a variant, one for each seed."""
        if (name, variant) not in self._made:
            row = self.rows[name]
            seeds = range(1, self.seeds + 1)
            fitted = self.fitted(row, variant.burst)
            self._made[name, variant] = [
                fitted.surrogate(variant.structure, seed=seed) for seed in seeds
            ]
        return self._made[name, variant]

    def fitted(self, row: AccountRow, burst: int = 1, lengths: Lengths | None = None) -> Row:
        """Return the values that a surrogate of a printed row must fit.

        Parameters
        ----------
        row
            The printed row.
        burst
            How many losses follow each other.
        lengths
            The lengths of the probes. By default, each probe has the length in the name of the
            row's run, or a length from `SHORTEST` to `LONGEST` if the name has no length. If the
            lengths are mixed, the delay of a probe follows from the line of delay against length
            that the paper prints for the path.

        Raises
        ------
        PaperError
            If the lengths are mixed, and the paper prints no line for the path.
        """
        octets = lengths or row.run.octets or (SHORTEST, LONGEST)
        mixed = not isinstance(octets, int)
        line = path_of(row, self._paths, self._hosts).points() if mixed else []
        return Row(
            name=row.key,
            mean=row.mean_answered_ms(self.probes) / 1e3,
            cov=row.account.cov,
            probes=self.probes,
            lost=row.account.lost,
            burst=burst,
            lengths=octets,
            line=line,
            # With RFC 889's filter, a glitch (a group of long delays) causes about two spurious
            # retransmissions.
            glitches=max(row.account.spurious // 2, 1),
        )

    def replayed(
        self,
        name: str,
        variant: Variant,
        falling: Sequence[float],
        rising: Sequence[float],
        g: Sequence[float],
    ) -> Replays:
        """Replay RFC 889's filter on a row's surrogates, with all combinations of the constants.

        `falling` has the values of F1, `rising` the values of F2, and `g` the values of G.
        """
        key = (name, variant, tuple(falling), tuple(rising), tuple(g))
        if key not in self._replayed:
            recordings = self.made(name, variant)
            axes = (list(falling), list(rising), list(g))
            results = [_core.two_gain_grid(recording._core, *axes) for recording in recordings]
            lost = self.rows[name].account.lost
            self._replayed[key] = _summed(recordings, np.array(results, dtype=float), lost)
        return self._replayed[key]

    def setting(self, name: str, variant: Variant, setting: Setting) -> Replays:
        """Replay one setting on a row's surrogates."""
        f1, f2, g = setting
        return self.replayed(name, variant, [f1], [f2], [g])

    def each(self, names: Sequence[str]) -> Iterator[tuple[Variant, str]]:
        """Yield each variant with each row."""
        return ((variant, name) for variant in self.variants for name in names)


def answered_ns(recording: Delays) -> NDArray[np.float64]:
    """Return the delays of the answered probes, in nanoseconds."""
    return recording.rtt_ns.compressed().astype(float)


def _summed(recordings: list[Delays], results: NDArray[np.float64], lost: int) -> Replays:
    delays = [answered_ns(recording) for recording in recordings]
    good = np.array([own.sum() for own in delays])[:, np.newaxis]
    answered = np.array([len(own) for own in delays])[:, np.newaxis]
    spurious, spurious_ns, waited_ns = (results[:, :, column] for column in (3, 4, 5))
    waited = waited_ns / lost / (good / answered) if lost else np.full_like(waited_ns, np.nan)
    return Replays(good / (good + spurious_ns + waited_ns), spurious, waited)
