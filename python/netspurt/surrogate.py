"""Surrogates: invented recordings of delays that fit a row of a printed table.

A surrogate takes the place of a recording that is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netspurt import _core
from netspurt.delays import Delays

#: How the delays of a surrogate follow each other; `Row.surrogate` explains the four words.
Structure = Literal["independent", "glitches", "levels", "queue"]

#: Lengths in octets, in one of four forms; `Row.lengths` explains them.
Lengths = int | range | tuple[int, int] | tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Row:
    """The properties that a surrogate must fit, and the choices that a printed row leaves open.

    Attributes
    ----------
    mean
        The mean delay of the answered probes, in seconds.
    cov
        The standard deviation of these delays, divided by their mean.
    probes, lost
        The number of probes, and the number of lost probes.
    burst
        The number of consecutive losses in a burst.
    lengths
        The lengths of the probes in octets, in one of four forms. ``n``: all probes have this
        length. ``range(low, high + 1)``: each length is drawn from ``low`` to ``high``. ``(low,
        high)``: a length is drawn from zero to ``high``, and a length below ``low`` becomes
        ``low``. ``((n, count), (n, count))``: two groups of probes alternate, each with its length
        and its number of probes.
    line
        The delay of an undisturbed probe as a function of its length. Each point is a length in
        octets and a delay in seconds. Straight lines join the points. The delays are scaled to fit
        the mean. The line is empty if the delay does not depend on the length.
    glitches
        The number of runs of long delays in the structure `glitches`.
    name
        The name of the row, which also selects the random streams.

    Examples
    --------
    >>> path = Row(mean=1.157, cov=0.69, lost=3).surrogate("glitches", seed=2)
    >>> path.sent, path.lost, path.format
    (512, 3, 'surrogate (glitches)')
    """

    mean: float
    cov: float
    probes: int = 512
    lost: int = 0
    burst: int = 1
    lengths: Lengths = 40
    line: Sequence[tuple[int, float]] = ()
    glitches: int = 3
    name: str = "row"

    def surrogate(self, structure: Structure = "glitches", *, seed: int = 1) -> Delays:
        """Return a recording that fits the row; `structure` says how its delays follow each other.

        The mean and the spread agree with the row except for the rounding of nanoseconds. The
        number of losses agrees exactly. The same row, structure and seed give the same recording on
        every machine.

        Parameters
        ----------
        structure
            ``independent``: delays are drawn independently. ``glitches``: delays from an
            exponential distribution, and a few runs of long delays that die away. ``levels``:
            levels that last for about fifty probes each; a cycle of 256 probes raises and lowers
            them. ``queue``: the wait in a queue whose load comes and goes.
        seed
            The seed of the random streams.

        Raises
        ------
        ValueError
            If a value is out of its bounds, or if no delays fit the row.
        """
        for name in ("probes", "lost", "burst", "glitches"):
            if not 0 <= getattr(self, name) <= COUNT_MAX:
                raise ValueError(
                    f"{name} = {getattr(self, name)}: write a number from 0 to {COUNT_MAX}"
                )
        # The Rust core checks the bound of 30 s. Here the nanoseconds must only fit into 64 bits.
        if not 0 < self.mean < COUNT_MAX:
            raise ValueError(f"mean = {self.mean} s: write a time above zero and below 30 s")
        rule, numbers = _rule(self.lengths)
        if any(not 0 <= number <= COUNT_MAX for number in numbers):
            raise ValueError(f"lengths = {self.lengths}: write numbers from 0 to {COUNT_MAX}")
        if not 0 <= seed < 2**64:
            raise ValueError(f"seed = {seed}: write a number from 0 to 2^64 - 1")
        core = _core.surrogate(
            structure,
            seed,
            name=self.name,
            probes=self.probes,
            mean_ns=round(self.mean * 1e9),
            cov=self.cov,
            lost=self.lost,
            burst=self.burst,
            lengths=(rule, numbers),
            line=[(octets, round(delay * 1e9)) for octets, delay in self.line],
            glitches=self.glitches,
        )
        return Delays(core)


#: The maximum of the counts and lengths of a surrogate, such as the number of probes.
COUNT_MAX = 10_000_000


def _rule(lengths: Lengths) -> tuple[str, list[int]]:
    """Return the name that the Rust core has for the rule of lengths, and the rule's numbers."""
    match lengths:
        case int():
            return "same", [lengths]
        case range():
            if lengths.step != 1 or not lengths:
                raise ValueError(f"lengths = {lengths}: write range(LOW, HIGH + 1)")
            return "uniform", [lengths[0], lengths[-1]]
        case (int(low), int(high)):
            return "clamped", [low, high]
        case ((first, count), (then, then_count)):
            return "runs", [first, count, then, then_count]
    raise ValueError(f"lengths = {lengths}: this is none of the four forms of Row.lengths")
