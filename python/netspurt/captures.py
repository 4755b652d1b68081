"""Captures explained: connections, and why each segment was sent again."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING

from netspurt import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netspurt.table import Table

#: The layouts of rows of connections: ours, and those of tcptrace's `-lr` and `-lrW`.
LAYOUTS = ("netspurt", "tcptrace", "tcptrace-W")


class Explained:
    """A capture and what was found in it.

    Attributes
    ----------
    path
        The file, or the files, separated by commas.
    tables
        `connections`, a row for each direction of each connection; `retransmissions`, a row for
        each retransmission with its cause, a verdict and the evidence.
    fault
        Where and why the reading stopped early, or None.
    packets, tcp, no_ip, other
        Packets: all; those of TCP; those on links that cannot be read, or without IP; IP packets
        that are not TCP, or whose headers are cut or damaged.
    """

    def __init__(self, path: str, core: _core.Explanation) -> None:
        from netspurt.table import Table

        self.path = path
        self.fault = core.fault
        self.packets, self.tcp, self.no_ip, self.other = core.passed
        self.tables: Mapping[str, Table] = {one.name: Table(one) for one in core.tables()}

    def table(self, name: str) -> Table:
        """Return a table.

        Raises
        ------
        KeyError
            If there is none of that name.
        """
        return self.tables[name]


def explain(path: str | PathLike[str], *more: str | PathLike[str]) -> Explained:
    """Explain a capture, or several that are joined in the order of time.

    Raises
    ------
    OSError
        If a file cannot be opened or is no capture.
    """
    paths = [fspath(one) for one in (path, *more)]
    explaining = _core.Explaining(paths)
    while explaining.advance():
        pass
    return Explained(", ".join(paths), explaining.finish())


class Rows:
    """The rows of a capture's connections as text, in the order in which connections end.

    Attributes
    ----------
    core
        What is known of the capture; all of it once the rows were read.
    """

    def __init__(self, paths: list[str], layout: str) -> None:
        self.layout = layout
        self.core = _core.Explaining(paths)

    def __iter__(self) -> Iterator[bytes]:
        """Yield rows, several at once.

        Those that have ended are yielded while the capture is read, so that the memory needed
        depends on the connections that are open at the same time.
        """
        more = True
        while more:
            more = self.core.advance()
            while rows := self.core.rows(self.layout):
                yield rows


def heading(layout: str) -> bytes:
    """Return the heading of such rows."""
    return _core.Explaining.heading(layout)
