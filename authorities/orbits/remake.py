"""Contacts of six satellites with a relay during 1999-07-01, by the Python package sgp4.

Nothing of netspurt is used. The package propagates, numpy does the geometry: the path is looked at
once a second, and a contact is a run of seconds with line of sight. `python3 remake.py` needs
`pip install sgp4 numpy` and writes contacts.csv; half a minute.
"""

import csv
from pathlib import Path

import numpy as np
from sgp4.api import WGS72, Satrec, jday

LIGHT_KM_S = 299792.458
EARTH_KM = 6378.137
PULL = 398600.8
DAY = jday(1999, 7, 1, 0, 0, 0)[0]
SECONDS = np.arange(86401.0)

#: Name, apogee and perigee [km] and inclination [degrees] of Allman, Griner, Richard 2000, table I
#: (Mir's heights exchanged, LAGEOS-2's apogee as in its first row), and the member of the family
#: of planes and phases.
SATELLITES = [
    ("Sputnik", 293, 286, 51.6, 48),
    ("Mir", 356, 351, 51.65, 62),
    ("ISS", 400, 384, 51.59, 22),
    ("COBE", 898, 890, 99.0, 46),
    ("RADCAL", 891, 770, 89.55, 57),
]
LAGEOS = ("LAGEOS-2", 5951, 5619, 52.64, (9.459530831967186, 201.50648440704026, 355.43095961771905))
#: Longitude, inclination and node of the relay, TDRS-5 [degrees].
RELAY = (-174.17, 1.25, 88.0)


def radical_inverse(n, base):
    value, scale = 0.0, 1.0
    while n:
        n, digit = divmod(n, base)
        scale /= base
        value += digit * scale
    return value


def low(apogee, perigee, inclination, node, argument, anomaly):
    """Return positions, shape (86401, 3) [km]."""
    axis = EARTH_KM + (apogee + perigee) / 2
    motion = np.sqrt(PULL / axis**3) * 60
    angles = np.radians([argument, inclination, anomaly])
    satellite = Satrec()
    satellite.sgp4init(
        WGS72, "i", 1, DAY - 2433281.5, 0, 0, 0, (apogee - perigee) / 2 / axis,
        *angles, motion, np.radians(node),
    )  # fmt: skip
    error, position, _ = satellite.sgp4_array(np.full(len(SECONDS), DAY), SECONDS / 86400)
    assert not error.any()
    return position


def relay(longitude, inclination, node):
    centuries = (DAY + SECONDS / 86400 - 2451545) / 36525
    seconds = 67310.54841 + (876600 * 3600 + 8640184.812866) * centuries
    seconds += 0.093104 * centuries**2 - 6.2e-6 * centuries**3
    tilt, node = np.radians([inclination, node])
    along = np.radians(seconds / 240 + longitude) - node
    x, y, z = np.cos(along), np.sin(along) * np.cos(tilt), np.sin(along) * np.sin(tilt)
    turned = [x * np.cos(node) - y * np.sin(node), x * np.sin(node) + y * np.cos(node), z]
    return 42164.17 * np.array(turned).T


def contacts(a, b):
    """Yield the first and the last second of each contact, and the delays of its seconds [s]."""
    apart = b - a
    length = np.linalg.norm(apart, axis=1)
    share = np.clip(-(a * apart).sum(1) / length**2, 0, 1)
    clear = np.linalg.norm(a + share[:, None] * apart, axis=1) > EARTH_KM
    edges = np.flatnonzero(np.diff(np.concatenate([[0], clear, [0]])))
    for first, after in edges.reshape(-1, 2):
        yield first, after - 1, length[first:after] / LIGHT_KM_S


def main():
    there = relay(*RELAY)
    rows = []
    for name, apogee, perigee, inclination, member in [*SATELLITES, LAGEOS]:
        bases = (2, 3, 5)
        angles = member if isinstance(member, tuple) else [360 * radical_inverse(member + 1, b) for b in bases]
        found = list(contacts(low(apogee, perigee, inclination, *angles), there))
        whole = [c for c in found if c[0] > 0 and c[1] < 86400 and c[1] - c[0] > 300]
        order = sorted(whole, key=lambda c: np.ptp(c[2]))
        row = {"satellite": name, "apogee_km": apogee, "perigee_km": perigee}
        row |= {"inclination": inclination}
        row |= dict(zip(("node", "argument", "anomaly"), angles))
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
