"""Explains captures: their connections, and the cause of each retransmission."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netspurt import _core
from netspurt.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from netspurt.shared import SharedConnection
    from netspurt.table import Table

#: The layouts for rows of connections: netspurt's, and the layouts of tcptrace's `-lr` and `-lrW`.
LAYOUTS = ("netspurt", "tcptrace", "tcptrace-W")

#: The tables whose instants count from 1970. The instants of all other tables count from the first
#: packet of TCP.
SINCE_1970 = frozenset({"connections", "retransmissions", "waits", "steady", "ceilings"})


class CaptureError(ValueError):
    """A capture cannot be used as requested."""


class Explained:
    """The results of explaining a capture.

    If `explain` was called with `segments`, plots and comparisons accept the capture in place of a
    run. The name of a flow is `c` and the number of the connection. The only node is `capture`. The
    instants of the tables in `SINCE_1970` count from 1970. All other instants count from the first
    packet of TCP. To join tables of both kinds, add to each instant what `since_ns` returns for its
    table.

    Attributes
    ----------
    path
        The file.
    tables
        `connections` has a row for each direction of each connection. `retransmissions` has a row
        for each retransmission with its cause, a verdict (needed or spurious) and the evidence.
        Other tables, such as `waits` and `spent`, show why a connection waited and what limited its
        rate. If `explain` was called with `segments`, there are also tables that a run has, such as
        `segments`, `rtt` and `syns`.
    fault
        Where and why the reading stopped early, or None. If several captures are pooled
        (`explain_pooled`): a line for each capture that was not read to its end, or that was left
        out.
    notes
        Properties of the capture that limit the results, such as times that go back, or link types
        that cannot be read.
    packets, tcp, no_ip, fragments, other
        `packets` counts all packets, and `tcp` counts the packets of TCP. `no_ip` counts packets
        without IP or from links of an unreadable type. `fragments` counts fragments of TCP, except
        those that complete a datagram. `other` counts IP packets without a readable TCP header.
    start_ns
        When the first packet of TCP was captured, in nanoseconds since 1970.
    files
        If several captures are pooled: each file with the number of its first connection.
    shared
        If several captures are pooled: the connections that several of them hold, with their
        numbers in the files. If the captures certainly hold the same connection, the tables have
        only its rows from the capture in `SharedConnection.best`. Otherwise they have all rows.
    paths
        The files that `explain` has read; `-` is the standard input. The list is empty if several
        captures are pooled.
    """

    def __init__(
        self,
        path: str,
        finish: Callable[[], _core.Explanation],
        files: Sequence[tuple[str, int]] = (),
    ) -> None:
        core = finish()
        self.path = path
        self.files = files
        self.shared: Sequence[SharedConnection] = ()
        self.paths: Sequence[str] = ()
        self.fault = core.fault
        self.notes: Sequence[str] = core.notes
        self.packets, self.tcp, self.no_ip, self.fragments, self.other = core.passed
        self.start_ns = core.start_ns
        # The process uses the most memory here. So the connections are freed while the tables are
        # made, and numpy is imported afterwards.
        self._core = {table.name: table for table in core.take_tables()}
        del core
        from netspurt.table import Table

        self.tables: Mapping[str, Table] = {
            name: Table(table) for name, table in self._core.items()
        }

    def _count_once(self) -> None:
        """Set `shared`, and keep each shared connection's rows only from its best capture.

        If it is not certain that captures share a connection, all its rows are kept.
        """
        import numpy as np

        from netspurt.shared import COLUMNS, shared_connections
        from netspurt.table import Table

        table = self.table("connections")
        columns = {name: table[name].tolist() for name in COLUMNS}
        rows = (
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        )
        self.shared = shared_connections((*self.place_of(row["connection"]), row) for row in rows)
        firsts = dict(self.files)
        certain = [one for one in self.shared if one.certain]
        out = [firsts[path] + own for one in certain for path, own in one.others]
        if out:
            kept = {
                name: np.flatnonzero(~np.isin(table["connection"], out)).tolist()
                for name, table in self.tables.items()
            }
            self._core = {name: table.with_rows(kept[name]) for name, table in self._core.items()}
            self.tables = {name: Table(table) for name, table in self._core.items()}

    def place_of(self, connection: int) -> tuple[str, int]:
        """Return the file of a connection, and the connection's number in that file."""
        own = [(path, first) for path, first in self.files if first <= connection]
        path, first = own[-1] if own else (self.path, 0)
        return path, connection - first

    @property
    def sources(self) -> list[str]:
        """The files in `paths`, without the standard input."""
        return [path for path in self.paths if path != "-"]

    @property
    def title(self) -> str:
        """The heading of plots: the file's name."""
        return Path(self.path).name

    @property
    def stop_ns(self) -> int:
        """The time from the first TCP packet to the last row of `segments` [ns]; 0 without rows."""
        times = self.table("segments")["t_ns"]
        return int(times[-1]) if len(times) else 0

    @property
    def folder(self) -> Path:
        """The file itself, in place of a run's folder."""
        return Path(self.path)

    @property
    def flows(self) -> Table:
        """A row for each direction with data. A flow's name is `c` and its connection's number."""
        return self.table("flows")

    @property
    def segments(self) -> Table:
        """A row for each captured segment."""
        return self.table("segments")

    def table(self, name: str) -> Table:
        """Return a table.

        Raises
        ------
        CaptureError
            If there is no table of this name.
        """
        if name not in self.tables:
            there = ", ".join(self.tables)
            raise CaptureError(f"there is no table {name!r} of this capture, only {there}")
        return self.tables[name]

    def since_ns(self, name: str) -> int | None:
        """Return the instant from which the instants of a table count [ns since 1970].

        An instant of the table plus this number is in nanoseconds since 1970. The result is 0 for
        the tables in `SINCE_1970`, `start_ns` for other tables with instants, and None for tables
        without instants.

        Raises
        ------
        CaptureError
            If there is no table of this name.
        """
        if not {"t_ns", "start_ns"} & set(self.table(name)):
            return None
        return 0 if name in SINCE_1970 else self.start_ns

    def write(self, name: str, path: str | PathLike[str]) -> None:
        """Write a table as a Parquet file, with the rows that `table` returns.

        Raises
        ------
        CaptureError
            If there is no table of this name.
        OSError
            If the file cannot be written.
        """
        self.table(name)
        self._core[name].write(fspath(path))


