"""Where connections are seen from: at an end, or on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from netspurt.table import Table

#: What the initiator sends, and what the other end sends.
_DIRECTIONS = ("forward", "reverse")


class Tables(Protocol):
    """Anything that has a title and tables by name: a run, or a capture."""

    @property
    def title(self) -> str:
        """What the tables are of."""

    def table(self, name: str) -> Table:
        """Return a table, or raise a `ValueError`."""


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
    knows
        Whether `rtt`, `rto` and `cwnd` of that direction are this node's: an end's of a run, or
        what a capture lets its reader infer.
    """

    flow: str
    node: str
    kind: str
    sends: str
    knows: bool = True

    def told(self) -> dict[str, str]:
        """Return it as a trace has it (draft-ietf-quic-qlog-main-schema-14 §6)."""
        told = {"name": self.node, "type": self.kind}
        if self.kind == "network":
            told["flow"] = "client" if self.sends == _DIRECTIONS[0] else "server"
        return told


def vantages(
    tables: Tables,
    *,
    flow: str | None = None,
    node: str | None = None,
    direction: str | None = None,
    ends: bool = True,
) -> list[Vantage]:
    """Return the connections and nodes that tables tell of, those of a flow or a node alone.

    Parameters
    ----------
    tables
        A run or a capture, with its segments.
    flow, node
        The only flow, the only node.
    direction
        Which direction counts as sent between the ends; by default `forward`.
    ends
        Whether what leaves a node was sent there; a capture does not know where it was made.

    Raises
    ------
    ValueError
        If there is no such flow or node, or no flow was seen anywhere.
    """
    segments = tables.table("segments")
    segments = segments.select(
        np.isin(segments["kind"], ("request", "reply", "other"), invert=True)
    )
    seen: dict[tuple[str, str], Vantage] = {}
    for name, at, way, towards in _combinations(segments):
        known = seen.get((name, at))
        if ends and way == "out" and (known is None or known.kind == "network"):
            kind = "client" if towards == _DIRECTIONS[0] else "server"
            seen[name, at] = Vantage(name, at, kind, towards)
        elif known is None:
            seen[name, at] = Vantage(
                name, at, "network", direction or _DIRECTIONS[0], knows=not ends
            )
    _check("flow", flow, [name for name, _ in seen])
    _check("spied node", node, [at for name, at in seen if flow in (None, name)])
    found = [one for one in seen.values() if flow in (None, one.flow) and node in (None, one.node)]
    if not found:
        raise ValueError('no segment of TCP was seen: spy a node, as in `[record] spy = ["NODE"]`')
    return found


def _combinations(segments: Table) -> list[tuple[str, str, str, str]]:
    """Return flows, nodes, ways and directions that occur together, in the order of flows."""
    columns = [segments[name] for name in ("flow", "node", "way", "direction")]
    codes = [np.unique(column, return_inverse=True)[1] for column in columns]
    _, first = np.unique(np.stack(codes), axis=1, return_index=True)
    return [
        (str(a), str(b), str(c), str(d))
        for a, b, c, d in zip(*(column[np.sort(first)] for column in columns), strict=True)
    ]


def _check(what: str, wanted: str | None, names: list[str]) -> None:
    known = list(dict.fromkeys(names))
    if wanted is not None and wanted not in known:
        shown = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
        raise ValueError(f"no {what} {wanted!r} in segments: there are {shown or 'none'}")
