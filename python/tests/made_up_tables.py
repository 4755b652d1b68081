"""Makes tables, like those of a run, from values that a test chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from netspurt.table import Table


class Made:
    """Imitates a table of the Rust core. Masked values count as missing values."""

    def __init__(self, columns: Mapping[str, Any], name: str = "made") -> None:
        self.name = name
        self.columns = list(columns)
        self._columns = columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def column(self, name: str) -> tuple[Any, list[str] | None, Any, str]:
        """Return the values of a column, its texts, which values are valid, and its type."""
        values = self._columns[name]
        if isinstance(values, list):
            texts = sorted(set(values))
            return np.array([texts.index(text) for text in values], np.uint32), texts, None, "u4"
        valid = ~values.mask if isinstance(values, np.ma.MaskedArray) else None
        data = np.ma.getdata(values)
        return data, None, valid, data.dtype.str

    def with_rows(self, chosen: list[int], names: list[str] | None = None) -> Made:
        """Return a table with the chosen rows, and with the named columns or all columns."""
        columns = {
            name: [values[row] for row in chosen] if isinstance(values, list) else values[chosen]
            for name, values in self._columns.items()
            if names is None or name in names
        }
        return Made(columns, self.name)


def rows(name: str, every: list[dict[str, Any]], defaults: Mapping[str, Any]) -> Table:
    """Return a table with a row for each dictionary. A missing key has its default value.

    A column with a text becomes a column of texts. If the default is `None`, the column has whole
    numbers, and `None` is a missing value.
    """
    columns: dict[str, Any] = {}
    for key, default in defaults.items():
        values = [row.get(key, default) for row in every]
        gone = [value is None for value in values]
        if any(isinstance(value, str) for value in (*values, default)):
            columns[key] = values
        elif default is None:
            known = np.array([0 if value is None else value for value in values], np.int64)
            columns[key] = np.ma.array(known, mask=np.array(gone, dtype=bool))
        else:
            columns[key] = np.array(values, dtype=np.array(default).dtype)
    for row in every:
        assert set(row) <= set(defaults), f"the table {name} lacks a column for a key of {row}"
    made: Any = Made(columns, name)
    return Table(made)


class Tables:
    """Imitates a run with a title, the instant of its end, and the tables that a test gives."""

    def __init__(self, *tables: Table, stop_s: float = 10.0, title: str = "made up") -> None:
        self._tables = {table.name: table for table in tables}
        self.stop_ns = round(1e9 * stop_s)
        self.title = title

    def table(self, name: str) -> Table:
        """Return a table, or raise an error as a run does."""
        if name not in self._tables:
            raise ValueError(f"the table {name} was not recorded")
        return self._tables[name]


#: The default row of the table `segments`: the node `a` sends data forward in the flow `f`.
SEGMENT: dict[str, Any] = {
    "t_ns": 0,
    "flow": "f",
    "direction": "forward",
    "node": "a",
    "way": "out",
    "id": np.uint64(0),
    "packet": 1,
    "kind": "data",
    "seq": 1,
    "ack": 1,
    "len_bytes": np.uint16(100),
    "size_bytes": np.uint16(140),
    "window": np.uint16(1000),
    "flags": np.uint16(16),
    "cause": "",
    "spurious": False,
}


def segments(*every: dict[str, Any], **defaults: Any) -> Table:
    """Return a table of segments. Missing values come from `defaults`, then from `SEGMENT`.

    A segment without an id gets an id of its own.
    """
    numbered = [{"id": n, **row} for n, row in enumerate(every)]
    return rows("segments", numbered, SEGMENT | defaults)


def ack(t_ns: int, octet: int, **more: Any) -> dict[str, Any]:
    """Return the row of an ACK without data that acknowledges all octets below this octet."""
    return {
        "t_ns": t_ns,
        "direction": "reverse",
        "way": "in",
        "kind": "ack",
        "ack": octet,
        "len_bytes": 0,
        "size_bytes": 40,
        **more,
    }


#: The columns that each table about one direction of a flow has.
_OF_FLOW: dict[str, Any] = {"t_ns": 0, "flow": "f", "direction": "forward"}

#: A millisecond [ns].
MS = 1_000_000


def sack_blocks(*every: dict[str, Any]) -> Table:
    """Return a table of SACK blocks that the node `a` received."""
    default = {"direction": "reverse", "node": "a", "id": np.uint64(0), "left": 0, "right": 0}
    return rows("sack_blocks", list(every), _OF_FLOW | default)


def rtt(*samples: tuple[int, int]) -> Table:
    """Return a table of round trips: the instant [ms], and the sample [ns]."""
    every = [{"t_ns": t * MS, "rtt_ns": value} for t, value in samples]
    return rows("rtt", every, {**_OF_FLOW, "rtt_ns": 0})


def rto(*every: dict[str, Any]) -> Table:
    """Return a table of a timer's states. By default, a state has no srtt, and an RTO of 1 s."""
    default = {"fired": False, "srtt_ns": None, "rttvar_ns": None, "backoff": np.uint32(1)}
    return rows("rto", list(every), {**_OF_FLOW, **default, "rto_ns": 1000 * MS})


def cwnd(*every: tuple[int, int, int, bool], flight: int = 0) -> Table:
    """Return a table of the sender's states.

    Each state has the instant [ms], cwnd, ssthresh, and whether the sender is in recovery.
    """
    names = ("cwnd_bytes", "ssthresh_bytes", "in_recovery")
    states = [{"t_ns": t * MS, **dict(zip(names, row, strict=True))} for t, *row in every]
    default = {"cwnd_bytes": 0, "ssthresh_bytes": 0, "flight_bytes": flight, "in_recovery": False}
    return rows("cwnd", states, {**_OF_FLOW, **default})


def flows(*every: dict[str, Any]) -> Table:
    """Return a table of flows. By default, a flow goes from `a` to `b` and has not finished."""
    default = {"flow": "f", "direction": "forward", "from": "a", "to": "b", "acked_bytes": 0}
    return rows("flows", list(every) or [{}], {**default, "finished_ns": None})
