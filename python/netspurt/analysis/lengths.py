"""Fits delay against length: one straight line, or one line for short and one for long packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: The shortest ARPANET messages that took several packets [octets] (RFC 889 §2.1).
ARPANET_BREAK = 126

#: The minimum number of points for a line.
_POINTS_MIN = 3

#: If the leverage of a probe differs from 1 by less than `_FREE_MIN`, only rounding makes it
#: differ.
_FREE_MIN = 1e-9


@dataclass(frozen=True)
class Line:
    """A regression line of delay on length, for a class of lengths.

    Attributes
    ----------
    shortest, longest
        The range of the lengths of the fitted probes, in octets.
    probes
        The number of probes.
    intercept_s, slope_s
        The delay at length zero in seconds, and the growth of the delay in seconds per octet.
    residual_s
        The standard deviation of the delays about the line, in seconds.
    slope_error_s
        The standard error of the slope, in seconds per octet. It allows for a scatter that changes
        with length, even if there are few probes. It is the estimator HC3 of MacKinnon and White
        (1985), which Long and Ervin (2000) recommend. It is valid for correlated delays if lengths
        were drawn at random.
    """

    shortest: int
    longest: int
    probes: int
    intercept_s: float
    slope_s: float
    residual_s: float
    slope_error_s: float

    def at(self, octets: float) -> float:
        """Return the delay at a length, in seconds."""
        return self.intercept_s + self.slope_s * octets

    @property
    def rate_bps(self) -> float:
        """The bit rate that the slope implies. Infinite if the delay does not grow with length."""
        return _rate(self.slope_s)

    def slope_between(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the slope's confidence interval, in seconds per octet."""
        from scipy.special import stdtrit

        half_width = float(stdtrit(self.probes - 2, (1 + level) / 2)) * self.slope_error_s
        return self.slope_s - half_width, self.slope_s + half_width

    def rate_between(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the rate's confidence interval in bit/s; they may be infinite."""
        low, high = self.slope_between(level)
        return _rate(high), _rate(low)


def _rate(slope_s: float) -> float:
    return 8 / slope_s if slope_s > 0 else float("inf")


@dataclass(frozen=True)
class Fit:
    """One line, or two lines and the length at which the second line begins.

    Attributes
    ----------
    lines
        The lines, from short lengths to long lengths.
    break_octets
        The first length of the second class, or `None` if there is only one line.
    """

    lines: tuple[Line, ...]
    break_octets: int | None

    def at(self, octets: int) -> float:
        """Return the delay at a length, in seconds."""
        long = self.break_octets is not None and octets >= self.break_octets
        return self.lines[-1 if long else 0].at(octets)


def fit_lengths(
    octets: ArrayLike, delay_s: ArrayLike, *, break_at: int | Literal["find"] | None = ARPANET_BREAK
) -> Fit:
    """Fit delay on length, by least squares within each class.

    Parameters
    ----------
    octets, delay_s
        The length and the delay of each probe in octets and seconds, shape (n,). Lost probes,
        whose delay is NaN, are left out.
    break_at
        The first length of the second class. `None` fits one line to all lengths. ``"find"`` uses
        the break with the smallest sum of squared residuals.

    Raises
    ------
    ValueError
        If the shapes differ, if a class has fewer than three probes or only one length, or if there
        are too few different lengths to find a break.

    Examples
    --------
    >>> octets = np.arange(40, 257)
    >>> delay = np.where(octets < 126, 0.1 + 0.002 * octets, 0.3 + 0.001 * octets)
    >>> fit = fit_lengths(octets, delay, break_at="find")
    >>> fit.break_octets, round(fit.lines[1].slope_s, 6)
    (126, 0.001)
    """
    x = np.asarray(octets, dtype=float)
    y = np.asarray(delay_s, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(
            f"octets and delay_s have the shapes {x.shape} and {y.shape}: both must be (n,)"
        )
    answered = np.isfinite(y)
    x, y = x[answered], y[answered]
    if break_at is None:
        return Fit((_line(x, y, "all lengths"),), None)
    at = _best_break(x, y) if break_at == "find" else break_at
    short = x < at
    lines = (
        _line(x[short], y[short], f"lengths below {at} B"),
        _line(x[~short], y[~short], f"lengths from {at} B"),
    )
    return Fit(lines, at)


def _line(x: NDArray[np.float64], y: NDArray[np.float64], lengths_words: str) -> Line:
    if len(x) < _POINTS_MIN or np.ptp(x) == 0:
        raise ValueError(
            f"{lengths_words}: too few probes or lengths for a line (probes: {len(x)}, "
            f"different lengths: "
            f"{len(np.unique(x))}): give at least {_POINTS_MIN} probes of at least 2 lengths"
        )
    slope, intercept = np.polyfit(x, y, 1)
    residuals = y - (intercept + slope * x)
    from_mean = x - x.mean()
    n = len(x)
    squares = np.sum(from_mean**2)
    # The line passes through a probe with a leverage of 1, so its residual is 0 and tells nothing.
    free = 1 - (1 / n + from_mean**2 / squares)
    outer = np.divide(residuals, free, out=np.zeros(n), where=free > _FREE_MIN)
    error = np.sqrt(np.sum((from_mean * outer) ** 2)) / squares
    return Line(
        shortest=int(x.min()),
        longest=int(x.max()),
        probes=n,
        intercept_s=float(intercept),
        slope_s=float(slope),
        residual_s=float(np.std(residuals)),
        slope_error_s=float(error),
    )


def _squares(count: NDArray[np.float64], *sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of squared residuals of a line, from the sums of x, y, xx, xy and yy."""
    sx, sy, sxx, sxy, syy = sums
    vx = sxx - sx * sx / count
    cxy = sxy - sx * sy / count
    vy = syy - sy * sy / count
    explained = np.divide(cxy * cxy, vx, out=np.zeros_like(vx), where=vx > 0)
    return np.maximum(vy - explained, 0.0)


def _best_break(x: NDArray[np.float64], y: NDArray[np.float64]) -> int:
    """Return the break with the smallest sum of squared residuals of both lines."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    mx, my = x - x.mean(), y - y.mean()
    sums = [np.cumsum(v) for v in (mx, my, mx * mx, mx * my, my * my)]
    first = np.flatnonzero(np.diff(x)) + 1
    kinds = np.arange(1, len(first) + 1)
    enough = (kinds >= _POINTS_MIN) & (len(first) + 1 - kinds >= _POINTS_MIN)
    places = first[enough]
    if len(places) == 0:
        raise ValueError("too few different lengths to find a break: break_at=None fits one line")
    count = places.astype(float)
    below = _squares(count, *(s[places - 1] for s in sums))
    above = _squares(len(x) - count, *(s[-1] - s[places - 1] for s in sums))
    return int(x[places[np.argmin(below + above)]])


@dataclass(frozen=True)
class RateTable:
    """A path's row in RFC 889's first table: the ends of the lines, and the rates of the lines.

    Attributes
    ----------
    octets
        The lengths at the ends of the lines. With two lines, the end of the first line occurs
        twice.
    delay_s
        The delays at these lengths, in seconds.
    rates_bps
        The rate of each line.
    """

    octets: tuple[int, ...]
    delay_s: tuple[float, ...]
    rates_bps: tuple[float, ...]


def rate_table(fit: Fit, *, shortest: int = 40, last: int = 125, longest: int = 256) -> RateTable:
    """Return the delays at the ends of a fit's lines, and the rates of the lines.

    One line extends from `shortest` to `longest` octets. With two lines, the first line ends at the
    length `last`, and the second line begins there.

    Examples
    --------
    >>> octets = np.array([40, 125, 256])
    >>> fit = fit_lengths(octets, 8 * octets / 9600, break_at=None)
    >>> [round(rate) for rate in rate_table(fit).rates_bps]
    [9600]
    """
    ends = [(shortest, longest)] if len(fit.lines) == 1 else [(shortest, last), (last, longest)]
    delays = tuple(
        line.at(octets) for line, pair in zip(fit.lines, ends, strict=True) for octets in pair
    )
    return RateTable(
        tuple(octets for pair in ends for octets in pair),
        delays,
        tuple(line.rate_bps for line in fit.lines),
    )


def rate_band(octets: float, first: float, second: float, *, unit: float) -> tuple[float, float]:
    """Return the range of rates that two rounded delays allow, in bit/s.

    Parameters
    ----------
    octets
        The difference of the lengths.
    first, second
        The delays in seconds, each rounded to a whole `unit`.
    unit
        The unit of rounding, in seconds. Each delay may be wrong by half of it.

    Examples
    --------
    >>> low, high = rate_band(216, 0.009, 0.013, unit=0.001)
    >>> round(low), round(high)
    (345600, 576000)
    """
    steps = round((second - first) / unit)
    largest, smallest = (steps + 1) * unit, (steps - 1) * unit
    return 8 * octets / largest, 8 * octets / smallest if smallest > 0 else float("inf")
