"""The points from which the traces of qlog see connections: an end, or a node on the path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netspurt.table import HasTables, Table
from netspurt.wording import unknown_name

#: The directions: the initiator's packets, and the other end's packets.
_DIRECTIONS = ("forward", "reverse")


@dataclass(frozen=True)
class Vantage:
    """A connection as one node sees it.

    Attributes
    ----------
    flow, node
        The connection and the node.
    kind
        `client` at the initiator, `server` at the other end, `network` between them.
    sends
        The direction of the packets that count as sent.
    has_sender_tables
        True if the trace has the tables `rtt`, `rto` and `cwnd` of the direction `sends`. The trace
        of a run has them if the node is an end. The trace of a capture always has them, with
        inferred values.
    """

    flow: str
    node: str
    kind: str
    sends: str
    has_sender_tables: bool = True

    def told(self) -> dict[str, str]:
        """Return the vantage point in qlog's form (draft-ietf-quic-qlog-main-schema-14 §6)."""
        point = {"name": self.node, "type": self.kind}
        if self.kind == "network":
            point["flow"] = "client" if self.sends == _DIRECTIONS[0] else "server"
        return point


def vantages(
    tables: HasTables,
    *,
    flow: str | None = None,
    node: str | None = None,
    direction: str | None = None,
    ends: bool = True,
) -> list[Vantage]:
    """Return each connection at each node that saw it; `flow` and `node` limit the result.

    Parameters
    ----------
    tables
        A run or a capture, with its segments.
    flow, node
        The flow and the node to return; `None` for all.
    direction
        The direction that counts as sent at a node between the ends. By default, it is the
        direction with more octets of data, or `forward` if both directions have equally many.
    ends
        True if a node that sends packets of a flow counts as an end of this flow. Pass false for a
        capture, because a capture does not show where it was made.

    Raises
    ------
    ValueError
        If there is no such flow or node, or if no node saw a flow.
    """
    segments = segments_of(tables)
    seen: dict[tuple[str, str], Vantage] = {}
    busier = {} if direction else _busier(segments)
    for of_flow, at_node, way, sent_direction in _combinations(segments):
        known = seen.get((of_flow, at_node))
        if ends and way == "out" and (known is None or known.kind == "network"):
            kind = "client" if sent_direction == _DIRECTIONS[0] else "server"
            seen[of_flow, at_node] = Vantage(of_flow, at_node, kind, sent_direction)
        elif known is None:
            sends = direction or busier[of_flow, at_node]
            seen[of_flow, at_node] = Vantage(
                of_flow, at_node, "network", sends, has_sender_tables=not ends
            )
    _check("flow", flow, [of_flow for of_flow, _ in seen])
    _check("spied node", node, [at for of_flow, at in seen if flow in (None, of_flow)])
    chosen = [
        vantage
        for vantage in seen.values()
        if flow in (None, vantage.flow) and node in (None, vantage.node)
    ]
    if not chosen:
        raise ValueError('no segment of TCP was seen: spy a node, as in `[record] spy = ["NODE"]`')
    return chosen


def segments_of(tables: HasTables) -> Table:
    """Return the segments of TCP, without echo probes and other protocols."""
    segments = tables.table("segments")
    return segments.select(np.isin(segments["kind"], ("request", "reply", "other"), invert=True))


def _combinations(segments: Table) -> list[tuple[str, str, str, str]]:
    """Return the combinations of flow, node, way and direction, in order of their first rows.

    The way says how segments pass the node: `out`, `in` or `through`.
    """
    columns = [segments[name] for name in ("flow", "node", "way", "direction")]
    codes = [np.unique(column, return_inverse=True)[1] for column in columns]
    _, first = np.unique(np.stack(codes), axis=1, return_index=True)
    return [
        (str(flow), str(node), str(way), str(direction))
        for flow, node, way, direction in zip(
            *(column[np.sort(first)] for column in columns), strict=True
        )
    ]


def _busier(segments: Table) -> dict[tuple[str, str], str]:
    """Return each flow's direction with more data at each node, or forward if both are equal."""
    flow, node = segments["flow"], segments["node"]
    codes = [np.unique(column, return_inverse=True)[1] for column in (flow, node)]
    pairs = np.stack(codes)
    _, first, places = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
    octets = segments["len_bytes"].astype(np.int64)
    signs = np.where(segments["direction"] == _DIRECTIONS[0], 1, -1)
    more = np.bincount(places.ravel(), weights=signs * octets)
    return {
        (str(of_flow), str(at_node)): _DIRECTIONS[int(octets_more < 0)]
        for of_flow, at_node, octets_more in zip(flow[first], node[first], more, strict=True)
    }


def _check(kind: str, wanted: str | None, names: list[str]) -> None:
    known = list(dict.fromkeys(names))
    if wanted is not None and wanted not in known:
        raise ValueError(
            unknown_name(kind, wanted, known, where="in segments", most=8)
            if known
            else f"no {kind} in segments is called {wanted!r}; there are no {kind}s"
        )
