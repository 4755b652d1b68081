"""Captures explained: connections, and why each segment was sent again."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path

from netspurt import _core
from netspurt.table import Table

#: How files of captures begin: pcap in both byte orders and resolutions, pcapng, gzip, Zstandard.
_MAGIC = (
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
)


class CaptureError(ValueError):
    """A capture cannot be used as requested."""


class Explained:
    """A capture and what was found in it.

    Plots and comparisons take it like a run if it was explained with `segments`. Its flows are
    called `c` and the number of the connection, its one node is `capture`, and times count from
    its first packet of TCP.

    Attributes
    ----------
    path
        The file.
    tables
        `connections`, a row for each direction of each connection; `retransmissions`, a row for
        each retransmission with its cause, a verdict and the evidence; on request those of a run's
        packets: `segments`, `sack_blocks`, `syns`.
    fault
        Where and why the reading stopped early, or None.
    packets, tcp, no_ip, other
        How many packets there are, and how many of them are TCP, are not IP, or are IP without a
        readable TCP header.
    start_ns
        When the first packet of TCP was captured, in nanoseconds since 1970.
    """

    def __init__(self, path: str, core: _core.Explanation) -> None:
        self.path = path
        self.fault = core.fault
        self.packets, self.tcp, self.no_ip, self.other = core.passed
        self.start_ns = core.start_ns
        self.tables: Mapping[str, Table] = {one.name: Table(one) for one in core.tables()}

    @property
    def title(self) -> str:
        """The heading of plots: the file's name."""
        return Path(self.path).name

    @property
    def stop_ns(self) -> int:
        """When the last packet was captured, in nanoseconds from the first."""
        times = self.table("segments")["t_ns"]
        return int(times[-1]) if len(times) else 0

    @property
    def folder(self) -> Path:
        """The file itself, in place of a run's folder."""
        return Path(self.path)

    @property
    def flows(self) -> Table:
        """A row for each direction with data; a flow is called `c` and its connection's number."""
        return self.table("flows")

    @property
    def segments(self) -> Table:
        """Every captured segment."""
        return self.table("segments")

    def table(self, name: str) -> Table:
        """Return a table.

        Raises
        ------
        CaptureError
            If there is none of that name.
        """
        if name not in self.tables:
            raise CaptureError(f"a capture has no table {name!r}, only {', '.join(self.tables)}")
        return self.tables[name]


def is_capture(path: str | PathLike[str]) -> bool:
    """Return whether a file begins like a capture, or like a compressed file."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4).startswith(_MAGIC)


def explain(
    path: str | PathLike[str], *, segments: bool = False, connection: int | None = None
) -> Explained:
    """Explain a capture.

    Parameters
    ----------
    path
        A pcap or pcapng file.
    segments
        Whether to keep the packets as tables, too, which takes some 200 octets for each.
    connection
        The number of the only connection whose packets are kept.

    Raises
    ------
    OSError
        If the file cannot be opened or is no capture.

    Examples
    --------
    >>> import netspurt as ns
    >>> from netspurt.captures import explain
    >>> folder = ns.new_scenario().replace({"stop": "5 s"}).run().save("a-run")
    >>> found = explain(folder / "source.pcapng")
    >>> found.table("connections")["direction"].tolist()
    ['forward', 'reverse']
    """
    core = _core.explain(fspath(path), segments=segments, connection=connection)
    return Explained(fspath(path), core)
