"""Contacts of spacecraft with relay satellites: the delay of a link over time, from orbits.

A contact is the time in which a spacecraft can communicate over relay satellites. A paper's table
of contacts names the stations of each contact's path. The paper's table of orbits describes the
stations. A pass is a time in which the path has a line of sight. The result of `curve` is stored
beside the paper, as the file that a link follows.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt import _core
from netspurt.orbit import OrbitPath, Pass, extreme_passes
from netspurt.papers.data import Paper, PaperError
from netspurt.quantities import quantity
from netspurt.stored import check_free, write_new

Floats = NDArray[np.float64]

#: The Earth's radius at the equator [km], from which heights are measured, and the radius of the
#: synchronous orbit [km].
EARTH_KM = 6378.137
SYNCHRONOUS_KM = 42164.17

#: The time from the last point of one path to the first point of the next path at a handoff [ns].
_STEP_NS = 1


@dataclass(frozen=True)
class Contact:
    """A row of a paper's table of contacts.

    Attributes
    ----------
    name, satellite
        The name of the contact, and the name of the spacecraft.
    printed_km
        The printed apogee and perigee [km]. `None` if the row does not have them.
    band
        The printed kind of orbit.
    variability
        Which pass of the day is used: `least` means the least variable pass, `most` the most
        variable pass, and `only` the only pass. A contact with handoffs has `handoff`.
    paths
        The stations of the path. With handoffs, there are several paths, in the order of time.
    start, lasts
        For handoffs: the start of the contact (UTC), and its duration [s].
    step
        The time between two points of the stored delay [s].
    scenario
        The file of the scenario whose link follows the delay.
    """

    name: str
    satellite: str
    printed_km: tuple[float, float] | None
    band: str
    variability: str
    paths: tuple[tuple[str, ...], ...]
    start: str
    lasts: float
    step: float
    scenario: str

    @property
    def file(self) -> str:
        """The name of the file that a link follows."""
        return f"{self.name.lower()}.toml"


@dataclass(frozen=True)
class Curve:
    """The delay of a contact's link over time.

    Attributes
    ----------
    t_ns
        Instants since the contact's start [ns], shape (n,), int64.
    delay_ns
        The one-way delay at each instant [ns], shape (n,), int64. Straight lines join the points.
    """

    t_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]

    @property
    def lasts(self) -> float:
        """The length of the contact [s]."""
        return float(self.t_ns[-1]) / 1e9

    def at(self, t: Floats) -> Floats:
        """Return the delays at instants [s], in seconds."""
        return np.interp(t * 1e9, self.t_ns, self.delay_ns) / 1e9

    def mean(self) -> float:
        """Return the mean delay over the contact [s]."""
        return float(np.trapezoid(self.delay_ns / 1e9, self.t_ns / 1e9)) / self.lasts

    def jumps(self) -> list[tuple[float, float]]:
        """Return the instant of each step of the delay [s], and the height of the step [s]."""
        steps = np.flatnonzero(np.diff(self.t_ns) <= _STEP_NS)
        return [
            (float(self.t_ns[n + 1]) / 1e9, float(self.delay_ns[n + 1] - self.delay_ns[n]) / 1e9)
            for n in steps.tolist()
        ]


def contacts(paper: Paper) -> dict[str, Contact]:
    """Return a paper's contacts by name, in the order of its table."""
    rows = paper.rows(_settings(paper)["table"])
    return {row["name"]: _contact(row) for row in rows}


def _settings(paper: Paper) -> Any:
    if not paper.contacts:
        raise PaperError(f"{paper.key} has no satellites, and so no delays to compute")
    return paper.contacts


def _contact(row: dict[str, str]) -> Contact:
    heights = row["printed_apogee_km"], row["printed_perigee_km"]
    return Contact(
        name=row["name"],
        satellite=row["satellite"],
        printed_km=(float(heights[0]), float(heights[1])) if all(heights) else None,
        band=row["band"],
        variability=row["variability"],
        paths=tuple(tuple(path.split(" > ")) for path in row["path"].split(" | ")),
        start=row["start"],
        lasts=float(row["lasts_s"] or 0),
        step=float(row["step_s"]),
        scenario=row["scenario"],
    )


def stations(paper: Paper) -> dict[str, str]:
    """Return the texts of a paper's stations by name."""
    return {row["name"]: row["station"] for row in paper.rows(_settings(paper)["orbits"])}


def elements(paper: Paper, satellite: str) -> dict[str, float]:
    """Return the numbers of a satellite's orbit by their names, such as `apogee` [km].

    Raises
    ------
    PaperError
        If the satellite has no orbit.
    """
    pairs = (word.partition("=") for word in stations(paper)[satellite].split(","))
    texts = {key: value for key, _, value in pairs if key != "epoch"}
    if "apogee" not in texts:
        raise PaperError(f"{paper.key}: {satellite} has no orbit")
    return {key: float(value) for key, value in texts.items()}


