"""Makes scenarios of simulated paths from the rows of a printed table.

A row has one or two straight lines of delay against length. The probes on its simulated path give
almost the same delays at the ends of these lines. A row with one straight line becomes a path with
one serial line. A row with two straight lines becomes a net that fragments long datagrams. The net
has an access line at each end, which may be slower than the backbone. Frames on the backbone may
have an overhead, so each additional fragment costs time there. Datagrams above 125 octets may wait
before they are fragmented, as in a net that reserves buffers for messages of several packets.
Rates, overhead, wait and delay are chosen so that the largest relative error of the delays at the
four ends of the lines is as small as possible. In some paths, the overhead or the wait is zero. Of
three MTUs, the MTU with the smallest error is used. No other value is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from netspurt.analysis.fragments import IP_HEADER, cut
from netspurt.papers.tables import LAST_SHORT, LONGEST, SHORTEST, PathRow

Floats = NDArray[np.float64]

#: The limits above which a net may fragment, in octets. With the last limit, 256 octets become two
#: fragments and not three.
_MTUS = (125, 132, 140)
#: The minimum delay per octet on a line [s], at a rate of 10 Mbit/s.
_DELAY_PER_OCTET_MIN = 8e-7
#: The maximum overhead of a frame, in octets.
_OVERHEAD_MAX = 60_000


@dataclass(frozen=True)
class SimulatedPath:
    """A simulated path for a printed row. Times are one-way, in seconds.

    Attributes
    ----------
    row
        The printed row.
    delay
        The propagation delay.
    access
        The delay per octet on the access line at the sender's side; zero if the path has one line.
    backbone
        The delay per octet on the backbone, or on the line if the path has only one.
    frame
        The time that the overhead of a frame on the backbone takes.
    wait
        The additional delay of a datagram above 125 octets.
    mtu
        The size of the largest packet on the access line, in octets; `None` if the path has one
        line.
    error
        The largest expected relative error of a delay at an end of a line, without the effect of
        random lengths.
    """

    row: PathRow
    delay: float
    access: float
    backbone: float
    frame: float
    wait: float
    mtu: int | None
    error: float


def path_for(row: PathRow) -> SimulatedPath:
    """Return the path whose probes come closest to the delays at the ends of a row's lines."""
    if len(row.lines) == 1:
        shortest_s, longest_s = (delay / 1e3 for delay in row.lines[0].delay_ms)
        slope = (longest_s - shortest_s) / (LONGEST - SHORTEST)
        return SimulatedPath(row, shortest_s - SHORTEST * slope, 0.0, slope, 0.0, 0.0, None, 0.0)
    return min((_path_with_mtu(row, mtu) for mtu in _MTUS), key=lambda path: path.error)


def fragments(octets: int, mtu: int) -> list[int]:
    """Return the lengths of the packets that a link with an `mtu` makes of a datagram.

    Examples
    --------
    >>> fragments(125, 125), fragments(126, 125), fragments(256, 125), fragments(256, 140)
    ([125], [124, 22], [124, 124, 48], [140, 136])
    """
    return [part + IP_HEADER for part in cut(octets - IP_HEADER, mtu)]


def _path_with_mtu(row: PathRow, mtu: int) -> SimulatedPath:
    """Return the best path with an `mtu`, by a linear program.

    A fragmented datagram takes the time of its first fragment on the access line and the time of
    all its fragments on the backbone. This is true if a full fragment, with the overhead of its
    frame, takes at least as long on the backbone as on the access line.
    """
    ends = np.array([end / 1e3 for line in row.lines for end in line.delay_ms])
    lengths = np.arange(SHORTEST, LONGEST + 1)
    fragmented = [fragments(int(octets), mtu) for octets in lengths]
    # Columns: delay, access, backbone, frame, wait.
    times = np.array([[1.0, parts[0], sum(parts), len(parts), 0.0] for parts in fragmented])
    times[:, 4] = lengths > LAST_SHORT
    # RFC 889 draws lengths from 0 to 256, and raises those below 40 to 40. So 41 of the 257 equally
    # likely lengths become 40.
    weights = np.where(lengths == SHORTEST, SHORTEST + 1.0, 1.0)
    short = lengths <= LAST_SHORT
    model = np.vstack(
        [
            _line_ends(lengths[short], weights[short], (SHORTEST, LAST_SHORT)) @ times[short],
            _line_ends(lengths[~short], weights[~short], (LAST_SHORT, LONGEST)) @ times[~short],
        ]
    )
    relative = model / ends[:, np.newaxis]
    error = np.full((len(ends), 1), -1.0)
    bounds_of_error = np.vstack([np.hstack([relative, error]), np.hstack([-relative, error])])
    longest = float(max(parts[0] for parts in fragmented if len(parts) > 1))
    # This constraint ensures that each fragment has arrived when the backbone is ready for it.
    no_waiting = [0.0, longest, -longest, -1.0, 0.0, 0.0]
    limited_overhead = [0.0, 0.0, -_OVERHEAD_MAX, 1.0, 0.0, 0.0]
    solved = linprog(
        c=[0, 0, 0, 0, 0, 1],
        A_ub=np.vstack([bounds_of_error, no_waiting, limited_overhead]),
        b_ub=np.concatenate([np.ones(4), -np.ones(4), np.zeros(2)]),
        bounds=[
            (0, None),
            (_DELAY_PER_OCTET_MIN, None),
            (_DELAY_PER_OCTET_MIN, None),
            (0, None),
            (0, None),
            (0, None),
        ],
    )
    delay, access, backbone, frame, wait, worst = np.asarray(solved.x, dtype=float).tolist()
    return SimulatedPath(row, delay, access, backbone, frame, wait, mtu, worst)


