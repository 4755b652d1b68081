"""Orbits: passes (periods with line of sight over satellites), and the delay of a path over time.

>>> from netspurt.orbit import OrbitPath
>>> satellite = "apogee=400,perigee=384,inclination=51.6,epoch=1999-07-01"
>>> path = OrbitPath(["32.5007,-106.6086", "geo:-174.17", satellite])
>>> passes = path.passes("1999-07-01", hours=24)
>>> len(passes), round(passes[3].swing * 1e3, 1)
(15, 28.5)

A path leads over stations, which are sites, relays and satellites. An element set describes the
orbit of one satellite at one instant, the epoch. A simulation does not compute orbits. It reads
delays that were computed before: `PathDelays.timeline` returns the value for the key `delay` of a
scenario's link.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.quantities import exactly
from netspurt.stored import bounded_octets

#: An instant of UTC: `1999-07-01T00:00:00Z`, `1999-07-01`, or nanoseconds since 1970.
Instant = str | int

#: The shortest pass that `extreme_passes` considers by default [s].
SHORTEST_S = 300.0

#: The default bound of the residual of a fit, as a share of the delay.
WITHIN = 0.001

#: The highest degree of a polynomial that is tried.
_DEGREE_MAX = 20

#: Error bounds and the shortest length of a path are computed from many points of a span. The first
#: constant is the time between two points [ns], and the second is the approximate maximum number of
#: points. In a long span, the time between two points is longer.
_FINE_STEP_NS = 500_000_000
_FINE_POINTS_MAX = 100_000

#: The maximum number of octets of a file of element sets. A file of all satellites has a tenth of
#: this number.
_OCTETS_MAX = 1 << 26


def read_satellites(file: str | os.PathLike[str]) -> list[_core.OrbitStation]:
    """Return the satellites of a file with element sets.

    Parameters
    ----------
    file
        Sets in two lines (TLE), with or without lines of names, or orbit mean-elements messages
        (OMM) in key-value notation. OMM in JSON, XML and CSV is not supported. A byte order mark is
        left out.

    Raises
    ------
    netspurt.OrbitError
        If a set is damaged or describes an orbit inside the Earth. The error has line and column.
    ValueError
        If the file has more than 64 MiB.
    OSError
        If the file cannot be read.
    """
    text = bounded_octets(file, _OCTETS_MAX).decode("utf-8-sig", errors="replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _core.orbit_satellites(text, str(file))


def read_station(
    text: str, *, elevation: float = 0.0, near: Instant | None = None
) -> _core.OrbitStation:
    """Return the station that a text describes.

    Parameters
    ----------
    text
        One of four kinds of text. A site is ``"32.5007,-106.6086"`` or ``"32.5007,-106.6086,1500"``
        (degrees north and east, metres). A geostationary relay is ``"geo:-174.17"``, or
        ``"geo:-174.17,1.25,88"`` with inclination and node [degrees]. An orbit is
        ``"apogee=400,perigee=384,inclination=51.6,epoch=1999-07-01"`` [km, km, degrees, UTC], and
        optionally ``node``, ``argument``, ``anomaly`` [degrees] and ``name``. A file with element
        sets is named by its path, and by ``"FILE#NAME"`` if it has several satellites. NAME is a
        satellite's name or its catalogue number, in lower or upper case. A catalogue number that
        contains a letter may also be written in digits: ``A0000`` is ``100000``.
    elevation
        The minimum elevation over a site's horizon at which the site has line of sight [degrees].
    near
        If a satellite has several sets, the set whose epoch is nearest to this instant is used. By
        default, it is the newest set.

    Raises
    ------
    netspurt.OrbitError
        If the text or the file has a mistake.
    ValueError
        If the text is not a station, or does not choose exactly one satellite of its file. Also if
        the file does not exist or has more than 64 MiB.
    OSError
        If the file cannot be read.
    """
    return _station_and_notes(text, elevation, near)[0]


def _station_and_notes(
    text: str, elevation: float, near: Instant | None
) -> tuple[_core.OrbitStation, list[str]]:
    """Return the station that a text describes, and a note if its satellite has several sets."""
    station = _core.orbit_station(text, elevation)
    if station is not None:
        return station, []
    sets = _sets_of(text)
    if len(sets) == 1:
        return sets[0], []
    epochs = np.array([element_set.epoch_ns or 0 for element_set in sets], dtype=np.int64)
    distances = -epochs if near is None else np.abs(epochs - _nanoseconds(near))
    chosen = sets[int(np.argmin(distances))]
    which = "the newest" if near is None else "the nearest to the start"
    note = (
        f"{chosen.name}: of {len(sets)} element sets, {which} is used; its epoch is "
        f"{_core.utc_text(chosen.epoch_ns or 0)}"
    )
    return chosen, [note]


def _sets_of(text: str) -> list[_core.OrbitStation]:
    """Return the element sets of the one satellite that a text names.

    Raises
    ------
    ValueError
        If the file does not exist, or if the text names no satellite or several satellites.
    """
    file, _, name = (text, "", "") if Path(text).exists() else text.partition("#")
    if not Path(file).exists():
        if _FILE_LIKE.search(file):
            raise ValueError(f"{file}: there is no such file of element sets")
        raise ValueError(
            f"{text!r} is not a station: write LATITUDE,LONGITUDE; or geo:LONGITUDE; or "
            "apogee=KM,perigee=KM,inclination=DEGREES,epoch=UTC; or a file with element sets"
        )
    satellites = read_satellites(file)
    matching = [satellite for satellite in satellites if not name or _has_name(satellite, name)]
    known = list(dict.fromkeys(map(_name_and_number, satellites)))
    if not matching:
        lower = {text.casefold(): text for text in known}
        similar = difflib.get_close_matches(name.casefold(), lower, n=4, cutoff=0.3)
        similar += [text for text in lower if name.casefold() in text]
        names = list(dict.fromkeys(lower[text] for text in similar))
        named = f"it has {', '.join(names)}" if names else f"it begins with {', '.join(known[:8])}"
        raise ValueError(f"{file} has no satellite {name!r}: {named}")
    several = list(dict.fromkeys(map(_name_and_number, matching)))
    if len({satellite.catalogue for satellite in matching}) > 1:
        message = f"{file} has {len(several)} satellites" + (f" called {name!r}" if name else "")
        more = ", ..." if len(several) > 8 else ""
        which = ", ".join(several[:8]) + more
        raise ValueError(f"{message}: choose one with {file}#NAME or {file}#NUMBER: {which}")
    return matching


#: The form of a text that is the name of a file, even if the file does not exist.
_FILE_LIKE = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{1,4}$")


def _has_name(satellite: _core.OrbitStation, name: str) -> bool:
    number = _in_digits(satellite.catalogue or "")
    same_number = number == _in_digits(name.strip()) != ""
    return same_number or satellite.name.casefold() == name.strip().casefold()


def _in_digits(number: str) -> str:
    """Return a catalogue number in digits, without zeros at its beginning.

    In two-line elements, a number of 100,000 or more has a letter for its first two digits: A0000
    is 100000, and Z9999 is 339999. I and O are left out, because they look like digits.
    """
    letter, rest = number[:1].upper(), number[1:]
    place = _LETTERS.find(letter) if letter else -1
    if place >= 0 and len(rest) == 4 and rest.isdigit():
        return f"{place + 10}{rest}"
    return number.lstrip("0")


#: The letters that stand for the first two digits of catalogue numbers, from 10 to 33.
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def _name_and_number(satellite: _core.OrbitStation) -> str:
    """Return a satellite's name and its catalogue number."""
    number = satellite.catalogue
    return f"{satellite.name} ({number})" if number != satellite.name else satellite.name