def _path(paper: Paper, names: tuple[str, ...]) -> OrbitPath:
    texts = stations(paper)
    if missing := [name for name in names if name not in texts]:
        raise PaperError(f"{paper.key}: no station {missing[0]!r}")
    return OrbitPath([texts[name] for name in names])


def day_of_passes(paper: Paper, contact: Contact) -> list[Pass]:
    """Return the passes of a contact's path on the day that the paper's `paper.toml` names."""
    return _path(paper, contact.paths[0]).passes(_settings(paper)["day"], 24.0)


def curve(paper: Paper, contact: Contact) -> Curve:
    """Return a contact's delay, computed from orbits.

    Raises
    ------
    PaperError
        If the day has no suitable pass, or does not have exactly one pass although the contact's
        `variability` is `only`. Also if the first path of a contact with handoffs has no line of
        sight at the start of the contact, or the last path has none at the end.
    netspurt.OrbitError
        If a path has no line of sight at an instant at which the link follows the path.
    """
    if contact.variability == "handoff":
        return _handoffs(paper, contact)
    passes = day_of_passes(paper, contact)
    if contact.variability == "only":
        if len(passes) != 1:
            raise PaperError(f"{contact.name}: {len(passes)} passes instead of one")
        (chosen,) = passes
    else:
        extremes = extreme_passes(passes)
        if extremes is None:
            raise PaperError(f"{contact.name}: no whole pass on {_settings(paper)['day']}")
        chosen = extremes[contact.variability == "most"]
    delays = _path(paper, contact.paths[0]).delays(chosen.rise_ns, chosen.set_ns, contact.step)
    return Curve(delays.t_ns, delays.delay_ns.astype(np.int64))


def _handoffs(paper: Paper, contact: Contact) -> Curve:
    """Return the delay over three paths that follow each other.

    The link follows the first path until that path loses its line of sight. Then it follows the
    second path. It follows the last path as soon as the last path has a line of sight.
    """
    begin = _core.utc(contact.start)
    end = begin + round(contact.lasts * 1e9)
    paths = [_path(paper, names) for names in contact.paths]
    first, last = (
        _pass_at(path, at, contact) for path, at in ((paths[0], begin), (paths[-1], end))
    )
    edges = [begin, first.set_ns + 1, last.rise_ns, end]
    t, delay = [], []
    for path, (start, stop) in zip(paths, pairwise(edges), strict=True):
        final = stop if stop == end else stop - _STEP_NS
        part = path.delays(start, final, contact.step)
        t.append(part.t_ns + (start - begin))
        delay.append(part.delay_ns.astype(np.int64))
    return Curve(np.concatenate(t), np.concatenate(delay))


def _pass_at(path: OrbitPath, instant: int, contact: Contact) -> Pass:
    hour = 3_600_000_000_000
    for near in path.passes(instant - hour, 2.0):
        if near.rise_ns <= instant <= near.set_ns:
            return near
    when = _core.utc_text(instant)
    raise PaperError(
        f"{contact.name}: {path.name} has no line of sight at {when}: change the contact's times"
    )


def stored(paper: Paper, contact: Contact) -> Curve:
    """Return a contact's delay from the file that is stored beside the paper.

    Raises
    ------
    PaperError
        If there is no such file.
    """
    file = paper.folder / contact.file
    if not file.is_file():
        raise PaperError(
            f"{paper.key}: there is no {contact.file}: make it with `netspurt papers curves`"
        )
    points = tomllib.loads(file.read_text(encoding="utf-8"))["delay"]["timeline"]
    values = [[round(quantity(text)[1] * 1e9) for text in point] for point in points]
    t, delay = np.array(values, dtype=np.int64).T
    return Curve(t, delay)


def written(paper: Paper, contact: Contact, computed: Curve) -> str:
    """Return the text of the file that a link follows."""
    path = ", then ".join(" - ".join(names) for names in contact.paths)
    lines = [
        f"# The one-way delay of the paper's scenario {contact.name}: {path}.",
        f"# Made by `netspurt papers curves {paper.key}` from {_settings(paper)['table']} and "
        f"{_settings(paper)['orbits']}.",
        "[delay]",
        'between  = "linear"',
        "timeline = [",
    ]
    for t, delay in zip(computed.t_ns.tolist(), computed.delay_ns.tolist(), strict=True):
        second = f"{t / 1e9:.9f}".rstrip("0").rstrip(".")
        lines.append(f'    ["{second} s", "{delay / 1e6:.6f} ms"],')
    return "\n".join([*lines, "]", ""])


def write(paper: Paper, folder: Path) -> dict[str, Curve]:
    """Compute all contacts of a paper, write a file for each, and return their delays by name.

    Raises
    ------
    FileExistsError
        If one of the files exists. In that case, no file is written.
    """
    curves = {}
    for contact in contacts(paper).values():
        check_free(folder / contact.file, "file")
    for name, contact in contacts(paper).items():
        curves[name] = curve(paper, contact)
        write_new(folder / contact.file, written(paper, contact, curves[name]))
    return curves