def _line_ends(lengths: NDArray[np.int64], weights: Floats, ends: tuple[int, int]) -> Floats:
    """Return a matrix that gives the values of a regression line at two lengths.

    The line is fitted to one delay for each of `lengths`, with their `weights`. The matrix times
    these delays gives the values at both `ends`.
    """
    x = np.column_stack([np.ones(len(lengths)), lengths])
    weighted = x.T * weights
    at = np.array([[1.0, end] for end in ends])
    return np.asarray(at @ np.linalg.solve(weighted @ x, weighted))


def scenario_text(path: SimulatedPath) -> str:
    """Return the scenario of a path: 4096 probes of random lengths, one in flight."""
    row = path.row
    comment = f"# {row.name} of RFC 889's first table"
    if path.mtu is None:
        links = [f'line = {{ between = ["dcn1", "host"], {_rate(path.backbone)}, {_delay(path)} }}']
        comment += ": one line, one rate."
    else:
        links = _two_lines(path)
        comment += (
            f": a net that fragments datagrams above {path.mtu} octets.\n"
            "# Rates, delay, overhead and wait are fitted to the ends of the row's lines, with\n"
            f"# an expected error of at most {100 * path.error:.1f} %."
        )
    link_lines = "\n".join(links)
    return f"""{comment}
title = "RFC 889: a path as to {row.name}"
stop  = "12 h"

[links]
{link_lines}

[echo_probes.probe]
from    = "dcn1"
to      = "host"
lengths = {{ from = "40 B", to = "256 B", step = "1 B", rule = "random" }}
count   = 4096

[record]
tables  = ["rtt"]
capture = false
"""


def _two_lines(path: SimulatedPath) -> list[str]:
    """Return the links: the backbone, and an access line at each end, which fragments datagrams.

    If long datagrams wait, there is one more link at each end, on which they wait.
    """
    access, backbone = (_rate(slope) for slope in (path.access, path.backbone))
    slow, fast = access.partition(" = ")[2], '"10 Gbit/s"'
    if path.wait > 0:
        # A datagram waits at the end that sends it, before it is fragmented.
        long = f'{{ above = "{LAST_SHORT} B", by = "{1e3 * path.wait:.6g} ms" }}'
        near, far = "source", "sink"
        waits = [
            f'send = {{ between = ["dcn1", "source"], rate = {fast}, long = [{long}, "none"] }}',
            f'take = {{ between = ["sink", "host"], rate = {fast}, long = ["none", {long}] }}',
        ]
    else:
        near, far, waits = "dcn1", "host", []
    framing = f'framing = {{ overhead = "{round(path.frame / path.backbone)} B" }}'
    return [
        *waits,
        f'near = {{ between = ["{near}", "west"], rate = [{slow}, {fast}], mtu = "{path.mtu} B" }}',
        f'net  = {{ between = ["west", "east"], {backbone}, {_delay(path)}, {framing} }}',
        f'far  = {{ between = ["east", "{far}"], rate = [{fast}, {slow}], mtu = "{path.mtu} B" }}',
    ]


def _rate(slope: float) -> str:
    return f'rate = "{round(8 / slope)} bit/s"'


def _delay(path: SimulatedPath) -> str:
    return f'delay = "{1e3 * path.delay:.6g} ms"'