@dataclass(frozen=True)
class Pass:
    """A period in which a path has line of sight without interruption.

    Attributes
    ----------
    rise_ns, set_ns
        The first and the last instant of the pass [ns since 1970]. The error is below 1 ms.
    cut
        Two values: whether the searched span cuts off the beginning of the pass, and whether it
        cuts off the end.
    km
        The minimum and the maximum length of the path [km].
    delay
        The minimum and the maximum one-way delay [s].
    """

    rise_ns: int
    set_ns: int
    cut: tuple[bool, bool]
    km: tuple[float, float]
    delay: tuple[float, float]

    @property
    def rise(self) -> str:
        """The first instant of the pass as text."""
        return _core.utc_text(self.rise_ns)

    @property
    def set(self) -> str:
        """The last instant of the pass as text."""
        return _core.utc_text(self.set_ns)

    @property
    def duration(self) -> float:
        """The length of the pass [s]."""
        return (self.set_ns - self.rise_ns) / 1e9

    @property
    def swing(self) -> float:
        """The maximum one-way delay minus the minimum [s]."""
        return self.delay[1] - self.delay[0]

    @property
    def whole(self) -> bool:
        """True if the whole pass is within the searched span."""
        return not any(self.cut)


def extreme_passes(
    passes: Sequence[Pass], *, at_least: float = SHORTEST_S
) -> tuple[Pass, Pass] | None:
    """Return the least and the most variable pass, by the swing of the delay.

    Parameters
    ----------
    passes
        Passes of one path.
    at_least
        The minimum length of a pass [s]. Shorter passes do not count. Passes that the span cuts off
        do not count either.

    Returns
    -------
    tuple or None
        `None` if no pass counts.
    """
    counted = [found for found in passes if found.whole and found.duration >= at_least]
    if not counted:
        return None
    return min(counted, key=lambda own: own.swing), max(counted, key=lambda own: own.swing)


