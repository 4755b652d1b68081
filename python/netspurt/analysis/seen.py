"""What a capture shows of its connections: where it was taken, and which of them it has whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from netspurt.table import Table

#: If one half of a handshake is this many times shorter, the capture was taken at its host.
_SHORTER = 8


def vantages(tables: Mapping[str, Table]) -> dict[tuple[int, str], str]:
    """Return where each direction of each connection was captured, as far as it is known.

    The values are `sender`, `receiver` and `middle`. `tables` has `connections` and `habits`.
    """
    habits = tables["habits"]
    keys = zip(habits["connection"].tolist(), habits["direction"].tolist(), strict=True)
    told = zip(keys, habits["vantage"].tolist(), strict=True)
    by_packets = {key: vantage for key, vantage in told if vantage != "unknown"}
    return _by_handshakes(tables["connections"]) | by_packets


def octets_by_vantage(tables: Mapping[str, Table]) -> Counter[str]:
    """Return how many octets of data were captured at each vantage, or at one that is `unknown`."""
    where, octets = vantages(tables), Counter[str]()
    names = ("connection", "direction", "unique_bytes")
    columns = (tables["connections"][name].tolist() for name in names)
    for connection, direction, own in zip(*columns, strict=True):
        octets[where.get((connection, direction), "unknown")] += own
    return octets


def _by_handshakes(connections: Table) -> dict[tuple[int, str], str]:
    """Decide where each direction was captured, from the two halves of its handshake."""
    keys = zip(connections["connection"].tolist(), connections["direction"].tolist(), strict=True)
    halves = dict(zip(keys, connections["handshake_rtt_ns"].tolist(), strict=True))
    where: dict[tuple[int, str], str] = {}
    for (connection, direction), far in halves.items():
        other = "reverse" if direction == "forward" else "forward"
        near = halves.get((connection, other))
        if far is None or near is None or near == far:
            continue
        if max(near, far) >= _SHORTER * min(near, far):
            where[connection, direction] = "sender" if near < far else "receiver"
        else:
            where[connection, direction] = "middle"
    return where


def heard(tables: Mapping[str, Table]) -> Table:
    """Return the rows of `spent` for connections whose two directions were captured.

    `tables` has `connections` and `spent`.
    """
    connections, spent = tables["connections"], tables["spent"]
    silent = connections["connection"][connections["packets"] == 0]
    return spent.select(~np.isin(spent["connection"], silent))
