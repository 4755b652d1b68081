"""Computes the contacts of six satellites with a relay on 1999-07-01, with the package sgp4.

The program uses no code of netspurt. sgp4 computes the satellites' positions, and numpy computes
the line of sight for each second. A contact is a series of successive seconds with line of sight.
`python3 contacts.py` needs `pip install sgp4 numpy`. It writes contacts.csv in half a minute.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sgp4.api import WGS72, Satrec, jday

LIGHT_KM_S = 299792.458
EARTH_KM = 6378.137
#: The Earth's gravitational parameter in WGS-72 [km³/s²].
MU = 398600.8
Array = NDArray[np.float64]

DAY = jday(1999, 7, 1, 0, 0, 0)[0]
SECONDS = np.arange(86401.0)

#: Name, apogee and perigee [km] and inclination [degrees] from table I of Allman, Griner, Richard
#: 2000, with two corrections. The paper prints Mir's apogee as its perigee, and the reverse. It
#: prints two apogees of LAGEOS-2; the first is used. The paper does not give the planes of the
#: orbits or the satellites' positions in them. The last number of a row chooses the plane and the
#: position: it is the index of a point in a low-discrepancy series. `LAGEOS` has the plane and the
#: position of LAGEOS-2.
SATELLITES = [
    ("Sputnik", 293, 286, 51.6, 48),
    ("Mir", 356, 351, 51.65, 62),
    ("ISS", 400, 384, 51.59, 22),
    ("COBE", 898, 890, 99.0, 46),
    ("RADCAL", 891, 770, 89.55, 57),
    ("LAGEOS-2", 5951, 5619, 52.64, None),
]
#: LAGEOS-2's node, argument of perigee and anomaly [degrees], computed backwards from orbital
#: elements of a later day.
LAGEOS = (9.459530831967186, 201.50648440704026, 355.43095961771905)
#: Longitude, inclination and node of the relay, TDRS-5 [degrees].
RELAY = (-174.17, 1.25, 88.0)


def radical_inverse(n: int, base: int) -> float:
    """Return the nth point of van der Corput's sequence."""
    value, scale = 0.0, 1.0
    while n:
        n, digit = divmod(n, base)
        scale /= base
        value += digit * scale
    return value


def low_orbit(
    apogee: float, perigee: float, inclination: float, angles: tuple[float, ...]
) -> Array:
    """Return positions [km], shape (86401, 3). `angles`: node, argument, anomaly [degrees]."""
    axis = EARTH_KM + (apogee + perigee) / 2
    motion = np.sqrt(MU / axis**3) * 60
    shape = ((apogee - perigee) / 2 / axis, *np.radians([angles[1], inclination, angles[2]]))
    satellite = Satrec()
    satellite.sgp4init(
        WGS72, "i", 1, DAY - 2433281.5, 0, 0, 0, *shape, motion, np.radians(angles[0])
    )
    error, position, _ = satellite.sgp4_array(np.full(len(SECONDS), DAY), SECONDS / 86400)
    if error.any():
        raise ValueError("the satellite decays")
    positions: Array = position
    return positions


def relay(longitude: float, inclination: float, node: float) -> Array:
    """Return positions [km], shape (86401, 3), of a relay in the synchronous orbit."""
    centuries = (DAY + SECONDS / 86400 - 2451545) / 36525
    seconds = 67310.54841 + (876600 * 3600 + 8640184.812866) * centuries
    seconds += 0.093104 * centuries**2 - 6.2e-6 * centuries**3
    tilt, turn = np.radians([inclination, node])
    along = np.radians(seconds / 240 + longitude) - turn
    x, y, z = np.cos(along), np.sin(along) * np.cos(tilt), np.sin(along) * np.sin(tilt)
    turned = [x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn), z]
    positions: Array = 42164.17 * np.array(turned).T
    return positions


def contacts(a: Array, b: Array) -> Iterator[tuple[int, int, Array]]:
    """Yield the first and the last second of each contact of `a` and `b`, and its delays [s]."""
    leg = b - a
    length = np.linalg.norm(leg, axis=1)
    share = np.clip(-(a * leg).sum(1) / length**2, 0, 1)
    is_visible = np.linalg.norm(a + share[:, None] * leg, axis=1) > EARTH_KM
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_visible, [0]])))
    for first, end in edges.reshape(-1, 2):
        yield int(first), int(end) - 1, length[first:end] / LIGHT_KM_S


def main() -> None:
    """Write contacts.csv.

    A row has two contacts of a satellite: the contact whose delay changes least, and the contact
    whose delay changes most. These two contacts lie within the day and last more than 300 s.
    """
    relay_positions = relay(*RELAY)
    rows = []
    for name, apogee, perigee, inclination, index in SATELLITES:
        drawn = tuple(360 * radical_inverse((index or 0) + 1, base) for base in (2, 3, 5))
        angles = LAGEOS if index is None else drawn
        positions = low_orbit(apogee, perigee, inclination, angles)
        found = list(contacts(positions, relay_positions))
        whole = [c for c in found if c[0] > 0 and c[1] < 86400 and c[1] - c[0] > 300]
        order = sorted(whole, key=lambda c: np.ptp(c[2]))
        row: dict[str, Any] = {"satellite": name, "apogee_km": apogee, "perigee_km": perigee}
        row |= {"inclination": inclination}
        row |= dict(zip(("node", "argument", "anomaly"), angles, strict=True))
        row |= {"contacts": len(found)}
        for which, (first, last, delay) in (("least", order[0]), ("most", order[-1])):
            row |= {f"{which}_start_s": first, f"{which}_duration_s": last - first}
            row |= {f"{which}_delay_ms_min": round(delay.min() * 1e3, 6)}
            row |= {f"{which}_delay_ms_max": round(delay.max() * 1e3, 6)}
        rows.append(row)
    with (Path(__file__).parent / "contacts.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


if __name__ == "__main__":
    main()