@dataclass(frozen=True)
class DelayPolynomial:
    """A polynomial of time that fits delays.

    Attributes
    ----------
    coefficients
        The coefficients of the powers of the time [s], beginning with power 0, for a delay in
        seconds.
    residual
        A bound of the difference between the polynomial and the delay [s]. It also holds between
        points.
    share
        A bound of the difference as a share of the delay.
    """

    coefficients: tuple[float, ...]
    residual: float
    share: float

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients) - 1


class PathDelays:
    """The delay of a path over time.

    Attributes
    ----------
    t_ns
        Instants since the first one [ns], shape (n,), int64.
    km
        The length of the path [km], shape (n,), float64.
    delay_ns
        The one-way delay [ns], shape (n,), uint64.
    """

    def __init__(
        self,
        at_ns: NDArray[np.int64],
        km: NDArray[np.float64],
        delay_ns: NDArray[np.uint64],
        finely: PathDelays | None = None,
    ) -> None:
        self.t_ns = at_ns - at_ns[0]
        self.km = km
        self.delay_ns = delay_ns
        #: The same span at more points, for fits, error bounds and the shortest length.
        self._finely = self if finely is None else finely

    def fit(self, degree: int | None = None, *, within: float = WITHIN) -> DelayPolynomial:
        """Return a polynomial that fits the delays by least squares.

        Parameters
        ----------
        degree
            The degree. By default, it is the lowest degree whose polynomial has a `share` of at
            most the bound `within`. If no degree up to 20 has such a share, it is the degree with
            the smallest share.
        within
            The bound of the residual, as a share of the delay.

        Raises
        ------
        ValueError
            If `degree` is not from 0 to 20, or if there are too few delays for it.
        """
        highest = min(_DEGREE_MAX, len(self._finely.t_ns) - 1)
        if degree is not None and not 0 <= degree <= highest:
            why = (
                "double-precision numbers cannot fit a higher one"
                if highest == _DEGREE_MAX
                else "there are too few delays for a higher one"
            )
            raise ValueError(f"degree {degree}: write a degree from 0 to {highest}; {why}")
        if degree is not None:
            return self._fitted(degree)
        tried = []
        for candidate in range(highest + 1):
            tried.append(self._fitted(candidate))
            if tried[-1].share <= within:
                return tried[-1]
        return min(tried, key=lambda fitted: fitted.share)

    def _fitted(self, degree: int) -> DelayPolynomial:
        is_coarse = 2 * len(self.t_ns) < len(self._finely.t_ns) - 1
        points = self._finely if is_coarse else self
        t, delay = points.t_ns / 1e9, points.delay_ns / 1e9
        fitted = np.polynomial.Polynomial.fit(t, delay, degree).convert().coef
        # `convert` drops zeros at the end, and its results are rounded. The residual is computed
        # from these results, so that it includes the effect of the rounding.
        coefficients = [*fitted.tolist(), *[0.0] * degree][: degree + 1]
        t, delay = self._finely.t_ns / 1e9, self._finely.delay_ns / 1e9
        difference = np.polynomial.polynomial.polyval(t, coefficients) - delay
        between = _between(difference)
        share = (np.abs(difference) / delay).max() + between / delay.min()
        return DelayPolynomial(
            tuple(coefficients), float(np.abs(difference).max() + between), float(share)
        )

    @property
    def line_error(self) -> float:
        """A bound of the difference between the delay and straight lines between points [s]."""
        t, delay = self._finely.t_ns, self._finely.delay_ns / 1e9
        difference = np.abs(np.interp(t, self.t_ns, self.delay_ns / 1e9) - delay)
        return float(difference.max() + _between(delay))

    def timeline(self) -> dict[str, Any]:
        """Return the delays as the `delay` of a scenario's link, with straight lines between them.

        Examples
        --------
        >>> from netspurt.orbit import OrbitPath
        >>> path = OrbitPath(["0,10", "geo:10"])
        >>> path.delays("2026-01-01", "2026-01-01T00:00:01Z").timeline()["timeline"]
        [['0 s', '119.369357 ms'], ['1 s', '119.369357 ms']]
        """
        times = [exactly(ns) for ns in self.t_ns.tolist()]
        delays = [exactly(ns, "ms") for ns in self.delay_ns.tolist()]
        points = [list(point) for point in zip(times, delays, strict=True)]
        return {"between": "linear", "timeline": points}

    def bit_errors(self, least: float, per_db: float = 1.0) -> list[float]:
        """Return bit error rates that follow the length of the path, one for each delay.

        The signal falls with the square of the distance. At a given length, the signal is D
        decibels weaker than at the shortest length, with D = 20 log10(length / shortest). The path
        may be shortest at an instant between two of the delays. The bit error rate is ``least * 10
        ** (per_db * D)``, but at most 1. The length of the whole path counts. So, for the
        rates between two stations of a longer path, use a path with only these two stations.

        Parameters
        ----------
        least
            The bit error rate where the path is shortest, from 0 to 1.
        per_db
            The number of powers of ten by which the rate grows with each decibel.

        Raises
        ------
        ValueError
            If `least` is not a probability, or if `per_db` is below zero.

        Examples
        --------
        >>> from netspurt.orbit import OrbitPath
        >>> path = OrbitPath(["0,10", "geo:10"])
        >>> path.delays("2026-01-01", "2026-01-01T00:00:01Z").bit_errors(1e-7)
        [1e-07, 1e-07]
        """
        if not 0 <= least <= 1:
            raise ValueError(f"a bit error rate of {least:g}: write a number from 0 to 1")
        if not (per_db >= 0 and math.isfinite(per_db)):
            raise ValueError(f"{per_db:g} powers of ten per decibel: write 0 or more")
        with np.errstate(over="ignore"):
            rates = np.minimum(least * (self.km / self._finely.km.min()) ** (20 * per_db), 1.0)
        return [float(f"{rate:.4g}") for rate in rates]