def forget_columns(tables: Mapping[str, Table]) -> None:
    """Free the columns that were read from tables. They are copied again when they are read again.

    All free memory of the process then returns to the operating system.
    """
    for table in tables.values():
        table.forget_columns()
    _core.return_free_memory()


def end_of(row: Mapping[str, Any], which: str) -> str:
    """Return the address and port of one end of a connection, from its row in `connections`.

    Parameters
    ----------
    row
        The row.
    which
        `source` or `destination`.

    Examples
    --------
    >>> end_of({"source": "fe80::1", "source_port": 80}, "source")
    '[fe80::1]:80'
    """
    address, port = row[which], row[f"{which}_port"]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def is_capture(path: str | PathLike[str]) -> bool:
    """Return whether a file begins like a capture, or like a compressed file."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _core.begins_capture(file.read(4))


def explain(
    path: str | PathLike[str],
    *more: str | PathLike[str],
    segments: bool = False,
    connection: int | None = None,
) -> Explained:
    """Explain a capture. Several files are joined into one capture, in the order of time.

    Parameters
    ----------
    path, more
        Files in pcap or pcapng, which may be compressed with gzip or zstd.
    segments
        True to also keep the packets as tables. This takes about 200 octets for each packet.
    connection
        If `segments` is true, the number of the only connection whose packets are kept. By default,
        the packets of all connections are kept.

    Raises
    ------
    OSError
        If a file cannot be opened or is not a capture.

    Examples
    --------
    >>> import netspurt as ns
    >>> from netspurt.captures import explain
    >>> from tempfile import mkdtemp
    >>> folder = ns.new_scenario().replace({"stop": "5 s"}).run().save(mkdtemp() + "/run")
    >>> found = explain(folder / "source.pcapng")
    >>> found.table("connections")["direction"].tolist()
    ['forward', 'reverse']
    """
    paths = [fspath(file) for file in (path, *more)]
    found = Explained(", ".join(paths), lambda: _finished(paths, segments, connection))
    found.paths = paths
    return found


def explain_pooled(captures: Iterable[Sequence[str | PathLike[str]]]) -> Explained:
    """Explain captures one after the other, and return all their connections together.

    A connection that several captures certainly hold counts once, and `shared` lists it.

    Parameters
    ----------
    captures
        For each capture, one file, or several files that are joined in the order of time. If one of
        its files cannot be opened or is not a capture, the whole capture is left out, and `fault`
        names this file.

    Raises
    ------
    OSError
        If no capture can be read.
    """
    found: list[_core.Explanation] = []
    files: list[tuple[str, int]] = []
    faults: list[str] = []
    whys: list[str] = []
    first = 0
    for capture in captures:
        paths = [fspath(file) for file in capture]
        try:
            one = _finished(paths)
        except OSError as error:
            whys.append(str(error))
            faults.append(left_out(error))
            continue
        files.append((", ".join(paths), first))
        if one.fault:
            where = f"{paths[0]}: {one.fault}" if len(paths) == 1 else one.fault
            faults.append(f"{where}; what came before is used")
        first += len(one)
        found.append(one)
    if not found:
        raise OSError("; ".join(whys) or "there is no capture")
    many = counted(len(found), "capture")

    def finish() -> _core.Explanation:
        pooled = _core.Explanation.pooled(found)
        found.clear()
        return pooled

    pooled = Explained(many, finish, files)
    pooled.fault = "\n".join(faults) or None
    pooled._count_once()
    return pooled


def left_out(error: OSError) -> str:
    """Return the warning about one of several captures that cannot be read."""
    return f"{error}; it is left out"


def _finished(
    paths: list[str], segments: bool = False, connection: int | None = None
) -> _core.Explanation:
    explaining = _core.Explaining(paths, segments=segments, connection=connection)
    while explaining.advance():
        pass
    return explaining.finish()


class ConnectionRows:
    """The rows of a capture's connections as text, in the order in which the connections end.

    Each row names the file if `file` is given.

    Attributes
    ----------
    core
        The reader of the capture, with its counts, notes and fault. They are complete when all rows
        have been read. Connections whose rows were returned are no longer in the reader.
    """

    def __init__(self, paths: list[str], layout: str, file: str | None = None) -> None:
        self.layout = layout
        self.file = file
        self.core = _core.Explaining(paths)

    def __iter__(self) -> Iterator[bytes]:
        """Yield rows as octets, several rows at a time.

        The rows of ended connections are yielded while the capture is read. So the memory in use
        depends on the number of connections that are open at the same time.
        """
        more = True
        while more:
            more = self.core.advance()
            while rows := self.core.rows(self.layout, self.file):
                yield rows


def heading(layout: str, *, file: bool = False) -> bytes:
    """Return the heading of rows; `file` says whether the rows name their files."""
    return _core.Explaining.heading(layout, file)