class OrbitPath:
    """A one-way path over several stations.

    Parameters
    ----------
    stations
        The stations in order, as texts for `read_station` or as stations.
    elevation
        The minimum elevation over the horizon at which a site has line of sight [degrees]. It
        applies to each site that is given as text.
    margin_km
        The height of an atmosphere that blocks the sight between two satellites [km]. The Earth
        under it is a sphere with a radius of 6378.137 km.
    near
        If a file has several element sets of one satellite, the set whose epoch is nearest to this
        instant is used. By default, it is the newest set.

    Raises
    ------
    netspurt.OrbitError
        If the stations do not form a path, or one of them has a mistake.
    ValueError, OSError
        For a station that is given as text: as in `read_station`.
    """

    def __init__(
        self,
        stations: Sequence[str | _core.OrbitStation],
        *,
        elevation: float = 0.0,
        margin_km: float = 0.0,
        near: Instant | None = None,
    ) -> None:
        read = [
            _station_and_notes(one, elevation, near) if isinstance(one, str) else (one, [])
            for one in stations
        ]
        self.stations = [station for station, _ in read]
        self._chosen = [note for _, notes in read for note in notes]
        self._core = _core.OrbitPath(self.stations, margin_km)

    @property
    def name(self) -> str:
        """The names of the path's stations."""
        return " - ".join(self._core.names)

    def passes(self, start: Instant, hours: float = 24.0, *, step: float = 10.0) -> list[Pass]:
        """Return the passes: the periods in which the path has line of sight.

        Parameters
        ----------
        start
            The start of the span.
        hours
            The length of the span.
        step
            The time between two instants at which the path is computed [s]. A leg leads from one
            station to the next. The clearance of a path says how far its worst leg is from being
            blocked. It is negative if this leg is blocked. If the clearance has only one peak in
            two steps, a pass in these steps is found even if it is shorter than a step.

        Raises
        ------
        netspurt.OrbitError
            If a satellite decays in the span, or the span has more than twenty million steps.
        ValueError
            If `hours` or `step` is not above zero, or is longer than about a hundred years.
        """
        begin = _nanoseconds(start)
        parts = self._core.passes(begin, begin + _whole(hours * 3600e9), _whole(step * 1e9))
        return [Pass(*each) for each in parts]

    def delays(self, start: Instant, end: Instant, step: float = 1.0) -> PathDelays:
        """Return the path's delay at instants `step` seconds apart, and at the end of the span.

        Raises
        ------
        netspurt.OrbitError
            If the path has no line of sight at one of the instants, or if a satellite has decayed.
            Also if the span is empty or has more than twenty million steps.
        ValueError
            If `step` is not above zero, or is longer than about a hundred years.
        """
        begin, last = _nanoseconds(start), _nanoseconds(end)
        every = _whole(step * 1e9)
        points = self._core.delays(begin, last, every)
        fine = max(_FINE_STEP_NS, (last - begin) // _FINE_POINTS_MAX)
        if every <= fine:
            return PathDelays(*points)
        return PathDelays(*points, PathDelays(*self._core.delays(begin, last, fine)))

    def notes(self, start: Instant, hours: float = 24.0) -> list[str]:
        """Return sentences with facts that a user should know about results in a span.

        Some sentences name the element set that was chosen from several. Others name elements whose
        epoch is far from the span.
        """
        begin = _nanoseconds(start)
        return [*self._chosen, *self._core.notes(begin, begin + _whole(hours * 3600e9))]


def _between(values: NDArray[np.float64]) -> float:
    """Return a bound of the distance of a smooth curve from straight lines between its values.

    Between two values, the distance is at most ``f * h**2 / 8``, with the second derivative f and
    the step h. The second difference of the values is ``f * h**2``. The last step may be shorter,
    so the second difference there does not count.
    """
    return float(np.abs(np.diff(values[:-1], 2)).max(initial=0.0)) / 8


def _nanoseconds(instant: Instant) -> int:
    return instant if isinstance(instant, int) else _core.utc(instant)


def _whole(ns: float) -> int:
    """Return a span as whole nanoseconds.

    Raises
    ------
    ValueError
        If the span is not above zero, or is longer than about a hundred years.
    """
    if not 0 < ns < 3.2e18:
        raise ValueError(f"a span of {ns / 1e9:g} s: write a span above zero and below a century")
    return round(ns)
